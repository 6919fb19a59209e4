"""How costs are judged: orders that a scale-down would leave uneven, and patches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulation import templates
from simulation.apiserver.patches import COST, patched
from simulation.apiserver.store import Refused, Store
from simulation.apiserver.verbs import bind, delete, patch
from simulation.invariants.broken import BrokenError
from simulation.invariants.costs import GIVEN, CostJudge, topologies, wrongly_taken
from simulation.preferring import PREFERRED
from simulation.scaling_plan import Scaling
from simulation.templates import HOST, ZONE

UNEVEN = "0 left of 2 in b, and 2 in a"


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        pytest.param([("a", -1), ("a", -2), ("b", -1), ("b", -2)], None, id="one of each in turn"),
        pytest.param([("a", -1), ("a", -2), ("b", -2), ("b", -3)], UNEVEN, id="all of one first"),
        pytest.param([("a", 0), ("a", 0), ("b", 0), ("b", 0)], UNEVEN, id="equal costs, any order"),
        pytest.param(
            [*[("a", -each) for each in range(1, 5)], ("b", -1)],
            None,
            id="a domain that had fewer keeps what it has",
        ),
        pytest.param(
            [*[("a", -each) for each in range(1, 5)], ("b", -5)],
            "0 left of 1 in b, and 4 in a",
            id="a domain that had fewer loses one first",
        ),
        pytest.param([("a", -1), ("a", -2), ("", -9)], None, id="a node without the label"),
    ],
)
def test_an_order_is_right_if_any_number_of_pods_may_go(
    pods: list[tuple[str, int]], why: str | None
) -> None:
    ranks = {f"p{number}": (cost, -1) for number, (_, cost) in enumerate(pods)}
    domains = {f"p{number}": domain for number, (domain, _) in enumerate(pods)}
    assert wrongly_taken(ranks, domains) == why


def pod(**metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "default", "uid": "u", "resourceVersion": "5", **metadata},
        "spec": {},
        "status": {},
    }


def test_the_topologies_are_those_of_terms_about_the_pod_itself() -> None:
    def term(key: str, app: str) -> dict[str, Any]:
        return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}

    wishes = [{"weight": 1, "podAffinityTerm": term(HOST, app)} for app in ("web", "db")]
    anti = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term(ZONE, "db")],
        "preferredDuringSchedulingIgnoredDuringExecution": wishes,
    }
    web = {**pod(labels={"app": "web"}), "spec": {"affinity": {"podAntiAffinity": anti}}}
    assert topologies(web, {}) == {HOST}


PATH = "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost"


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"metadata": {"uid": "u", "annotations": {COST: "-1"}}}, id="merge"),
        pytest.param(
            [
                {"op": "test", "path": "/metadata/resourceVersion", "value": "5"},
                {"op": "add", "path": "/metadata/annotations", "value": {}},
                {"op": "add", "path": PATH, "value": "-1"},
            ],
            id="operations",
        ),
    ],
)
def test_a_patch_sets_an_annotation(patch: object) -> None:
    assert patched(pod(), patch)["metadata"]["annotations"] == {COST: "-1"}


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        pytest.param({"metadata": {"uid": "another"}}, 409, id="another pod"),
        pytest.param({"metadata": {"resourceVersion": "4"}}, 409, id="an old version"),
        pytest.param(
            [{"op": "test", "path": "/metadata/uid", "value": "other"}], 422, id="a failed test"
        ),
        pytest.param({"metadata": {"annotations": {COST: "+1"}}}, 422, id="no number"),
        pytest.param({"metadata": {"annotations": {COST: "2147483648"}}}, 422, id="33 bits"),
        pytest.param([{"op": "remove", "path": PATH}], 422, id="nothing to remove"),
    ],
)
def test_a_patch_is_refused(patch: object, status: int) -> None:
    with pytest.raises(Refused) as refused:
        patched(pod(), patch)
    assert refused.value.status == status


EXTENDER, STANDBY = "extender-1", "standby-extender-1"
SETTINGS = Scaling(settle=5.0, per_minute=4, assists=True)
AFFINITY = {
    "podAntiAffinity": {
        PREFERRED: [
            {
                "weight": 1,
                "podAffinityTerm": {
                    "topologyKey": ZONE,
                    "labelSelector": {"matchLabels": {"app": "web"}},
                },
            }
        ]
    }
}


class Court:
    """Two zones with two pods each, a judge, and an extender that leads."""

    def __init__(self) -> None:
        self.now = 0.0
        self.store = Store()
        clock = lambda: self.now  # noqa: E731
        since = lambda _, at: at - 1.0  # noqa: E731
        self.judge = CostJudge(self.store, clock, SETTINGS, since, lambda: 0.0)
        self.store.create("namespaces", templates.namespace("default", "blue"), "users")
        for zone in "ab":
            self.store.create("nodes", templates.node(zone, zone, 8), "users")
        lease = {"metadata": {"name": "it", "namespace": "default"}}
        self.store.create("leases", {**lease, "spec": {"holderIdentity": EXTENDER}}, EXTENDER)
        for number, zone in enumerate("abab"):
            self.create(f"web-{number}", zone)

    def create(self, name: str, node: str, **more: Any) -> None:
        made_of = {"labels": {"app": "web"}, "affinity": AFFINITY, "priority": 0, **more}
        pod = templates.pod(name, "default", made_of, owner="web", scheduler="", milli=10)
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        uid = self.store.create("pods", {**pod, "status": ready}, "controllers")["metadata"]["uid"]
        if node:
            bind(self.store, f"default/{name}", uid, node, "scheduler-1")

    def write(
        self, name: str, *, by: str = EXTENDER, at: float | None = None, **notes: str | None
    ) -> None:
        self.now = self.now if at is None else at
        said = {{"cost": COST, "mark": GIVEN}.get(key, key): each for key, each in notes.items()}
        patch(self.store, f"default/{name}", {"metadata": {"annotations": said}}, by)

    def order(self, *costs: int) -> None:
        """Give each pod a cost, a minute apart."""
        for number, cost in enumerate(costs):
            self.write(f"web-{number}", at=60.0 * number, cost=str(cost), mark=str(cost))

    @property
    def broken(self) -> list[str]:
        return [each.invariant for each in self.judge.broken]


def test_costs_in_order_break_nothing() -> None:
    court = Court()
    court.order(-1, -1, -2, -2)
    court.now = 1_000.0
    court.judge.look()
    assert court.broken == []
    assert court.judge.counts["orders"] == 1


def test_costs_out_of_order_break_something_once_they_could_be_in_order() -> None:
    court = Court()
    court.order(-1, -2, -2, -3)
    court.judge.look()
    court.now = 1_000.0
    with pytest.raises(BrokenError, match="scaled down out of order: default/web: 0 left of 2"):
        court.judge.look()


def _over_a_cost_of_a_user(court: Court) -> None:
    court.write("web-0", by="users", cost="7")
    court.write("web-0", cost="-1", mark="-1")


def _over_an_old_cost_of_a_user_with_a_binding(court: Court) -> None:
    court.create("late", "", annotations={COST: "7"})
    court.now = 10.0
    notes = {COST: "-1", GIVEN: "-1"}
    bind(court.store, "default/late", "", "a", EXTENDER, annotations=notes)


def _over_a_new_cost_of_a_user_with_a_binding(court: Court) -> None:
    _over_an_old_cost_of_a_user_with_a_binding(court)
    court.judge.broken.clear()
    court.create("later", "")
    court.write("later", by="users", cost="7")
    notes = {COST: "-1", GIVEN: "-1"}
    bind(court.store, "default/later", "", "a", EXTENDER, annotations=notes)


def _into_a_pod_of_a_stateful_set(court: Court) -> None:
    court.create("db-0", "a", kind="StatefulSet")
    court.write("db-0", cost="-1", mark="-1")


def _into_a_pod_without_rules(court: Court) -> None:
    court.create("free", "a", affinity={})
    court.write("free", cost="-1", mark="-1")


def _three_in_a_minute(court: Court) -> None:
    for number in range(3):
        court.write(f"web-{number}", at=20.0 * number, cost="-1", mark="-1")


@pytest.mark.parametrize(
    ("act", "broken"),
    [
        pytest.param(_over_a_cost_of_a_user, ["cost of a user changed"], id="a cost of a user"),
        pytest.param(
            _over_an_old_cost_of_a_user_with_a_binding,
            ["cost of a user changed"],
            id="a Binding over what the watch has shown",
        ),
        pytest.param(
            _over_a_new_cost_of_a_user_with_a_binding,
            [],
            id="a Binding over what came in the same moment",
        ),
        pytest.param(_into_a_pod_of_a_stateful_set, ["cost where none is due"], id="a StatefulSet"),
        pytest.param(_into_a_pod_without_rules, ["cost where none is due"], id="no rules"),
        pytest.param(
            _three_in_a_minute, ["too many patches in a minute"], id="half of four in a namespace"
        ),
        pytest.param(
            lambda court: court.write("web-0", by=STANDBY, cost="-1", mark="-1"),
            ["two replicas patch"],
            id="a replica without the Lease",
        ),
        pytest.param(
            lambda court: court.write("web-0", cost="-1", mark="-2"),
            ["more than costs written"],
            id="another mark",
        ),
        pytest.param(
            lambda court: court.write("web-0", other="1"),
            ["more than costs written"],
            id="another annotation",
        ),
        pytest.param(
            lambda court: delete(court.store, "default/web-0", EXTENDER, grace=5.0),
            ["deleted for a scale-down", "more than costs written"],
            id="a deletion",
        ),
        pytest.param(
            lambda court: court.write("web-0", at=900.0, cost="-1", mark="-1"),
            ["patches without end"],
            id="a patch when all is settled",
        ),
    ],
)
def test_a_write_breaks_a_promise(act: Callable[[Court], None], broken: list[str]) -> None:
    court = Court()
    act(court)
    assert court.broken == broken
