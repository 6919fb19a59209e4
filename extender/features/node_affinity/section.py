"""The block of the configuration, and what the core has to know of it while it is off."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta, ValidationError, convert, structs

from extender.core.config.conditions import Condition, of_plugin
from extender.core.config.connections import Block
from extender.core.config.features import (
    Added,
    Completion,
    Feature,
    Flag,
    Maturity,
    Want,
    more_rules,
)
from extender.core.config.rules import V1Object
from extender.core.config.schema import Config
from extender.core.errors import ConfigError
from extender.core.model.verdict import NODE_AFFINITY

_ADDED: Final = "nodeAffinity.addedAffinity"
_FILE: Final = "nodeAffinity.schedulerConfigFile"


class NodeOperator(enum.StrEnum):
    """How a node selector requirement compares."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class NodeSelectorRequirement(V1Object, frozen=True, kw_only=True):
    """One comparison with a label or a field of a node."""

    key: str
    operator: NodeOperator
    values: tuple[str, ...] = ()


class NodeSelectorTerm(V1Object, frozen=True, kw_only=True):
    """Comparisons that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class V1NodeSelector(V1Object, frozen=True, kw_only=True):
    """One of these terms must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], Meta(min_length=1)]


class PreferredSchedulingTerm(V1Object, frozen=True, kw_only=True):
    """A term worth its weight in score."""

    weight: Annotated[int, Meta(ge=1, le=100)]
    preference: NodeSelectorTerm


class NodeAffinityTerms(V1Object, frozen=True, kw_only=True):
    """A v1 NodeAffinity."""

    required_during_scheduling_ignored_during_execution: V1NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()

    @property
    def empty(self) -> bool:
        return (
            self.required_during_scheduling_ignored_during_execution is None
            and not self.preferred_during_scheduling_ignored_during_execution
        )


class NodeAffinityArgs(Block, frozen=True, kw_only=True):
    """As in the scheduler's NodeAffinityArgs. Use the same values in both."""

    added_affinity: NodeAffinityTerms = NodeAffinityTerms()
    """A v1 NodeAffinity that every pod has to meet, or prefers, besides its own. Hints, preemption,
    moves of pods and /explain keep to what it requires. Filter and prioritize use it only with
    NodeAffinity in plugins; without, the scheduler does."""

    scheduler_config_file: Path | None = None
    """The KubeSchedulerConfiguration of the scheduler that calls. addedAffinity is taken from there
    in place of here; all profiles need the same. Read once, at the start."""

    weight: Annotated[int, Meta(ge=1, le=100)] = 2
    """As this plugin's weight in the scheduler's profile, where 2 is the default: the best node
    gets weight / 2 of prioritize.maxScore."""


def scores(config: Config) -> bool:
    """Return whether nodes are scored here; without, what is preferred is the scheduler's."""
    return NODE_AFFINITY in config.plugins


def _is_on(config: Config) -> bool:
    # Hints, preemption, moves and /explain keep to what the scheduler adds, too.
    judging = NODE_AFFINITY in config.plugins or more_rules(config)
    return judging or not config.section(NodeAffinityArgs).added_affinity.empty


def _check(config: Config) -> Iterator[ConfigError]:
    from extender.core.wire.node_selection import read_node_selection  # noqa: PLC0415 - few add any

    added = config.section(NodeAffinityArgs).added_affinity
    if not added.empty:
        for field, why in read_node_selection(added.as_json())[1]:
            yield ConfigError(f"{_ADDED}.{field}", why)


def _file(config: Config) -> Path | None:
    settings = config.section(NodeAffinityArgs)
    if settings.scheduler_config_file is not None and not settings.added_affinity.empty:
        raise ConfigError(_FILE, "addedAffinity is set here as well: leave one of them")
    return settings.scheduler_config_file


def _complete(config: Config, path: Path, read: Callable[[Path], Mapping[str, Any]]) -> Config:
    from extender.features.node_affinity.scheduler import added_affinity  # noqa: PLC0415 - likewise

    added = added_affinity(read(path), NodeAffinityTerms)
    if not scores(config):
        added = structs.replace(added, preferred_during_scheduling_ignored_during_execution=())
    block = structs.replace(config.section(NodeAffinityArgs), added_affinity=added)
    return structs.replace(config, **{FEATURE.name: block})


def _differs(config: Config, added: object) -> bool:
    """Return whether addedAffinity of a profile, as its file has it, is another than here.

    What it prefers matters only where nodes are scored here.
    """
    ours = config.section(NodeAffinityArgs)
    if ours.scheduler_config_file is not None:
        return False
    try:
        theirs = convert(added or {}, NodeAffinityTerms)
    except ValidationError:
        return False  # the scheduler does not start with it
    known = ours.added_affinity
    if scores(config):
        return theirs != known
    required = known.required_during_scheduling_ignored_during_execution
    return theirs.required_during_scheduling_ignored_during_execution != required


FEATURE = Feature(
    name="node_affinity",
    maturity=Maturity.STABLE,
    section=NodeAffinityArgs,
    plugin=NODE_AFFINITY,
    judges="judging",
    plugin_wants=frozenset((Want.NODES,)),
    enabled=_is_on,
    effects={
        "nodeAffinity.weight": of_plugin(NODE_AFFINITY),
        f"{_ADDED}.preferredDuringSchedulingIgnoredDuringExecution": Condition(
            scores, f"unless {NODE_AFFINITY} is among the plugins: the scheduler scores by it"
        ),
    },
    check=_check,
    adds=Added(_ADDED, _FILE, _differs),
    completion=Completion(_FILE, _file, _complete),
    flags=(
        Flag(
            "scheduler-config",
            "FILE",
            "kube-scheduler's configuration; what it adds to the node affinity of every pod counts "
            "in this program as well",
            _FILE,
        ),
    ),
    words=(
        r"(?-i:\bnode_affinity\b)|\bNodeAffinityArgs\b|scheduler_?config_?file"
        r"|nodeAffinity\.(added|scheduler|weight)"
    ),
)
