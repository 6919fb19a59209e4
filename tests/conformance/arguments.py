"""Hypothesis strategies: a scheduler's file with arguments of plugins, and some plugins off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from affinityctl.scheduler.file import API_VERSION, KIND
from extender.core.model.node_resources import DEFAULT_SCHEDULER
from tests import builders
from tests.builders import ZONE
from tests.conformance import spreading
from tests.conformance.questions import Drawn
from tests.strategies import rarely

if TYPE_CHECKING:
    from collections.abc import Sequence

OTHER = "other"
"""The name of another profile."""
_FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""In the order of the default profile."""
_VOLUME_BINDING = "VolumeBinding"
"""Without it, what the other plugins say of volumes is not modelled, and said to be unknown."""
_OFF = tuple(each for each in _FILTERS if each != _VOLUME_BINDING)
_ADDED: Sequence[dict[str, Any]] = (
    {"matchExpressions": [builders.requirement(ZONE, "In", "x")]},
    {"matchExpressions": [builders.requirement(ZONE, "NotIn", "y")]},
    {"matchExpressions": [builders.requirement("size", "Gt", "2")]},
    {"matchFields": [builders.requirement("metadata.name", "NotIn", "node-0")]},
    {"matchFields": [builders.requirement("metadata.name", "In", "node-1")]},
)
_IGNORED: Sequence[dict[str, Any]] = (
    {"ignoredResources": ["example.com/gpu"]},
    {"ignoredResourceGroups": ["example.com"]},
    {"ignoredResources": ["cpu", "example.com/other"], "ignoredResourceGroups": ["gpu"]},
)
_PREFERRED = {"weight": 1, "preference": _ADDED[0]}


@st.composite
def with_arguments(draw: st.DrawFn, case: dict[str, Any]) -> Drawn:
    """Draw two profiles for a case, and for each pod that is judged the one that it names."""
    known = case.get("scheduler", {"profiles": [{}]})["profiles"][0].get("pluginConfig", [])
    spread = known[0]["args"] if known else {"defaultingType": "System"}
    profiles = [draw(_profiles(DEFAULT_SCHEDULER, spread)), draw(_profiles(OTHER, spread))]
    file = {"kind": KIND, "apiVersion": API_VERSION, "profiles": profiles}
    judged = [
        builders.Pod({**pod, "spec": pod["spec"] | {"schedulerName": OTHER}})
        if draw(rarely(2))
        else pod
        for pod in case["judged"]
    ]
    return Drawn(case | {"judged": judged, "scheduler": file})


@st.composite
def _profiles(draw: st.DrawFn, name: str, spread: dict[str, Any]) -> dict[str, Any]:
    args: dict[str, dict[str, Any]] = {}
    if draw(rarely(2)):
        terms = draw(st.lists(st.sampled_from(_ADDED), min_size=1, max_size=2))
        added: dict[str, Any] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
        if draw(rarely(3)):
            added["preferredDuringSchedulingIgnoredDuringExecution"] = [_PREFERRED]
        args["NodeAffinity"] = {"addedAffinity": added}
    if draw(rarely(3)):
        args["NodeResourcesFit"] = draw(st.sampled_from(_IGNORED))
    if draw(rarely(3)):
        args["InterPodAffinity"] = {
            "hardPodAffinityWeight": draw(st.sampled_from([0, 1, 100])),
            "ignorePreferredTermsOfExistingPods": draw(st.booleans()),
        }
    if "defaultConstraints" in spread and draw(rarely(3)):
        spread = spread | {"defaultConstraints": draw(spreading.constraints())}
    args["PodTopologySpread"] = spread
    return {
        "schedulerName": name,
        "pluginConfig": [{"name": plugin, "args": each} for plugin, each in args.items()],
        "plugins": draw(_plugins()),
    }


@st.composite
def _plugins(draw: st.DrawFn) -> dict[str, Any]:
    """Draw which plugins are off, and in which of the ways in which a file says so."""
    off = draw(st.lists(st.sampled_from(_OFF), max_size=2, unique=True))
    how = draw(st.sampled_from(["multiPoint", "multiPoint", "points", "all"]))
    if draw(rarely(6)):
        # Its preFilter leaves nodes out, its filter refuses some: each runs without the other.
        point = draw(st.sampled_from(["preFilter", "filter"]))
        return {point: {"disabled": [{"name": "NodeAffinity"}]}}
    if how == "all":
        # What is left is named: the queue's order and the binding have to be there.
        left = [each for each in _FILTERS if each not in off]
        enabled = [{"name": each} for each in ("PrioritySort", *left, "DefaultBinder")]
        return {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}}
    points = ("multiPoint",) if how == "multiPoint" else ("preFilter", "filter")
    return {point: {"disabled": [{"name": each} for each in off]} for point in points}
