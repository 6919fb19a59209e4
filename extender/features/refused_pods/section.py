"""The blocks of the configuration, and what the core has to know of them while they are off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from extender.core.config.conditions import REPLACE
from extender.core.config.connections import Block
from extender.core.config.features import Feature, Given, Help, Maturity, Right, Trace, Want
from extender.core.config.schema import Config, Mode
from extender.core.wire.placement import DISRUPTION_TARGET, SCHEDULED


class Hints(Block, frozen=True, kw_only=True):
    """Nominating nodes for pods that were refused on all nodes asked about; mode replace."""

    enabled: bool = True
    """True sets hints. Needs the right to patch pods/status."""

    per_second: Annotated[float, Meta(gt=0, le=1000)] = 20
    """Hints per second on average, and the largest burst. Each is a request to the API server and
    one more scheduling attempt."""

    max_outstanding: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """Hints that may be open at a time, if the scheduler comes to them. A nominated pod holds room
    on its node against pods of the same and of lower priority."""

    patience_seconds: Annotated[float, Meta(ge=0.5, le=300)] = 5
    """Seconds after which a hint is withdrawn if the scheduler did not take it."""


class PreemptionSettings(Block, frozen=True, kw_only=True):
    """Evicting less important pods for one that only affinity rules keep from every node."""

    enabled: bool | None = None
    """True evicts as the scheduler does for its own plugins, in mode replace alone. Needs the
    rights to delete pods, to patch pods/status and to create Events. With false such pods wait.
    Unset is true below schedulerVersion 1.38; from then on the scheduler does it."""


def _nominates(config: Config) -> bool:
    return config.section(Hints).enabled


def _evicts(config: Config) -> bool:
    enabled = config.section(PreemptionSettings).enabled
    return not config.scheduler_takes_empty_victims if enabled is None else enabled


def hints(config: Config) -> bool:
    """Return whether nodes are nominated for pods that were refused."""
    return config.mode is Mode.REPLACE and _nominates(config)


def preempts(config: Config) -> bool:
    """Return whether pods are evicted for others that only the extender's rules keep waiting."""
    return config.mode is Mode.REPLACE and _evicts(config)


_TO_NOMINATE = Right("", "pods/status", "patch")
_TO_PREEMPT = (
    Right("", "pods", "delete"),
    _TO_NOMINATE,
    *(Right("", kind, "get") for kind in ("pods", "nodes", "namespaces")),
    Right("events.k8s.io", "events", "create"),
)


def _rights(config: Config) -> Iterator[Right]:
    if hints(config):
        yield _TO_NOMINATE
    if preempts(config):
        yield from _TO_PREEMPT


FEATURE = Feature(
    name="refused_pods",
    maturity=Maturity.BETA,
    sections={"hints": Hints, "preemption": PreemptionSettings},
    enabled=lambda config: hints(config) or preempts(config),
    effect=REPLACE,
    wants=frozenset((Want.NODES,)),
    # Budgets are read for preempt, whether the extender preempts or not.
    rights=(*_TO_PREEMPT, *(Right("policy", "poddisruptionbudgets", v) for v in ("list", "watch"))),
    needed_rights=_rights,
    traces=(
        Trace("field", "nominatedNodeName"),
        Trace("condition", DISRUPTION_TARGET, ends="the disruption controller, in two minutes"),
        Trace("condition", SCHEDULED, ends="the scheduler, which has its own time in it"),
    ),
    gives={
        Help.NODE: Given("hints.enabled", _nominates),
        Help.ROOM: Given("preemption.enabled", _evicts),
    },
    words=(
        r"features\.refused_pods|config\.(hints|preempts)|(hints|preemptions)_total"
        r"|(hints|preemption)\.enabled|(Hint|Preemption)(Controller|Limits|Settings)"
        r"|metrics\.preemptions|Kind\.(HINT|PREEMPT)"
    ),
)
