"""Rules that tie fields together, and features that this version does not have yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from extender.config.faults import show
from extender.config.schema import Config, Plugin
from extender.config.serving_checks import check_serving
from extender.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MINOR_VERSION = re.compile(r"1\.[0-9]{1,3}", re.ASCII)


def faults(config: Config) -> Iterator[ConfigError]:
    """Yield all that is wrong with a configuration that fits the schema."""
    yield from (
        *_plugins(config),
        *_scheduler_version(config.scheduler_version),
        *_quota(config),
        *_not_available(config),
        *check_serving(config.serving),
    )


def _plugins(config: Config) -> Iterator[ConfigError]:
    for index, plugin in enumerate(config.plugins):
        if plugin in config.plugins[:index]:
            yield ConfigError(f"plugins[{index}]", f"{plugin} comes twice")
    if Plugin.INTER_POD_AFFINITY not in config.plugins:
        yield ConfigError("plugins", f"{Plugin.INTER_POD_AFFINITY} has to be among them")


def _scheduler_version(version: str) -> Iterator[ConfigError]:
    if not _MINOR_VERSION.fullmatch(version):
        yield ConfigError("schedulerVersion", f"{show(version)} is not like '1.37'")


def _quota(config: Config) -> Iterator[ConfigError]:
    settings = config.cross_namespace_pod_affinity
    given = {
        "limitedByDefault": settings.limited_by_default,
        "admissionControlConfigFile": settings.admission_control_config_file is not None,
    }
    for name, is_given in given.items():
        if is_given and not config.looks_at_quotas:
            yield ConfigError(
                f"crossNamespacePodAffinity.{name}",
                f"has no effect unless {Plugin.CROSS_NAMESPACE_POD_AFFINITY} is among the plugins",
            )


def _not_available(config: Config) -> Iterator[ConfigError]:
    """Refuse what would otherwise be accepted and then silently do nothing."""
    asked = (
        *(
            (f"plugins[{index}]", str(plugin), plugin is Plugin.NODE_AFFINITY)
            for index, plugin in enumerate(config.plugins)
        ),
        ("nodeAffinity.addedAffinity", "a term", not config.node_affinity.added_affinity.empty),
        ("requiredDuringExecution.enabled", "true", config.required_during_execution.enabled),
    )
    for path, value, is_asked in asked:
        if is_asked:
            yield ConfigError(path, f"{value} is not available in this version")
