"""PodTopologySpreadArgs: the default constraints of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from extender.core.errors import ObjectError
from extender.core.model.labels import EVERYTHING
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.wire.decoding import Int32, decode
from extender.core.wire.topology_spread import HARD, SOFT
from extender.core.wire.validation import is_label_key

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
    kind: str = ""
    defaulting_type: str = _SYSTEM
    default_constraints: list[_Constraint] | None = None


_ARGUMENTS = msgspec.json.Decoder(_Arguments)


def constraints_of(written: Mapping[str, object], where: str) -> Sequence[SpreadConstraint]:
    """Return the constraints that refuse nodes for pods without any of their own.

    Each pod has another selector. ObjectError names the first field for which the scheduler would
    not start (ValidatePodTopologySpreadArgs).
    """
    args = decode(_ARGUMENTS, msgspec.json.encode(written), where)
    constraints = args.default_constraints or ()
    fault = next(_faults(args, constraints), None)
    if fault is not None:
        raise ObjectError(f"{where}.{fault.path}", fault.message)
    return tuple(_constraint(each) for each in constraints if each.when_unsatisfiable == HARD)


def _faults(args: _Arguments, constraints: Sequence[_Constraint]) -> Iterator[ObjectError]:
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
