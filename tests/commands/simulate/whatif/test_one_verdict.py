"""`explain`, `/explain` and `simulate` leave a pod the same nodes."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from affinityctl.commands.simulate.whatif.outcome import explain
from extender.core.model.verdict import Verdict
from tests import strategies
from tests.commands.simulate.whatif.cases import TAINT, Json, scheduler_of
from tests.commands.simulate.whatif.test_scheduling import cases

CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@st.composite
def with_reasons(draw: st.DrawFn) -> tuple[list[Json], list[Json], list[Json]]:
    """Draw a cluster, with more that may be wrong with a node than placements are checked for."""
    nodes, namespaces, pods = draw(cases())
    nodes = [draw(_marked(each)) for each in nodes]
    return nodes, namespaces, [draw(_particular(each)) for each in pods]


@st.composite
def _marked(draw: st.DrawFn, raw: Json) -> Json:
    taints = draw(st.lists(st.sampled_from([TAINT, TAINT | {"key": "gpu"}, CORDONED]), max_size=2))
    spec: dict[str, Any] = {"taints": taints, "unschedulable": draw(strategies.rarely(4))}
    if draw(strategies.rarely(4)):
        return {**raw, "spec": spec, "status": {}}
    return {**raw, "spec": spec}


@st.composite
def _particular(draw: st.DrawFn, raw: Json) -> Json:
    spec = dict(raw["spec"])
    if draw(strategies.rarely(3)):
        spec["tolerations"] = [draw(st.sampled_from([{"operator": "Exists"}, CORDONED]))]
    if draw(strategies.rarely(6)):
        spec["resourceClaims"] = [{"name": "gpu"}]
    return {**raw, "spec": spec}


@settings(max_examples=60)
@given(case=with_reasons())
def test_explain_and_simulate_leave_a_pod_the_same_nodes(
    case: tuple[list[Json], list[Json], list[Json]],
) -> None:
    scheduler = scheduler_of(*case)
    for pod in scheduler.waiting:
        feasible, _ = scheduler.feasible(pod)
        found = explain(scheduler.state, pod)
        assert sorted(found.fits) == sorted(feasible.names)
        assert (found.verdict is Verdict.REFUSED) is (not feasible.names)
        asks = "resourceClaims" in pod.spec.requirements.unmodelled or pod.spec.priority_class
        assert (found.verdict is Verdict.UNKNOWN) is (bool(asks) and bool(feasible.names))
