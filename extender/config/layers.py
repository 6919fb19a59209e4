"""Flags over file over defaults; some things as kube-apiserver's and kube-scheduler's files say."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from extender.config.checks import faults
from extender.config.document import Document, decode_all, parse
from extender.config.faults import show
from extender.config.options import BY_FLAG, OPTIONS, Option
from extender.config.scheduler import added_affinity
from extender.config.schema import API_VERSION, KIND, Config
from extender.errors import (
    ConfigError,
    ConfigFaultsError,
    ObjectError,
    UnreadableFileError,
    encodable,
)
from extender.model.verdict import PluginName
from extender.wire.quotas import limits_crossing, quota_plugin

_BOOLS = {"true": True, "false": False}

_ADMISSION_FILE = "crossNamespacePodAffinity.admissionControlConfigFile"
_SCHEDULER_FILE = "nodeAffinity.schedulerConfigFile"
_T = TypeVar("_T")


def load(flags: argparse.Namespace, read_file: Callable[[Path], str]) -> Config:
    """Put the layers together and check the whole; ConfigError names all faults and their sources.

    `flags` has, for each Option's `dest`, a text (a list of them for a repeated one) or None.
    """
    names = _texts(BY_FLAG["config"], flags)
    document = _file(names, read_file)
    found: list[ConfigError] = []
    origins: dict[str, str] = {}
    for option in OPTIONS:
        texts = _texts(option, flags)
        if texts and option.path:
            try:
                _overlay(document, option, texts)
            except ConfigError as error:
                found.append(error)
            origins[option.path] = option.spelled
    config, wrong = decode_all(document)
    if config is not None:
        wrong += _beyond_the_schema(config, {error.block for error in wrong})
        broken = {error.block for error in wrong}
        for block, complete in _FROM_FILES.items():
            if block not in broken:
                try:
                    config = complete(config, read_file)
                except ConfigError as error:
                    wrong.append(error)
    found += [_with_source(error, origins, *names) for error in wrong]
    if config is None or found:
        raise ConfigFaultsError.of(found)
    return config


def _beyond_the_schema(config: Config, broken: Collection[str]) -> list[ConfigError]:
    """Return faults in how fields go together, where all of them are as they were written."""
    return [error for error in faults(config, broken) if error.block not in broken]


def _texts(option: Option, flags: argparse.Namespace) -> list[str]:
    """Return what a flag was given, nothing if it was not."""
    flag = getattr(flags, option.dest, None)
    if flag is None:
        return []
    return list(flag) if option.many else [flag]


def _file(names: list[str], read_file: Callable[[Path], str]) -> Document:
    if not names:
        return {"apiVersion": API_VERSION, "kind": KIND}
    text = _text(Path(names[0]), read_file, names[0], "the configuration file")
    return parse(text, names[0])


def _overlay(document: Document, option: Option, texts: list[str]) -> None:
    """Write an option's value into the document, over what the file says."""
    for text in texts:
        if not encodable(text):
            # The bytes of a flag are not decoded before they reach Python.
            raise ConfigError(option.spelled, f"{show(text)} is not UTF-8")
    *blocks, last = option.path.split(".")
    inner: Any = document
    for name in blocks:
        if inner.get(name) is None:
            inner[name] = {}
        inner = inner[name]
        if not isinstance(inner, dict):
            return  # the file is wrong here; decoding says so
    if option is BY_FLAG["feature-gates"]:
        gates = inner.get(last)
        written = gates if isinstance(gates, dict) else {}
        inner[last] = {**written, **_gates(texts[0], option.spelled)}
    else:
        inner[last] = texts if option.many else _typed(texts[0], option.schema_default)


def _typed(text: str, default: object) -> object:
    """Read a number, true or false where the schema has one; others are left for its complaint."""
    if isinstance(default, bool):
        return _BOOLS.get(text.lower(), text)
    with suppress(ValueError):
        return int(text) if isinstance(default, int) else text
    return text


def _gates(text: str, source: str) -> dict[str, bool]:
    gates = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = pair.partition("=")
        if value.lower() not in _BOOLS:
            raise ConfigError(source, f"{show(pair)} is not NAME=true or NAME=false")
        gates[name] = _BOOLS[value.lower()]
    return gates


def _with_source(error: ConfigError, origins: Mapping[str, str], file: str = "") -> ConfigError:
    """Add which flag or file set the field that is wrong."""
    kind = UnreadableFileError if isinstance(error, UnreadableFileError) else ConfigError
    for path, source in origins.items():
        if error.path == path or error.path.startswith((f"{path}.", f"{path}[")):
            return kind(error.path, f"{error.message} (from {source})")
    return kind(error.path, error.message, file)


def _with_admission(config: Config, read_file: Callable[[Path], str]) -> Config:
    """Return the configuration with limitedByDefault as the admission file has it, if any."""
    settings = config.cross_namespace_pod_affinity
    path = settings.admission_control_config_file
    if path is None or not _limits(path, read_file):
        return config
    limited = msgspec.structs.replace(settings, limited_by_default=True)
    return msgspec.structs.replace(config, cross_namespace_pod_affinity=limited)


def _with_scheduler(config: Config, read_file: Callable[[Path], str]) -> Config:
    """Return the configuration with addedAffinity as the scheduler's file has it, if any."""
    settings = config.node_affinity
    path = settings.scheduler_config_file
    if path is None:
        return config
    if not settings.added_affinity.empty:
        raise ConfigError(_SCHEDULER_FILE, "addedAffinity is set here as well: leave one of them")
    added = _from(path, _SCHEDULER_FILE, lambda: added_affinity(_document(path, read_file)))
    if PluginName.NODE_AFFINITY not in config.plugins:
        # What it prefers is the scheduler's business, which scores by it.
        added = msgspec.structs.replace(
            added, preferred_during_scheduling_ignored_during_execution=()
        )
    settings = msgspec.structs.replace(settings, added_affinity=added)
    return msgspec.structs.replace(config, node_affinity=settings)


_FROM_FILES = {
    "crossNamespacePodAffinity": _with_admission,
    "nodeAffinity": _with_scheduler,
}
"""What completes a block of the configuration by what a file of Kubernetes says."""


def _document(path: Path, read_file: Callable[[Path], str]) -> Document:
    return parse(_text(path, read_file), str(path))


def _limits(path: Path, read_file: Callable[[Path], str]) -> bool:
    def limits() -> bool:
        plugin = quota_plugin(_document(path, read_file))
        if plugin is None:
            return False
        if plugin.path:
            # As in kube-apiserver, relative to the file that names it.
            return limits_crossing(_document(path.parent / plugin.path, read_file))
        return limits_crossing(plugin.configuration or {})

    return _from(path, _ADMISSION_FILE, limits)


def _from(path: Path, field: str, read: Callable[[], _T]) -> _T:
    """Read what a field names; ConfigError names the field."""
    try:
        return read()
    except ObjectError as error:
        raise ConfigError(field, f"{path}: {error}") from error
    except UnreadableFileError as error:
        raise UnreadableFileError(field, str(error)) from error
    except ConfigError as error:
        raise ConfigError(field, str(error)) from error


def _text(
    path: Path, read_file: Callable[[Path], str], field: str = "", what: str | None = None
) -> str:
    try:
        return read_file(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFileError(field, f"cannot read {what or path}: {reason}") from error
