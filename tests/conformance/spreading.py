"""Hypothesis strategies: default topology spread constraints, and what selects pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from affinityctl.scheduler.file import API_VERSION, KIND
from extender.core.model.node_resources import DEFAULT_SCHEDULER
from tests import builders, strategies
from tests.builders import HOST, ZONE, Pod
from tests.conformance.questions import Drawn
from tests.strategies import POD_LABELS, RACK, rarely

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPACES = ("alpha", "beta")
_KEYS = (ZONE, ZONE, HOST, HOST, RACK)
_OWNERS: Sequence[tuple[str, str, str]] = (
    ("apps/v1", "ReplicaSet", "first"),
    ("apps/v1", "ReplicaSet", "first"),
    ("apps/v1", "ReplicaSet", "second"),
    ("apps/v1", "StatefulSet", "first"),
    ("v1", "ReplicationController", "first"),
    ("apps/v1", "ReplicaSet", "gone"),
    ("batch/v1", "Job", "first"),
    ("apps.example.com/v1", "StatefulSet", "first"),
)
_SERVED: Sequence[dict[str, str] | None] = (
    {"app": "web"},
    {"app": "web"},
    {"app": "db"},
    {"tier": "a"},
    {"app": "web", "tier": "b"},
    {},
    None,
)


@st.composite
def constraints(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw constraints, of which no two have key and action in common."""
    drawn = [draw(_constraint()) for _ in range(draw(st.sampled_from([1, 1, 2, 3])))]
    return [*{(each["topologyKey"], each["whenUnsatisfiable"]): each for each in drawn}.values()]


@st.composite
def _constraint(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {
        "maxSkew": draw(st.sampled_from([1, 1, 1, 2])),
        "topologyKey": draw(st.sampled_from(_KEYS)),
        "whenUnsatisfiable": "ScheduleAnyway" if draw(rarely(10)) else "DoNotSchedule",
    }
    if draw(rarely(4)):
        made["minDomains"] = draw(st.sampled_from([2, 3, 1, 0]))
    if draw(rarely(6)):
        # Of no effect: the selector is another.
        made["matchLabelKeys"] = ["app"]
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        chosen = draw(st.sampled_from([None, None, "Honor", "Ignore"]))
        made |= {} if chosen is None else {policy: chosen}
    return made


@st.composite
def with_defaults(draw: st.DrawFn, case: dict[str, Any]) -> Drawn:
    """Draw default constraints for a case, and leave out most of what else refuses nodes."""
    nodes = [draw(_in_zone(node)) for node in case["cluster"]["nodes"]]
    judged = [draw(_owned(pod)) for pod in case["judged"]]
    placed = case["cluster"]["pods"]
    if not draw(rarely(3)):
        placed = [_without(pod, {"affinity"}) for pod in placed]
    cluster = case["cluster"] | {"nodes": nodes, "pods": placed}
    made = {"spreading": draw(spreading()), "scheduler": scheduler_file(draw(constraints()))}
    return Drawn(case | {"cluster": cluster, "judged": judged} | made)


def scheduler_file(constraints: list[dict[str, Any]]) -> dict[str, Any]:
    """Build a scheduler's configuration with default constraints."""
    args = {"defaultingType": "List", "defaultConstraints": constraints}
    configured = {
        "schedulerName": DEFAULT_SCHEDULER,
        "pluginConfig": [{"name": "PodTopologySpread", "args": args}],
    }
    return {"kind": KIND, "apiVersion": API_VERSION, "profiles": [configured]}


@st.composite
def _in_zone(draw: st.DrawFn, node: dict[str, Any]) -> dict[str, Any]:
    labels = dict(node["metadata"]["labels"])
    if not draw(rarely(6)):
        labels |= {key: labels.get(key, "x") for key in (ZONE, RACK)}
    return node | {"metadata": node["metadata"] | {"labels": labels}}


@st.composite
def spreading(draw: st.DrawFn) -> dict[str, Any]:
    """Draw services and controllers, in the shape that the Go program reads."""
    return {
        "services": [
            draw(_services(f"service-{number}", space))
            for space in _SPACES
            for number in range(draw(st.sampled_from([1, 2, 2, 0])))
        ],
        "replicationControllers": [draw(_controllers(space)) for space in _SPACES],
        "replicaSets": [
            draw(_sets(name, space)) for space in _SPACES for name in ("first", "second")
        ],
        "statefulSets": [draw(_sets("first", space)) for space in _SPACES],
    }


@st.composite
def _services(draw: st.DrawFn, name: str, space: str) -> dict[str, Any]:
    chosen = draw(st.sampled_from(_SERVED))
    spec = {} if chosen is None else {"selector": chosen}
    return {"metadata": {"name": name, "namespace": space}, "spec": spec}


@st.composite
def _controllers(draw: st.DrawFn, space: str) -> dict[str, Any]:
    chosen = draw(strategies.labels(POD_LABELS))
    return {"metadata": {"name": "first", "namespace": space}, "spec": {"selector": chosen}}


@st.composite
def _sets(draw: st.DrawFn, name: str, space: str) -> dict[str, Any]:
    like_web = st.just(builders.selector(app="web"))
    chosen = draw(st.none() | like_web | like_web | strategies.selectors(POD_LABELS))
    return {"metadata": {"name": name, "namespace": space}, "spec": {"selector": chosen}}


@st.composite
def _owned(draw: st.DrawFn, pod: Pod) -> Pod:
    """Draw a controller for a pod, or none, and take most of its own constraints and rules away."""
    taken = {"volumes"} | ({"topologySpreadConstraints"} if draw(rarely(2)) else set())
    taken |= set() if draw(rarely(3)) else {"affinity", "nodeSelector"}
    pod = _without(pod, taken)
    if draw(rarely(3)):
        return pod
    version, kind, name = draw(st.sampled_from(_OWNERS))
    owner: dict[str, Any] = {
        "apiVersion": version,
        "kind": kind,
        "name": name,
        "uid": f"{kind}-{name}",
    }
    if not draw(rarely(12)):
        owner["controller"] = True
    return Pod({**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}})


def _without(pod: Pod, fields: set[str]) -> Pod:
    kept = {name: each for name, each in pod["spec"].items() if name not in fields}
    return Pod({**pod, "spec": kept})
