"""What a scheduler's profiles say of PodTopologySpread, by the names that pods have for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from affinityctl.scheduler_file import API_VERSION, KIND, SchedulerProfile, read_scheduler_file
from extender.errors import ConfigError, ObjectError
from extender.model.labels import EVERYTHING
from extender.model.node_resources import DEFAULT_SCHEDULER
from extender.model.topology_spread import SpreadConstraint
from extender.model.verdict import NODE_AFFINITY, POD_TOPOLOGY_SPREAD
from extender.offline import objects_in
from extender.wire.decoding import Int32, Json, decode
from extender.wire.topology_spread import HARD, SOFT
from extender.wire.validation import is_label_key

_ARGS: Final = f"{POD_TOPOLOGY_SPREAD}Args"
_SYSTEM, _LIST = "System", "List"
_HONOR: Final = "Honor"


class _Constraint(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """v1.TopologySpreadConstraint; label keys are of no effect here, as the selector is another."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: dict[str, object] | None = None
    match_label_keys: list[str] | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class _Arguments(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """PodTopologySpreadArgs."""

    api_version: str = ""
    kind: str = _ARGS
    defaulting_type: str = _SYSTEM
    default_constraints: list[_Constraint] | None = None


_ARGUMENTS = msgspec.json.Decoder(_Arguments)


@dataclass(frozen=True, slots=True)
class SpreadProfile:
    """One profile of a scheduler."""

    filters: bool = True
    """PodTopologySpread is switched on; otherwise no constraint refuses a node."""
    constraints: Sequence[SpreadConstraint] = ()
    """Those that refuse nodes for pods without any of their own; each pod has another selector."""
    adds_affinity: bool = False
    """NodeAffinityArgs add to what pods ask for, which is not read here."""


def read_profiles(path: Path) -> Mapping[str, SpreadProfile]:
    """Read a KubeSchedulerConfiguration, by schedulerName.

    ClusterFileError for a file that cannot be used, ConfigError for fields of which the scheduler
    would refuse one (ValidatePodTopologySpreadArgs).
    """
    found = [raw for kind, raw in objects_in(path) if kind == KIND]
    if len(found) != 1:
        said = f"{len(found)} objects of kind {KIND}, where one is expected"
        raise ConfigError("", said, str(path))
    try:
        return profiles_in(found[0])
    except ObjectError as error:
        raise ConfigError(error.path, error.message, str(path)) from error


def profiles_in(raw: Json) -> Mapping[str, SpreadProfile]:
    """Read the profiles of one; ObjectError names the first field that is broken."""
    profiles = list(read_scheduler_file(raw).every_profile())
    found: dict[str, SpreadProfile] = {}
    for path, profile in profiles:
        name = profile.scheduler_name
        if name is None and len(profiles) == 1:
            name = DEFAULT_SCHEDULER
        if not name or name in found:
            said = "another profile has this name" if name else "a profile needs a name"
            raise ObjectError(f"{path}.schedulerName", said)
        found[name] = _read(path, profile)
    return found


def _read(path: str, profile: SchedulerProfile) -> SpreadProfile:
    """Read a profile; ObjectError names the field that is broken."""
    filters = profile.runs(POD_TOPOLOGY_SPREAD, "filter")
    if filters and not profile.runs(POD_TOPOLOGY_SPREAD, "preFilter"):
        said = f"{POD_TOPOLOGY_SPREAD} is off here, so its filter fails for every pod"
        raise ObjectError(f"{path}.plugins.preFilter", said)
    named = [each.name for each in profile.plugin_config or ()]
    if named.count(POD_TOPOLOGY_SPREAD) > 1:
        raise ObjectError(f"{path}.pluginConfig", f"{POD_TOPOLOGY_SPREAD} is there twice")
    index, written = profile.arguments(POD_TOPOLOGY_SPREAD)
    where = f"{path}.pluginConfig[{index}].args"
    args = decode(_ARGUMENTS, msgspec.json.encode(written), where)
    constraints = args.default_constraints or ()
    fault = next(_faults(args, constraints), None)
    if fault is not None:
        raise ObjectError(f"{where}.{fault.path}", fault.message)
    hard = (each for each in constraints if each.when_unsatisfiable == HARD)
    adds_affinity = bool(profile.arguments(NODE_AFFINITY)[1].get("addedAffinity"))
    return SpreadProfile(filters, tuple(map(_constraint, hard)), adds_affinity)


def _faults(args: _Arguments, constraints: Sequence[_Constraint]) -> Iterator[ObjectError]:
    if args.kind != _ARGS or args.api_version not in {"", API_VERSION}:
        yield ObjectError("kind", f"has to be {_ARGS} of {API_VERSION}")
    if args.defaulting_type not in {_SYSTEM, _LIST}:
        yield ObjectError("defaultingType", f"has to be {_SYSTEM} or {_LIST}")
    if args.defaulting_type == _SYSTEM and constraints:
        yield ObjectError("defaultingType", f"has to be {_LIST}, as there are defaultConstraints")
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(constraints):
        path = f"defaultConstraints[{index}]"
        if each.max_skew < 1:
            yield ObjectError(f"{path}.maxSkew", "has to be 1 or more")
        if not is_label_key(each.topology_key):
            yield ObjectError(f"{path}.topologyKey", f"{each.topology_key!r} is not a label key")
        if each.when_unsatisfiable not in {HARD, SOFT}:
            yield ObjectError(f"{path}.whenUnsatisfiable", f"has to be {HARD} or {SOFT}")
        if each.label_selector is not None:
            said = "a default constraint has none: it is that of each pod's services and controller"
            yield ObjectError(f"{path}.labelSelector", said)
        if (each.topology_key, each.when_unsatisfiable) in seen:
            yield ObjectError(path, "another has this topologyKey and whenUnsatisfiable")
        seen.add((each.topology_key, each.when_unsatisfiable))


def _constraint(written: _Constraint) -> SpreadConstraint:
    return SpreadConstraint(
        written.max_skew,
        written.topology_key,
        EVERYTHING,
        min_domains=1 if written.min_domains is None else written.min_domains,
        honors_node_affinity=written.node_affinity_policy in {None, _HONOR},
        honors_taints=written.node_taints_policy == _HONOR,
        is_default=True,
    )
