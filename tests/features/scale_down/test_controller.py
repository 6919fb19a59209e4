"""Deletion costs that are missing or out of order, and who puts them right, and when."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.errors import ApiError, ExtenderError
from extender.core.metrics import Metrics
from extender.core.model.keys import Identity
from extender.core.model.objects import Pod as ModelPod
from extender.core.warm_up import WarmUp
from extender.features.scale_down import COST_ANNOTATION, GIVEN_COST_ANNOTATION, controller
from extender.features.scale_down.controller import (
    FAILED_SECONDS,
    REST_SECONDS,
    CostController,
    CostLimits,
)
from extender.features.scale_down.cost import COST, DeletionCost
from extender.features.scale_down.ledger import Replica
from extender.features.scale_down.part import Ranking
from extender.features.scale_down.rules import Correction, corrections
from tests.builders import (
    ZONE,
    Pod,
    model_namespace,
    model_node,
    namespace,
    node,
    pod,
    selector,
    term,
)
from tests.features.scale_down import ranked
from tests.features.scale_down.ranked import READER, ranked_state, replicas_in
from tests.leading import Leader

SETTLE = 60.0
WEB = selector(app="web")


def replica(
    name: str,
    cost: int | None = None,
    *,
    namespace: str = "default",
    owner: str = "web",
    on: str = "a",
) -> Pod:
    """Build a placed replica, with a cost that we gave."""
    made = pod(name, namespace).labels(app="web").avoids(1, term(ZONE, WEB)).on(on)
    made = made.owned_by(f"ReplicaSet/{owner}")
    if cost is None:
        return made
    return made.annotated(COST_ANNOTATION, f"{cost}").annotated(GIVEN_COST_ANNOTATION, f"{cost}")


class Costs:
    """Writes costs as the API server would, and misbehaves on request."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.written: list[tuple[str, int | None, int]] = []
        self.answer: Callable[[], bool | Exception] = lambda: True
        self.answered_after: Callable[[], None] = lambda: None
        """Lets the time pass that an answer takes."""

    async def write(self, pod: Identity, before: int | None, cost: int) -> bool:
        self.answered_after()
        answer = self.answer()
        if isinstance(answer, Exception):
            raise answer
        known = self.state.pod(*pod)
        if not answer or known is None:
            return False
        self.written.append((pod.key, before, cost))
        self.state.upsert_pod(ranked.costing(known, DeletionCost(cost, given=True)))
        return True


class Rig:
    """A controller, and all that it acts on."""

    def __init__(self, *pods: Pod, per_minute: int = 100) -> None:
        self.now = 1000.0
        self.state = ranked_state()
        self.state.upsert_node(model_node(node("a", {ZONE: "a"})))
        self.show(*pods)
        self.costs, self.leader, self.unready = Costs(self.state), Leader(), ""
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry)
        context = ControllerContext(
            self.state,
            (),
            metrics,
            WarmUp(self.state, metrics),
            History(),
            Clocks(lambda: self.now, lambda: self.now, lambda: 0.0),
        )
        self.controller = CostController(
            context,
            replicas_in(self.state),
            self.costs,
            self.leader,
            CostLimits(SETTLE, per_minute),
            patches=Ranking.metrics(metrics.make),
            unready=lambda: self.unready or None,
        )

    def show(self, *pods: Pod) -> None:
        """Show pods as the watch does."""
        for each in pods:
            self.state.upsert_pod(READER.read(json.dumps(each).encode()))

    async def after(self, seconds: float) -> list[tuple[str, int | None, int]]:
        """Let time pass, and return what is written at its end."""
        while await self.controller.process_next():
            pass
        self.now += seconds
        before = len(self.costs.written)
        for _ in range(100):
            if not await self.controller.process_next():
                break
        return self.costs.written[before:]

    def count(self, result: str) -> float | None:
        name = "affinity_extender_deletion_cost_patches_total"
        return self.registry.get_sample_value(name, {"result": result})


IN_ORDER = [replica("p1", -1000), replica("p2", -2000), replica("p3", -3000)]
FILLED = ("default/p3", -3000, -1000)
TIMED_OUT = ExtenderError("no answer")


async def test_a_gap_is_filled_when_things_have_settled() -> None:
    rig = Rig(*IN_ORDER)
    assert await rig.after(LOOK_SECONDS) == []
    assert await rig.after(SETTLE) == []
    rig.state.remove_pod("default/p1", "default-p1")
    assert await rig.after(LOOK_SECONDS) == []
    assert await rig.after(SETTLE - LOOK_SECONDS) == []
    assert await rig.after(LOOK_SECONDS) == [FILLED]
    assert rig.count("written") == 1
    assert await rig.after(2 * SETTLE) == []


async def test_new_pods_get_their_first_cost() -> None:
    rig = Rig(replica("p1"), replica("p2"))
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [
        ("default/p1", None, -1000),
        ("default/p2", None, -2000),
    ]


async def test_only_the_leader_writes_and_who_takes_the_lead_looks_at_all() -> None:
    rig = Rig(*IN_ORDER[1:])
    rig.leader.leads = False
    await rig.after(LOOK_SECONDS)
    assert await rig.after(2 * SETTLE) == []
    rig.leader.leads = True
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [FILLED]


