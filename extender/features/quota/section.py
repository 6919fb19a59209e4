"""The block of the configuration, and what the core has to know of it while it is off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from extender.core.config.conditions import of_plugin
from extender.core.config.connections import Block
from extender.core.config.features import Completion, Feature, Flag, Maturity, Right, more_rules
from extender.core.config.schema import Config

PLUGIN: Final = "CrossNamespacePodAffinity"
_BLOCK: Final = "cross_namespace_pod_affinity"
_FIELD: Final = "crossNamespacePodAffinity.admissionControlConfigFile"
_RESOURCE: Final = "resourcequotas"


class CrossNamespaceArgs(Block, frozen=True, kw_only=True):
    """The quota scope CrossNamespacePodAffinity, which the scheduler itself does not check."""

    limited_by_default: bool = False
    """True refuses a pod with cross-namespace terms unless a matching quota allows it. Used only
    with CrossNamespacePodAffinity in plugins, and for rules in annotations."""

    admission_control_config_file: Path | None = None
    """The AdmissionConfiguration file that kube-apiserver has as --admission-control-config-file.
    If its ResourceQuota part limits the scope, limitedByDefault is true. Read once, at the
    start."""


def _is_on(config: Config) -> bool:
    return PLUGIN in config.plugins or more_rules(config)


def _file(config: Config) -> Path | None:
    return config.section(CrossNamespaceArgs).admission_control_config_file


def _complete(config: Config, path: Path, read: Callable[[Path], Mapping[str, Any]]) -> Config:
    from extender.features.quota.admission import limits  # noqa: PLC0415 - few have such a file

    if not limits(path, read):
        return config
    block = structs.replace(config.section(CrossNamespaceArgs), limited_by_default=True)
    return structs.replace(config, **{_BLOCK: block})


FEATURE = Feature(
    name="quota",
    maturity=Maturity.BETA,
    sections={_BLOCK: CrossNamespaceArgs},
    plugin=PLUGIN,
    enabled=_is_on,
    effect=of_plugin(PLUGIN),
    rights=(Right("", _RESOURCE, "list"), Right("", _RESOURCE, "watch")),
    kinds={"ResourceQuota": ""},
    reads="mirror",
    mirrors="mirror",
    command="quota",
    judges="mirror",
    completion=Completion(_FIELD, _file, _complete),
    flags=(
        Flag(
            "admission-control-config-file",
            "FILE",
            "kube-apiserver's file of that name; where it limits cross-namespace affinity by "
            "default, so does this program",
            _FIELD,
        ),
    ),
    words=r"\bquotas?\b|quota_|cross_?namespace_?pod|CrossNamespaceArgs",
)
