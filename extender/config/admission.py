"""What kube-apiserver's own file says about quotas, taken over into the configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from extender.config.document import parse
from extender.config.schema import Config
from extender.errors import ConfigError, ObjectError, UnreadableFileError
from extender.wire.quotas import limits_crossing, quota_plugin

FIELD = "crossNamespacePodAffinity.admissionControlConfigFile"


def with_admission(config: Config, read_file: Callable[[Path], str]) -> Config:
    """Return the configuration with limitedByDefault as the admission file has it, if any."""
    settings = config.cross_namespace_pod_affinity
    path = settings.admission_control_config_file
    if path is None or not _limits(path, read_file):
        return config
    limited = msgspec.structs.replace(settings, limited_by_default=True)
    return msgspec.structs.replace(config, cross_namespace_pod_affinity=limited)


def _limits(path: Path, read_file: Callable[[Path], str]) -> bool:
    try:
        plugin = quota_plugin(parse(_text(path, read_file), str(path)))
        if plugin is None:
            return False
        if plugin.path:
            # As in kube-apiserver, relative to the file that names it.
            path = path.parent / plugin.path
            return limits_crossing(parse(_text(path, read_file), str(path)))
        return limits_crossing(plugin.configuration or {})
    except ObjectError as error:
        raise ConfigError(FIELD, f"{path}: {error}") from error
    except UnreadableFileError as error:
        raise UnreadableFileError(FIELD, str(error)) from error
    except ConfigError as error:
        raise ConfigError(FIELD, str(error)) from error


def _text(path: Path, read_file: Callable[[Path], str]) -> str:
    try:
        return read_file(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFileError("", f"cannot read {path}: {reason}") from error