async def test_who_takes_the_lead_again_looks_at_what_it_had_set_aside() -> None:
    rig = Rig(*IN_ORDER[1:])
    await rig.after(LOOK_SECONDS)
    rig.leader.leads = False
    assert await rig.after(2 * SETTLE) == []
    rig.leader.leads = True
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [FILLED]


@pytest.mark.parametrize("first", [pytest.param(0, id="before"), pytest.param(1, id="within")])
async def test_a_lead_that_lapses_between_two_looks_leaves_no_controller_behind(first: int) -> None:
    rig = Rig(replica("p1"), replica("p2"))

    def lapse() -> bool:
        rig.leader.leads = False
        return False

    await rig.after(LOOK_SECONDS)
    rig.now += SETTLE
    assert await rig.controller.process_next(), "the look at what has changed"
    rig.leader.leads = bool(first)
    rig.costs.answer = lapse
    assert await rig.controller.process_next()
    rig.costs.answer = lambda: True
    rig.leader.leads = True
    await rig.after(LOOK_SECONDS)
    await rig.after(SETTLE)
    assert {each for each, *_ in rig.costs.written} == {"default/p1", "default/p2"}


async def test_who_loses_the_lead_stops_at_once() -> None:
    rig = Rig(replica("p1"), replica("p2"))

    def lose() -> bool:
        rig.leader.leads = False
        return True

    rig.costs.answer = lose
    await rig.after(LOOK_SECONDS)
    assert len(await rig.after(SETTLE)) == 1


async def test_nothing_is_written_by_a_picture_that_is_not_whole() -> None:
    rig = Rig(*IN_ORDER[1:])
    rig.unready = "pods not synced yet"
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == []
    rig.unready, rig.state.stale = "", "too old"
    assert await rig.after(REST_SECONDS) == []
    rig.state.stale = None
    assert await rig.after(REST_SECONDS) == [FILLED]


@pytest.mark.parametrize(
    ("answer", "result", "after"),
    [
        pytest.param(ApiError(403, "Forbidden", "no"), "failed", FAILED_SECONDS, id="no right"),
        pytest.param(TIMED_OUT, "failed", FAILED_SECONDS, id="no answer"),
        # A status, for one: it changes nothing that costs depend on.
        pytest.param(False, "changed", REST_SECONDS, id="another writer came first"),
    ],
)
async def test_what_was_not_written_is_written_later_with_no_event_in_between(
    answer: Exception | bool, result: str, after: float
) -> None:
    rig = Rig(*IN_ORDER[1:])
    rig.costs.answer = lambda: answer
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == []
    assert rig.count(result) == 1
    rig.costs.answer = lambda: True
    assert await rig.after(after - 1.0) == []
    assert await rig.after(1.0) == [FILLED]
    assert await rig.after(10 * SETTLE) == []


@pytest.mark.parametrize("status", [403, 422])
async def test_a_pod_that_admission_refuses_keeps_no_other_of_its_controller_waiting(
    status: int,
) -> None:
    rig = Rig(replica("p1"), replica("p2"))
    refused = ApiError(status, "Invalid", "metadata.annotations: Too long")
    answers: Iterator[bool | Exception] = iter((refused, True))
    rig.costs.answer = lambda: next(answers)
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [("default/p2", None, -2000)]
    rig.costs.answer = lambda: True
    assert await rig.after(FAILED_SECONDS) == [("default/p1", None, -1000)]


async def test_an_api_server_that_does_not_answer_is_asked_once_for_a_controller() -> None:
    rig = Rig(replica("p1"), replica("p2"))
    rig.costs.answer = lambda: TIMED_OUT
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == []
    assert rig.count("failed") == 1


async def test_so_many_in_a_minute_and_half_of_them_in_one_namespace() -> None:
    pods = [
        replica(f"p{number}", namespace=namespace, owner=f"web-{number}")
        for namespace in ("one", "two", "three")
        for number in range(4)
    ]
    rig = Rig(*pods, per_minute=6)
    await rig.after(LOOK_SECONDS)
    minutes = [[key.partition("/")[0] for key, *_ in await rig.after(SETTLE)] for _ in range(4)]
    of_one = [each.count(name) for each in minutes for name in ("one", "two", "three")]
    assert max(map(len, minutes)) == len(minutes[0]) == 6
    assert max(of_one) == 3
    assert sum(of_one) == len(pods)


