"""What the profiles of a scheduler say of plugins that decide where pods go, by schedulerName."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec

from affinityctl.scheduler.default_spread.arguments import constraints_of
from affinityctl.scheduler.file import (
    API_VERSION,
    KIND,
    SchedulerFile,
    SchedulerProfile,
    read_scheduler_file,
)
from extender.core.errors import ConfigError, ObjectError
from extender.core.model.node_resources import DEFAULT_SCHEDULER
from extender.core.model.node_selection import NO_NODE_SELECTION, NodeSelection
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.model.verdict import (
    INTER_POD_AFFINITY,
    NAMED_NODES,
    NODE_AFFINITY,
    NODE_NAME,
    NODE_PORTS,
    NODE_RESOURCES_FIT,
    NODE_UNSCHEDULABLE,
    NODE_VOLUME_LIMITS,
    POD_TOPOLOGY_SPREAD,
    TAINT_TOLERATION,
    VOLUME_BINDING,
    VOLUME_RESTRICTIONS,
    VOLUME_ZONE,
)
from extender.core.offline import objects_in
from extender.core.wire.decoding import Json, decode
from extender.core.wire.node_selection import read_node_selection

_FAIL_ALONE: Final = (
    *(NODE_PORTS, NODE_RESOURCES_FIT, VOLUME_RESTRICTIONS, VOLUME_BINDING),
    *(POD_TOPOLOGY_SPREAD, INTER_POD_AFFINITY),
)
"""Plugins whose filter ends in an error for every pod if their preFilter is off."""
_FILTERS: Final = (
    *(NODE_UNSCHEDULABLE, NODE_NAME, TAINT_TOLERATION, NODE_AFFINITY, NODE_VOLUME_LIMITS),
    *(VOLUME_ZONE, *_FAIL_ALONE),
)
_AFFINITY: Final = frozenset((INTER_POD_AFFINITY, NODE_AFFINITY))
"""What an extender may do in the scheduler's place, and whose scores are known here."""


