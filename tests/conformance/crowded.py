"""Hypothesis strategies: crowded clusters, and important pods that find no node there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests import builders, strategies
from tests.builders import HOST, ZONE, Pod
from tests.conformance.questions import Drawn
from tests.oracle import key_of
from tests.strategies import NODE_NAMES, POD_LABELS, RACK, UNKNOWN_NODE, rarely

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREEMPTORS_PER_CASE = 10
_MOST_PODS = 14
_NAMESPACES = ("alpha", "alpha", "alpha", "beta")
_TAINTS = (
    {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
    {"key": "dedicated", "effect": "NoExecute"},
    {"key": "old", "effect": "PreferNoSchedule"},
)
_TOLERATIONS = (
    {"operator": "Exists"},
    {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "gpu"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
)
_NODE_TERMS = (
    [builders.requirement(ZONE, "In", "x")],
    [builders.requirement(ZONE, "NotIn", "x")],
    [builders.requirement(RACK, "Exists"), builders.requirement("size", "Gt", "2")],
    [builders.requirement("size", "Lt", "3")],
)
_STARTS = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:01Z", None)
_PROTECTED = (
    builders.selector(app="web"),
    builders.selector(app="db"),
    builders.selector(tier="a"),
)
_PORTS = ((80, ""), (80, "10.0.0.1"), (80, "10.0.0.2"), (81, ""))


@st.composite
def cases(draw: st.DrawFn) -> Drawn:
    """Draw a case of preemptors in the shape that the Go program reads."""
    names = NODE_NAMES[: draw(st.sampled_from([2, 3, 4, 1]))]
    templates = draw(st.sampled_from([_templates, _spread_out]))
    workloads = [draw(templates()) for _ in range(draw(st.sampled_from([2, 3, 1])))]
    count = _MOST_PODS - draw(st.sampled_from(range(_MOST_PODS)))
    pods = [draw(_pods(f"pod-{number:02}", workloads, names)) for number in range(count)]
    numbers = range(draw(st.sampled_from([2, 2, 1, 0])))
    budgets = [draw(_budgets(f"b{number}", pods)) for number in numbers]
    preemptors = [
        draw(_preemptors(f"new-{number}", workloads, names))
        for number in range(PREEMPTORS_PER_CASE)
    ]
    return Drawn(
        cluster={
            "nodes": [draw(_nodes(name)) for name in names],
            "namespaces": [draw(strategies.namespaces(name)) for name in ("alpha", "beta")],
            # The scheduler takes equally important pods as they come, the extender by their names.
            "pods": sorted(_without_twice(pods), key=key_of),
        },
        preemptions={"budgets": budgets, "pods": preemptors},
    )


@st.composite
def _templates(draw: st.DrawFn) -> Pod:
    """Draw what replicas share: rules by few terms, most of them within their namespace."""
    made = builders.pod("template").labels(draw(strategies.labels(POD_LABELS)))
    made = made.anti_affinity(*draw(_terms([1, 1, 0, 2])))
    return made.affinity(*draw(_terms([0, 0, 0, 0, 0, 0, 1, 2])))


@st.composite
def _spread_out(draw: st.DrawFn) -> Pod:
    """Draw the same with topology spread constraints instead of most of the rules."""
    labels = {"app": draw(st.sampled_from(POD_LABELS["app"]))}
    labels |= draw(strategies.labels({"tier": POD_LABELS["tier"]}))
    made = builders.pod("template").labels(labels).anti_affinity(*draw(_terms([0, 0, 0, 0, 1])))
    keys = draw(st.sampled_from([(ZONE,), (HOST,), (RACK,), (ZONE, HOST), (RACK, ZONE)]))
    made["spec"]["topologySpreadConstraints"] = [draw(_spread(key, labels)) for key in keys]
    return made


@st.composite
def _spread(draw: st.DrawFn, key: str, labels: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "maxSkew": draw(st.sampled_from([1, 1, 1, 2, 3])),
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway" if draw(rarely(12)) else "DoNotSchedule",
    }
    if not draw(rarely(12)):
        # Most spread pods that are like themselves.
        own = builders.selector(app=labels["app"])
        made["labelSelector"] = draw(strategies.selectors(POD_LABELS)) if draw(rarely(3)) else own
        free = sorted({*POD_LABELS} - _keys_of(made["labelSelector"]))
        if draw(rarely(3)) and free:
            made["matchLabelKeys"] = [draw(st.sampled_from(free))]
    if made["whenUnsatisfiable"] == "DoNotSchedule" and draw(rarely(4)):
        made["minDomains"] = draw(st.sampled_from([2, 3, 4, 1]))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        chosen = draw(st.sampled_from([None, None, "Honor", "Ignore"]))
        made |= {} if chosen is None else {policy: chosen}
    return made


def _keys_of(selector: Mapping[str, Any]) -> set[str]:
    expressions = selector.get("matchExpressions") or ()
    return {*(selector.get("matchLabels") or {}), *(each["key"] for each in expressions)}


@st.composite
def _terms(draw: st.DrawFn, counts: list[int]) -> list[dict[str, Any]]:
    return [draw(_term()) for _ in range(draw(st.sampled_from(counts)))]


@st.composite
def _term(draw: st.DrawFn) -> dict[str, Any]:
    key = draw(st.sampled_from([HOST, HOST, ZONE, RACK]))
    made = builders.term(key, draw(strategies.selectors(POD_LABELS)))
    return made | {"namespaceSelector": {}} if draw(rarely(3)) else made


@st.composite
def _sized(draw: st.DrawFn, made: Pod) -> Pod:
    """Give a pod what it takes of a node, as containers of either kind."""
    made = Pod({**made, "spec": {**made["spec"], "containers": []}})
    many = "topologySpreadConstraints" in made["spec"]
    cpu = ["0", "100m", "1"] if many else ["0", "1", "1500m", "500m", "2"]
    made = made.requests(cpu=draw(st.sampled_from(cpu)))
    if draw(rarely(4)):
        made = made.requests(**draw(st.sampled_from([{"memory": "1Gi"}, {"example.com/gpu": "1"}])))
    if draw(rarely(6)):
        starting = {"name": "first", "resources": {"requests": {"cpu": "2"}}}
        running = {"restartPolicy": "Always"} if draw(rarely(2)) else {}
        made["spec"]["initContainers"] = [starting | running]
    if draw(rarely(4)):
        made = made.host_port(*draw(st.sampled_from(_PORTS)))
    return made


@st.composite
def _replicas(draw: st.DrawFn, name: str, workloads: list[Pod]) -> Pod:
    template = draw(st.sampled_from(workloads))
    return draw(_sized(strategies.named(template, name, draw(st.sampled_from(_NAMESPACES)))))


@st.composite
def _pods(draw: st.DrawFn, name: str, workloads: list[Pod], names: Iterable[str]) -> Pod:
    """Draw a pod that is somewhere, mostly, or waits for a node that it is nominated to."""
    made = draw(_replicas(name, workloads)).priority(draw(st.sampled_from([0, 0, 1, 1, 2, 2, 3])))
    place = draw(st.sampled_from([*names, *names, *names, UNKNOWN_NODE, None]))
    if place is None:
        return made.nominated(draw(st.sampled_from([*names])))
    started = draw(st.sampled_from(_STARTS))
    made = made.on(place) if started is None else made.started(started).on(place)
    if draw(rarely(12)):
        return made.phase("Succeeded")
    if draw(rarely(4)):
        return draw(st.sampled_from([made.preempted(), made.preempted(), made.being_deleted()]))
    return made


@st.composite
def _preemptors(draw: st.DrawFn, name: str, workloads: list[Pod], names: Iterable[str]) -> Pod:
    """Draw a pod that is more important than most."""
    made = draw(_replicas(name, workloads)).priority(draw(st.sampled_from([4, 4, 3, 2])))
    spec = made["spec"]
    if draw(rarely(2)):
        spec["tolerations"] = draw(st.lists(st.sampled_from(_TOLERATIONS), max_size=2))
    if draw(rarely(6)):
        spec["nodeSelector"] = {ZONE: draw(st.sampled_from(["x", "y"]))}
    if draw(rarely(6)):
        chosen = draw(st.lists(st.sampled_from(_NODE_TERMS), min_size=1, max_size=2))
        terms: list[dict[str, Any]] = [{"matchExpressions": each} for each in chosen]
        if draw(rarely(2)):
            terms = draw(st.lists(_naming(names), min_size=1, max_size=2))
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = spec.get("affinity", {}) | {"nodeAffinity": required}
    if draw(rarely(12)):
        spec["preemptionPolicy"] = "Never"
    return (
        made.nominated(draw(st.sampled_from([*names, UNKNOWN_NODE]))) if draw(rarely(3)) else made
    )


@st.composite
def _naming(draw: st.DrawFn, names: Iterable[str]) -> dict[str, Any]:
    """Draw a term that names nodes, mostly one; some name none, or two that no node can be."""
    known = [*names, UNKNOWN_NODE]
    some = draw(st.permutations(known))[: draw(st.sampled_from([1, 1, 2]))]
    operator = "NotIn" if draw(rarely(6)) else "In"
    term = {"matchFields": [builders.requirement("metadata.name", operator, each) for each in some]}
    if draw(rarely(3)):
        term["matchExpressions"] = draw(st.sampled_from(_NODE_TERMS))
    return {} if draw(rarely(12)) else term


@st.composite
def _nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    found = draw(strategies.labels({ZONE: ("x", "y", "x", "y"), RACK: ("x", "r")}))
    found |= {HOST: name} if not draw(rarely(10)) else {}
    found |= {"size": draw(st.sampled_from(["2", "3", "big"]))} if draw(rarely(3)) else {}
    room = {
        "cpu": draw(st.sampled_from(["4", "9", "4", "3", "1"])),
        "memory": draw(st.sampled_from(["4Gi", "1Gi"])),
        "pods": draw(st.sampled_from(["9", "9", "9", "4", "2"])),
        "example.com/gpu": draw(st.sampled_from(["2", "1"])),
    }
    taints = [draw(st.sampled_from(_TAINTS))] if draw(rarely(6)) else []
    made = builders.node(name, found, room, taints)
    if draw(rarely(12)):
        made["spec"]["unschedulable"] = True
        if draw(rarely(2)):
            # A controller adds it to all of them, a moment later.
            cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            made["spec"]["taints"] = [*taints, cordoned]
    return made


@st.composite
def _budgets(draw: st.DrawFn, name: str, pods: list[Pod]) -> dict[str, Any]:
    """Draw a budget, which has granted evictions in its namespace."""
    where = draw(st.sampled_from(_NAMESPACES))
    there = [pod["metadata"]["name"] for pod in pods if pod["metadata"]["namespace"] == where]
    granted = draw(st.lists(st.sampled_from(there), max_size=6)) if there else []
    allowed = draw(st.sampled_from([0, 0, 1, 2, -1]))
    chosen = draw(st.sampled_from(_PROTECTED) | strategies.selectors(POD_LABELS))
    made = builders.budget(name, chosen, allowed, disrupted=granted)
    made["metadata"]["namespace"] = where
    return made


def _without_twice(pods: Iterable[Pod]) -> Iterable[Pod]:
    """Leave out pods with a port that another one on their node has.

    The scheduler forgets that both had it as soon as one of them is gone.
    """
    taken: set[tuple[str, str, int]] = set()
    for pod in pods:
        node = pod["spec"].get("nodeName")
        ports = {
            (node, port.get("hostIP", ""), port["hostPort"])
            for container in pod["spec"]["containers"]
            for port in container.get("ports", ())
        }
        if node is None or not taken & ports:
            taken |= ports
            yield pod
