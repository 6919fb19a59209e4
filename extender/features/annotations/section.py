"""The block of the configuration, and what the core has to know of it while it is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extender.core.config.conditions import Condition
from extender.core.config.connections import Block
from extender.core.config.features import Carries, Feature, Maturity, Right, Trace
from extender.core.config.rules import NamespaceSelector
from extender.core.config.schema import Config, Mode
from extender.core.errors import ConfigError, ObjectError
from extender.core.model.labels import Selector
from extender.core.wire.placement import RULES_AT_PLACEMENT

_FIELD: Final = "annotations.namespaceSelector"
_RECORD: Final = Right("", "pods/status", "patch")


class Annotations(Block, frozen=True, kw_only=True):
    """Rules in annotations of pods: affinity-extender.io/affinity and others of that name."""

    namespace_selector: NamespaceSelector | None = None
    """Selector of the namespaces in which rules in annotations count. null, the default, is
    nowhere; `{}` is everywhere. Who may edit pods in a
    selected namespace can keep pods of other namespaces away, within limits: see
    docs/annotations.md."""

    @property
    def selector(self) -> Selector | None:
        """Where they count, None for nowhere; ObjectError for a selector that cannot be read."""
        chosen = self.namespace_selector
        return None if chosen is None else chosen.read(_FIELD)


def _is_on(config: Config) -> bool:
    return config.section(Annotations).namespace_selector is not None


def _check(config: Config) -> Iterator[ConfigError]:
    try:
        _ = config.section(Annotations).selector
    except ObjectError as error:
        yield ConfigError(error.path, error.message)


_COUNT: Final = f"rules in annotations count ({_FIELD})"

FEATURE = Feature(
    name="annotations",
    maturity=Maturity.BETA,
    section=Annotations,
    enabled=_is_on,
    effects={
        "filter.resolvable": Condition(
            lambda config: (
                config.mode is Mode.REPLACE or (config.mode is Mode.ASSIST and _is_on(config))
            ),
            f"except in mode replace, or in mode assist where {_COUNT}",
        )
    },
    check=_check,
    rights=(
        Right("", "resourcequotas", "list"),
        Right("", "resourcequotas", "watch"),
        _RECORD,
    ),
    needed_rights=lambda config: () if config.mode is Mode.SHADOW else (_RECORD,),
    traces=(Trace("condition", RULES_AT_PLACEMENT),),
    carries=Carries("carried", _COUNT),
    judges="carried",
    words=r"annotations\.namespace_?selector|config\.annotations|ignored_annotations|MaxMatchingPods\("
    r"|\bStrict(Affinity|Pod|Node)|Annotation(Reader|Scope)|affinity-extender\.io/affinity\b"
    r"|(AFFINITY|POLICY)_(ANNOTATION|PATH)|AnnotationLimits|RecordFirst|ApiRecords|features\.annotations",
)