@pytest.mark.parametrize("seed", range(5))
async def test_no_minute_has_more_patches_whose_pods_ever_come(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance, most, names = Random(seed), 6, ("one", "two", "three")
    rig = Rig(per_minute=most)
    ended: list[tuple[float, str]] = []
    write = rig.costs.write

    async def recorded(pod: Identity, before: int | None, cost: int) -> bool:
        rig.now += chance.choice([0.0, 3.0])
        rig.costs.answer = lambda: True if number % 3 else ApiError(500, "InternalError", "broken")
        try:
            return await write(pod, before, cost)
        finally:
            ended.append((rig.now, pod.key.partition("/")[0]))

    monkeypatch.setattr(rig.costs, "write", recorded)
    for number in range(150):
        if chance.random() < 0.7:
            name = chance.choice(names)
            rig.show(replica(f"p{number}", namespace=name, owner=f"web-{number}"))
        await rig.after(chance.choice([1.0, 2.0, 10.0]))
    assert len(ended) > 5 * most
    for at, _ in ended:
        minute = [name for other, name in ended if at <= other < at + 60]
        assert len(minute) <= most
        assert max(map(minute.count, names)) <= most // 2


async def test_a_minute_counts_from_when_a_patch_was_certainly_carried_out() -> None:
    rig = Rig(replica("p", owner="one"), replica("q", owner="two"), per_minute=2)

    def slowly() -> None:
        rig.now += 4.0

    rig.costs.answered_after = slowly
    await rig.after(LOOK_SECONDS)
    assert len(await rig.after(SETTLE)) == 1
    assert await rig.after(59.0) == []
    assert len(await rig.after(1.0)) == 1


async def test_one_controller_with_many_pods_lets_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controller, "MOST_A_TURN", 2)
    rig = Rig(*(replica(f"p{number}") for number in range(3)), replica("q", owner="other"))
    await rig.after(LOOK_SECONDS)
    assert len(await rig.after(SETTLE)) == 3
    assert len(await rig.after(REST_SECONDS)) == 1


def label(state: ClusterState, zones: Mapping[str, str | None]) -> None:
    """Give nodes the label of a zone, or take it away."""
    for name, zone in zones.items():
        state.upsert_node(model_node(node(name, {} if zone is None else {ZONE: zone})))


HOSTS = ("a", "b", "c")


async def test_after_nodes_are_relabelled_a_scale_down_to_three_leaves_one_pod_in_each_zone() -> (
    None
):
    rig = Rig()
    label(rig.state, dict.fromkeys(HOSTS, "a"))
    costs = iter(range(-1000, -10_000, -1000))
    rig.show(*(replica(f"{on}{n}", next(costs), on=on) for on in HOSTS for n in range(3)))
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == []
    label(rig.state, dict(zip(HOSTS, HOSTS, strict=True)))
    await rig.after(LOOK_SECONDS)
    assert len(await rig.after(SETTLE)) == 6
    pods = [each for each in rig.state.pods.values() if each.facet(COST) is not None]
    assert len(pods) == 9
    pods.sort(key=lambda each: -(each.facet(COST) or (0,))[0])
    assert {each.node for each in pods[:3]} == {*HOSTS}


async def test_a_node_that_goes_or_comes_back_has_its_controllers_looked_at() -> None:
    rig = Rig()
    label(rig.state, {"b": "a"})
    rig.show(replica("p1", -1000, on="b"), replica("p2", -2000), replica("p3", -3000))
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == []
    rig.state.remove_node("b")
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [FILLED]
    label(rig.state, {"b": "a"})
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [("default/p3", -1000, -3000)]


async def test_a_relabelled_namespace_has_its_controllers_looked_at() -> None:
    rig, team = Rig(), {"team": "a"}
    rig.state.upsert_namespace(model_namespace(namespace("default")))
    apart = term(ZONE, WEB, namespaceSelector={"matchLabels": team})
    rig.show(pod("p").labels(app="web").avoids(1, apart).owned_by("ReplicaSet/web").on("a"))
    rig.show(replica("q", -1000, namespace="other"))
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [], "no pod of this namespace matches"
    rig.state.upsert_namespace(model_namespace(namespace("default", team)))
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == [("default/p", None, -1000)]


async def test_of_a_zone_with_very_many_nodes_each_controller_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(per_minute=10)
    names = [f"n{number}" for number in range(3_000)]
    label(rig.state, dict.fromkeys(names, "old"))
    for number, name in enumerate(names):
        rig.show(replica(f"p{number}", -1000 * (number // 3 + 1), owner=f"{number % 3}", on=name))
    await rig.after(LOOK_SECONDS)
    assert await rig.after(SETTLE) == []
    looks = Counter[str]()

    def looked(state: ClusterState, replicas: Collection[Replica]) -> list[Correction]:
        looks[next(iter(replicas)).key] += 1
        return corrections(state, replicas)

    monkeypatch.setattr(controller, "corrections", looked)
    counted: list[str] = []
    replicas = replicas_in(rig.state)
    count = replicas.placed

    def counting(pod: ModelPod, node: str, amount: int) -> None:
        counted.append(node)
        count(pod, node, amount)

    monkeypatch.setattr(replicas, "placed", counting)
    label(rig.state, {name: f"zone-{number}" for number, name in enumerate(names)})
    assert counted == names, "an event costs the pods of its node"
    await rig.after(LOOK_SECONDS)
    assert len(await rig.after(SETTLE)) == 5, "half of the patches of a minute, in one namespace"
    assert set(looks.values()) == {1}
    counted.clear()
    for name in names:
        labels = {**rig.state.nodes.labels(name), "example.com/kernel": "6"}
        rig.state.upsert_node(model_node(node(name, labels)))
    assert counted == [], "no rule is over that label"
