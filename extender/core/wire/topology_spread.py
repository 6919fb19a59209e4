"""Topology spread constraints out of pod manifests."""

from __future__ import annotations

import msgspec

from extender.core.errors import ObjectError
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.wire.affinity import read_selector
from extender.core.wire.decoding import Int32, decode
from extender.core.wire.manifests import LabelSelector

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
FIELD = "topologySpreadConstraints"
_PATH = f"spec.{FIELD}"
_HONOR, _IGNORE = "Honor", "Ignore"


class Constraint(msgspec.Struct, gc=False):
    """v1.TopologySpreadConstraint."""

    maxSkew: Int32 = 0
    topologyKey: str = ""
    whenUnsatisfiable: str = ""
    labelSelector: LabelSelector | None = None
    matchLabelKeys: list[str] | None = None
    minDomains: Int32 | None = None
    nodeAffinityPolicy: str | None = None
    nodeTaintsPolicy: str | None = None


_CONSTRAINTS: msgspec.json.Decoder[list[Constraint] | None] = msgspec.json.Decoder(
    list[Constraint] | None
)


def read_spread(raw: bytes) -> tuple[tuple[SpreadConstraint, ...], bool]:
    """Read those constraints that refuse nodes, and whether there are others.

    ObjectError names the field that is broken; the API server stores no such pod.
    """
    read: list[Constraint] | None = decode(_CONSTRAINTS, raw, _PATH)
    found = read or ()
    hard = (
        _read(each, f"{_PATH}[{index}]")
        for index, each in enumerate(found)
        if each.whenUnsatisfiable != SOFT
    )
    return tuple(hard), any(each.whenUnsatisfiable == SOFT for each in found)


def _read(written: Constraint, path: str) -> SpreadConstraint:
    if written.whenUnsatisfiable != HARD:
        raise ObjectError(f"{path}.whenUnsatisfiable", f"has to be {HARD} or {SOFT}")
    if written.maxSkew < 1:
        raise ObjectError(f"{path}.maxSkew", "has to be 1 or more")
    if not written.topologyKey:
        raise ObjectError(f"{path}.topologyKey", "a constraint needs a topology key")
    return SpreadConstraint(
        written.maxSkew,
        written.topologyKey,
        read_selector(written.labelSelector, f"{path}.labelSelector"),
        tuple(written.matchLabelKeys or ()),
        1 if written.minDomains is None else written.minDomains,
        honors_node_affinity=(written.nodeAffinityPolicy or _HONOR) == _HONOR,
        honors_taints=(written.nodeTaintsPolicy or _IGNORE) == _HONOR,
    )