class _Args(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What all arguments have."""

    api_version: str = ""
    kind: str = ""


class _NodeAffinityArgs(_Args):
    added_affinity: msgspec.Raw = msgspec.Raw(b"{}")


class _InterPodAffinityArgs(_Args):
    hard_pod_affinity_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    ignore_preferred_terms_of_existing_pods: bool = False


class _NodeResourcesFitArgs(_Args):
    ignored_resources: list[str] | None = None
    ignored_resource_groups: list[Annotated[str, msgspec.Meta(pattern="^[^/]*$")]] | None = None
    scoring_strategy: msgspec.Raw = msgspec.Raw(b"{}")


_OF_NODES = msgspec.json.Decoder(_NodeAffinityArgs)
_OF_PODS = msgspec.json.Decoder(_InterPodAffinityArgs)
_OF_ROOM = msgspec.json.Decoder(_NodeResourcesFitArgs)
_ArgsT = TypeVar("_ArgsT")


@dataclass(frozen=True, slots=True)
class Taken:
    """The plugins that an extender runs, where the scheduler does not."""

    at_filter: frozenset[str] = frozenset()
    at_score: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    """The profiles for which it runs none."""


@dataclass(frozen=True, slots=True)
class SchedulerArguments:
    """One profile of a scheduler."""

    off: frozenset[str]
    """Plugins that filter no node for its pods, neither in the scheduler nor in an extender."""
    unscored: frozenset[str]
    """Plugins that score no node for its pods."""
    taken: Taken
    """Those that an extender runs in the scheduler's place, with the extender's arguments."""
    constraints: Sequence[SpreadConstraint]
    """Default topology spread constraints that refuse nodes; none where the plugin is off."""
    added: NodeSelection
    """What the plugin NodeAffinity adds to what pods ask for and prefer."""
    hard_weight: int
    ignores_preferred: bool
    """hardPodAffinityWeight and ignorePreferredTermsOfExistingPods."""
    ignored: frozenset[str]
    ignored_groups: frozenset[str]
    """Extended resources that NodeResourcesFit does not look at, and prefixes of them."""


def read_profiles(path: Path, of_extender: Taken | None) -> Mapping[str, SchedulerArguments]:
    """Read a KubeSchedulerConfiguration, by schedulerName.

    Without `of_extender`, an extender in the file with the verb for it runs what the scheduler does
    not. ClusterFileError for a file that cannot
    be used, ConfigError for fields for which the scheduler would not start.
    """
    found = [raw for kind, raw in objects_in(path) if kind == KIND]
    if len(found) != 1:
        said = f"{len(found)} objects of kind {KIND}, where one is expected"
        raise ConfigError("", said, str(path))
    try:
        return profiles_in(found[0], of_extender)
    except ObjectError as error:
        raise ConfigError(error.path, error.message, str(path)) from error


def profiles_in(raw: Json, of_extender: Taken | None = None) -> Mapping[str, SchedulerArguments]:
    """Read the profiles of one; ObjectError names the first field that is broken."""
    file = read_scheduler_file(raw)
    profiles = list(file.every_profile())
    taken = _left_to_extenders(file) if of_extender is None else of_extender
    found: dict[str, SchedulerArguments] = {}
    for path, profile in profiles:
        name = profile.scheduler_name
        if name is None and len(profiles) == 1:
            name = DEFAULT_SCHEDULER
        if not name or name in found:
            said = "another profile has this name" if name else "a profile needs a name"
            raise ObjectError(f"{path}.schedulerName", said)
        _check_halves(path, profile)
        found[name] = read_profile(path, profile, Taken() if name in taken.left else taken)
    return found


def _left_to_extenders(file: SchedulerFile) -> Taken:
    extenders = file.extenders or ()
    return Taken(
        _AFFINITY if any(each.filter_verb for each in extenders) else frozenset(),
        _AFFINITY if any(each.prioritize_verb for each in extenders) else frozenset(),
    )


def _check_halves(path: str, profile: SchedulerProfile) -> None:
    for each in _FAIL_ALONE:
        if profile.runs(each, "filter") and not profile.runs(each, "preFilter"):
            said = f"{each} is off here, so its filter fails for every pod"
            raise ObjectError(f"{path}.plugins.preFilter", said)


def read_profile(path: str, profile: SchedulerProfile, taken: Taken) -> SchedulerArguments:
    """Read a profile; ObjectError names the argument for which the scheduler would not start."""
    off = frozenset(each for each in _FILTERS if not profile.runs(each, "filter"))
    unscored = frozenset(each for each in _AFFINITY if not profile.runs(each, "score"))
    named = [each.name for each in profile.plugin_config or ()]
    twice = next((each for each in named if named.count(each) > 1), None)
    if twice is not None:
        raise ObjectError(f"{path}.pluginConfig", f"{twice} is there twice")
    nodes = _arguments(path, profile, NODE_AFFINITY, _OF_NODES)
    pods = _arguments(path, profile, INTER_POD_AFFINITY, _OF_PODS)
    room = _arguments(path, profile, NODE_RESOURCES_FIT, _OF_ROOM)
    where, written = _written(path, profile, POD_TOPOLOGY_SPREAD)
    constraints = constraints_of(written, where)
    weight = pods.hard_pod_affinity_weight
    unnamed = () if profile.runs(NODE_AFFINITY, "preFilter") else (NAMED_NODES,)
    return SchedulerArguments(
        off=frozenset((*off - taken.at_filter, *unnamed)),
        unscored=unscored - taken.at_score,
        taken=Taken(off & taken.at_filter, unscored & taken.at_score),
        constraints=() if POD_TOPOLOGY_SPREAD in off else constraints,
        added=_added(nodes, _written(path, profile, NODE_AFFINITY)[0]),
        hard_weight=1 if weight is None else weight,
        ignores_preferred=pods.ignore_preferred_terms_of_existing_pods,
        ignored=frozenset(room.ignored_resources or ()),
        ignored_groups=frozenset(room.ignored_resource_groups or ()),
    )


def _written(path: str, profile: SchedulerProfile, plugin: str) -> tuple[str, dict[str, object]]:
    index, written = profile.arguments(plugin)
    where = f"{path}.pluginConfig[{index}].args"
    wanted = f"{plugin}Args"
    if written.get("kind", wanted) != wanted or written.get("apiVersion", API_VERSION) != (
        API_VERSION
    ):
        raise ObjectError(f"{where}.kind", f"has to be {wanted} of {API_VERSION}")
    return where, written


def _arguments(
    path: str, profile: SchedulerProfile, plugin: str, decoder: msgspec.json.Decoder[_ArgsT]
) -> _ArgsT:
    where, written = _written(path, profile, plugin)
    return decode(decoder, msgspec.json.encode(written), where)


def _added(args: _NodeAffinityArgs, where: str) -> NodeSelection:
    raw = bytes(args.added_affinity)
    if raw == b"null":
        return NO_NODE_SELECTION
    added, faults = read_node_selection(raw)
    for field, why in faults:
        raise ObjectError(f"{where}.addedAffinity.{field}", why)
    return added
