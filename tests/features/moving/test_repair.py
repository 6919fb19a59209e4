"""Pods that sit worse than they have to are moved: few, seldom, and never to and fro."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from random import Random

import pytest
from msgspec import structs
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.errors import ApiError
from extender.core.metrics import Metrics
from extender.core.model.keys import key_of
from extender.core.model.objects import Pod as ModelPod
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.nominating import Chooser
from extender.core.warm_up import OverBudgetError, WarmUp
from extender.core.wire.objects import PodReader
from extender.features.moving.mover import EvictionLimits
from extender.features.moving.moves import PROVEN_SECONDS
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.repair import RepairController
from extender.features.moving.repair_mover import RepairLimits
from extender.features.moving.rules.execution import Execution
from extender.features.moving.rules.improving import steered
from extender.features.moving.turns import EvictionTurns
from tests.beside import RULES
from tests.builders import HOST, ZONE, Pod, model_node, node, pod, selector, term
from tests.features.moving.booked import shared_over
from tests.features.moving.evicting import Mover
from tests.leading import Leader

SETTLE, REST = 30.0, 10.0
WEB = selector(app="web")
PLUGINS = (InterPodAffinity(), NodeSelectionPlugin())


class Rig:
    """A cluster whose pods are replaced and placed at once, and what moves them."""

    def __init__(
        self, *, per_minute: int = 100, share: float = 1.0, dry_run: bool = False, margin: int = 1
    ) -> None:
        self.now = 1000.0
        self.state = ClusterState()
        self.mover, self.leader = Mover(self.state), Leader()
        self.registry, self.history = CollectorRegistry(), History()
        self.reader = PodReader(node_selection=True, owners=True, requirements=True, rules=RULES)
        self.numbers = count()
        self.places: Callable[[ModelPod], str | None] = self.best_node
        """Where the scheduler puts a pod; None: it waits."""
        self.replaces = True
        self.starts: Callable[[ModelPod], float | None] = lambda _: 0.0
        """After how many seconds a placed pod is ready, None: never."""
        self.starting: list[tuple[float, ModelPod]] = []
        self.lost: list[ModelPod] = []
        metrics, clock = Metrics(self.registry), lambda: self.now
        context = ControllerContext(
            self.state,
            PLUGINS,
            metrics,
            WarmUp(self.state, metrics),
            self.history,
            Clocks(clock, clock, lambda: 0.0, self.sleep),
        )
        shared = shared_over(self.state, Execution(), metrics, self.mover)
        self.successors = shared.books.successors
        self.turns = EvictionTurns.of(self.leader, shared.books, per_minute, clock, dry_run=dry_run)
        self.askers = {"default-scheduler"}
        """The schedulers that have asked lately."""
        self.controller = RepairController(
            context,
            shared,
            self.turns,
            limits=RepairLimits(margin, SETTLE, REST),
            eviction=EvictionLimits(per_minute, 0, share, dry_run),
            asks=lambda scheduler: scheduler in self.askers,
            holds=lambda _: False,
            unready=lambda: None,
        )
        self.mover.answer = self.evicted

    async def sleep(self, seconds: float) -> None:
        """Let no time pass: rounds are taken by `after`."""

    def evicted(self, gone: ModelPod) -> Eviction:
        """Have a controller make another pod, and the scheduler place it, once this one is gone."""
        self.lost.append(gone)
        return Eviction(Evicted.DONE)

    def best_node(self, made: ModelPod) -> str | None:
        """Place a pod by the scores that its prioritize call is answered with."""
        chooser = Chooser(self.state, PLUGINS)
        takers = list(chooser.takers(made))
        assert self.successors.expects(made)
        scored = steered(self.state, made, self.state.nodes.asked(takers), 20)
        points = zip(scored.names, scored.raw, strict=True)
        best = {name: scored.final[raw] for name, raw in points}
        return max(takers, key=lambda name: best.get(name, 0), default=None)

    def make(self, app: str, on: str, *, weight: int = 100, key: str = ZONE) -> None:
        name = f"{app}-{next(self.numbers)}"
        raw = pod(name, app).labels(app="web").avoids(weight, term(key, WEB))
        self.put(raw.owned_by(f"ReplicaSet/{app}").on(on).ready())

    def put(self, raw: Pod) -> None:
        self.state.upsert_pod(self.reader.read(json.dumps(raw).encode()))

    async def after(self, seconds: float) -> None:
        """Let time pass, a round a second."""
        for _ in range(int(seconds)):
            self.lost = []
            await self.controller.round()
            for gone in self.lost:
                if self.replaces and gone.uid in self.mover.evicted:
                    name = f"{gone.pod_class.namespace}-{next(self.numbers)}"
                    key = key_of(gone.pod_class.namespace, name)
                    made = structs.replace(gone, key=key, uid=f"{key}-uid", node=None)
                    self.state.upsert_pod(made.with_status(ready=False))
                    self.start(made, self.places(made))
            self.now += 1.0
            for due, made in self.starting:
                if due <= self.now and self.state.pod(made.key, made.uid) is not None:
                    self.state.upsert_pod(made)
            self.starting = [each for each in self.starting if each[0] > self.now]

    def start(self, made: ModelPod, on: str | None) -> None:
        """Place a pod, and have it ready when it is due."""
        placed = structs.replace(made, node=on)
        self.state.upsert_pod(placed.with_status(ready=False))
        after = self.starts(placed)
        if on is not None and after is not None:
            self.starting.append((self.now + after, placed.with_status(ready=True)))

    def zones(self, app: str) -> list[int]:
        """Return how many pods an app has in each zone, the fewest first."""
        found = Counter(
            self.state.nodes.labels(each.node or "").get(ZONE)
            for each in self.state.pods.values()
            if each.pod_class.namespace == app and each.node
        )
        return sorted(found.values())

    def counted(self, result: str) -> float | None:
        labels = {"plugin": "PreferredDuringExecution", "result": result}
        return self.registry.get_sample_value("affinity_extender_evictions_total", labels)

    def repaired(self, result: str) -> float | None:
        """Return how many successors were better off, or were not."""
        return self.registry.get_sample_value("affinity_extender_repairs_total", {"result": result})

    def outcomes(self) -> dict[str, str]:
        """Return what keeps each controller's move, by namespace."""
        return {
            found.pod.pod_class.namespace: each.outcome.value
            for found, each in self.controller.prospects
        }


def with_zones(hosts: int = 3, pods: int = 110, **options: object) -> Rig:
    """Build three zones."""
    rig = Rig(**options)  # type: ignore[arg-type]
    for zone in "abc":
        for number in range(hosts):
            add_node(rig, zone, number, pods)
    return rig


def add_node(rig: Rig, zone: str, number: int, pods: int = 110) -> None:
    name = f"{zone}{number}"
    room = {"pods": str(pods), "cpu": "64"}
    rig.state.upsert_node(model_node(node(name, {HOST: name, ZONE: zone}, room)))


def fill(rig: Rig, app: str, nodes: Sequence[str]) -> None:
    for each in nodes:
        rig.make(app, each)


async def test_a_pod_moves_once_its_better_place_has_been_there_for_a_while() -> None:
    rig = with_zones()
    fill(rig, "web", ["a0", "a1"])
    await rig.after(SETTLE)
    assert (rig.mover.evicted, rig.outcomes()) == ([], {"web": "grace"})
    await rig.after(2)
    (gone,) = rig.mover.evicted
    assert rig.zones("web") == [1, 1]
    (note,) = rig.mover.notes("EvictedByPreferredRule")
    assert note.startswith("its preferred rules are met better on another node, by 100 in their")
    await rig.after(3600)
    assert rig.mover.evicted == [gone]
    assert (rig.counted("evicted"), rig.repaired("landed"), rig.repaired("missed")) == (1, 1, 0)
    assert {each.result for each in rig.history.latest()} == {"evicted", "landed"}


async def test_a_zone_that_comes_back_is_filled_with_the_fewest_moves_then_there_is_silence() -> (
    None
):
    rig = with_zones(per_minute=400)
    apps = [f"app-{number}" for number in range(10)]
    for app in apps:
        fill(rig, app, [f"{zone}{number % 3}" for zone in "ab" for number in range(15)])
    await rig.after(SETTLE + 10 * (PROVEN_SECONDS + REST + 4))
    assert [rig.zones(app) for app in apps] == [[10, 10, 10]] * 10
    assert len(rig.mover.evicted) == 100
    await rig.after(3600)
    assert len(rig.mover.evicted) == 100
    assert rig.repaired("missed") == 0


async def test_what_passes_before_it_has_settled_moves_nobody() -> None:
    rig = with_zones()
    await rig.after(100)
    for _ in range(20):
        fill(rig, "web", ["a0", "a1"])
        await rig.after(SETTLE - 5)
        for each in list(rig.state.pods.values()):
            rig.state.remove_pod(each.key, each.uid)
        await rig.after(2)
    assert rig.mover.tried == []


@pytest.mark.parametrize("gone", [False, True], ids=["it stays better", "it is gone for a moment"])
async def test_a_place_that_comes_back_during_a_rest_has_to_last_anew(*, gone: bool) -> None:
    rig = with_zones()
    rig.mover.answer = lambda _: ApiError(403, "Forbidden", "no")
    fill(rig, "web", ["a0", "a1"])
    await rig.after(SETTLE + 1)
    assert len(rig.mover.tried) == 1
    before = set(rig.state.pods)
    if gone:
        fill(rig, "web", ["b0", "c0"])
    await rig.after(2)
    for key in set(rig.state.pods) - before:
        rig.state.remove_pod(key, rig.state.pods[key].uid)
    await rig.after(SETTLE - 1)
    assert len(rig.mover.tried) == (1 if gone else 4)
    await rig.after(1)
    assert len(rig.mover.tried) == (2 if gone else 4)


async def test_one_of_a_controller_at_a_time_and_then_it_rests() -> None:
    rig = with_zones()
    fill(rig, "web", ["a0"] * 9)
    await rig.after(SETTLE + 2)
    assert len(rig.mover.evicted) == 1
    assert rig.outcomes() == {"web": "ownerBusy"}
    await rig.after(PROVEN_SECONDS + REST - 1)
    assert len(rig.mover.evicted) == 1
    assert rig.outcomes() == {"web": "rests"}
    await rig.after(3)
    assert len(rig.mover.evicted) == 2


async def test_a_successor_that_goes_back_costs_a_longer_rest_each_time() -> None:
    """Whatever keeps it from the better place, nobody is moved to and fro."""
    rig = with_zones()
    rig.places = lambda _: "a0"
    fill(rig, "web", ["a0", "a0"])
    fill(rig, "others", ["a0", "b0", "c0"] * 5)
    await rig.after(SETTLE + 2 + 3600)
    assert rig.repaired("landed") == 0
    # 10 s, then 40, 160, 640, 2,560 after the first, second ... move.
    assert len(rig.mover.evicted) == 5


async def test_misses_are_remembered_while_the_successor_waits() -> None:
    rig = with_zones()
    waiting: list[ModelPod] = []
    rig.places = waiting.append
    fill(rig, "web", ["a0", "a0"])
    fill(rig, "others", ["a0", "b0", "c0"] * 5)
    for _ in range(3600):
        await rig.after(1)
        if waiting and rig.now % 8 == 0:
            rig.state.upsert_pod(structs.replace(waiting.pop(), node="a0"))
    assert len(rig.mover.evicted) == 5


async def test_a_pod_whose_rules_take_too_long_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = with_zones()

    async def prepare(_: WarmUp, pod: ModelPod) -> None:
        if pod.pod_class.namespace == "costly":
            raise OverBudgetError("too many comparisons")

    monkeypatch.setattr(WarmUp, "prepare", prepare)
    fill(rig, "costly", ["a0", "a0"])
    fill(rig, "web", ["a0", "a0"])
    await rig.after(SETTLE + 3)
    assert [uid.partition("-")[0] for uid in rig.mover.evicted] == ["web"]
    assert rig.outcomes() == {"costly": "failed"}


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(OverBudgetError("too many comparisons"), id="rules that take too long"),
        pytest.param(ApiError(403, "Forbidden", "no"), id="it is forbidden"),
        pytest.param(Eviction(Evicted.CHANGED), id="it was changed meanwhile"),
        pytest.param(Eviction(Evicted.NOT_SENT), id="it was not sent"),
    ],
)
async def test_after_an_attempt_that_evicts_nobody_a_controller_rests(
    monkeypatch: pytest.MonkeyPatch, ends: Exception | Eviction
) -> None:
    rig, tried = with_zones(), [0.0]

    async def prepare(_: WarmUp, pod: ModelPod) -> None:
        del pod
        tried.append(rig.now)
        if isinstance(ends, OverBudgetError):
            raise ends

    monkeypatch.setattr(WarmUp, "prepare", prepare)
    rig.mover.answer = lambda _: ends
    fill(rig, "web", ["a0", "a1"])
    await rig.after(SETTLE + 5 * REST)
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses == [1000.0 + SETTLE, *[REST] * 4]


async def test_who_is_not_replaced_waits_for_nobody_for_ever() -> None:
    rig = with_zones()
    rig.replaces = False
    fill(rig, "web", ["a0", "a0", "a0"])
    await rig.after(SETTLE + 2)
    assert (len(rig.mover.evicted), rig.outcomes()) == (1, {"web": "ownerBusy"})
    await rig.after(70)
    assert rig.repaired("missed") == 1
    assert len(rig.successors) == 0


async def test_a_dry_run_tells_once_a_day_and_moves_nobody() -> None:
    rig = with_zones(dry_run=True)
    fill(rig, "web", ["a0", "a1"])
    await rig.after(3600)
    assert (len(rig.mover.tried), rig.mover.evicted) == (1, [])
    assert len(rig.mover.notes("WouldEvictByPreferredRule")) == 1
    assert len(rig.successors) == 0


async def test_a_budget_that_refuses_is_asked_less_and_less_often() -> None:
    rig = with_zones()
    rig.mover.answer = lambda _: Eviction(Evicted.REFUSED, "a budget", 20.0)
    fill(rig, "web", ["a0", "a1"])
    await rig.after(SETTLE + 2)
    assert rig.outcomes() == {"web": "budget"}
    await rig.after(3600)
    assert rig.mover.evicted == []
    assert 3 < len(rig.mover.tried) < 40


@pytest.mark.parametrize("status", [403, 504])
async def test_a_fault_of_the_api_server_evicts_nobody_twice(status: int) -> None:
    rig = with_zones()
    rig.mover.answer = lambda _: ApiError(status, "Nope", "no")
    fill(rig, "web", ["a0", "a1"])
    await rig.after(SETTLE + 2 + REST - 3)
    assert len(rig.mover.tried) == 1
    assert rig.outcomes() == {"web": "failed" if status == 403 else "ownerBusy"}


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        pytest.param(Eviction(Evicted.DONE), True, id="it is evicted"),
        pytest.param(Eviction(Evicted.GONE), True, id="it is gone, maybe by this request"),
        pytest.param(ApiError(504, "Timeout", "no answer"), True, id="nobody can tell"),
        pytest.param(Eviction(Evicted.REFUSED, "a budget"), False, id="a budget refuses"),
        pytest.param(Eviction(Evicted.CHANGED), False, id="it was changed meanwhile"),
        pytest.param(Eviction(Evicted.NOT_SENT), False, id="it was not sent"),
        pytest.param(ApiError(403, "Forbidden", "no"), False, id="it is forbidden"),
    ],
)
async def test_what_evicts_nobody_counts_in_no_minute_and_no_hour(
    answer: Eviction | ApiError, *, counts: bool
) -> None:
    rig = with_zones()
    rig.mover.answer = lambda _: answer
    fill(rig, "web", ["a0", "a1"])
    await rig.after(SETTLE + 2)
    assert len(rig.mover.tried) == 1
    assert rig.turns.window.recent == counts
    assert dict(rig.turns.moves.hour.moves) == ({"web": 1} if counts else {})


async def test_of_all_pods_no_more_are_moved_in_an_hour_than_may_be_affected() -> None:
    rig = with_zones(share=0.1)
    fill(rig, "web", ["a0"] * 15)
    fill(rig, "more", ["a0"] * 15)
    fill(rig, "even", ["a0", "b0", "c0"])
    await rig.after(3000)
    assert len(rig.mover.evicted) == 3
    assert rig.outcomes() == {"web": "paused", "more": "paused"}


async def test_of_one_namespace_half_of_that_is_moved_at_most() -> None:
    rig = with_zones(share=0.1)
    fill(rig, "web", ["a0"] * 60)
    for each in range(1_000):
        rig.put(pod(f"waits-{each}", "crowd"))
    await rig.after(3000)
    assert len(rig.mover.evicted) == 3


async def test_half_of_the_evictions_in_a_minute_are_left_for_required_rules() -> None:
    rig = with_zones(per_minute=6)
    for number in range(9):
        fill(rig, f"app-{number}", ["a0", "a0"])
    await rig.after(SETTLE + 3)
    assert len(rig.mover.evicted) == 3
    assert "waitsForTurn" in rig.outcomes().values()


async def test_whose_scores_a_move_changes_waits_for_it() -> None:
    """Two that avoid each other would both go to the same empty node, and back."""
    rig = with_zones(hosts=1)
    avoids = pod("one", "shared").labels(app="web").avoids(100, term(HOST, WEB)).on("a0")
    rig.put(avoids.owned_by("ReplicaSet/one"))
    other = {**avoids, "metadata": {**avoids["metadata"], "name": "two", "uid": "two"}}
    rig.put(Pod(other).owned_by("ReplicaSet/two"))
    await rig.after(SETTLE + 2)
    assert len(rig.mover.evicted) == 1
    await rig.after(600)
    assert len(rig.mover.evicted) == 1


async def test_of_two_pods_that_another_has_to_be_near_one_stays() -> None:
    """The watch has not shown that the first one goes when it is the turn of the second."""
    rig = with_zones()
    spaces = ["one", "two"]
    for space in spaces:
        cache = pod("cache", space).labels(app="web", role="cache").avoids(100, term(ZONE, WEB))
        rig.put(cache.owned_by(f"ReplicaSet/{space}").on("a0").ready())
        rig.put(pod("web", space).labels(app="web").on("a1"))
        rig.put(pod("more", space).owned_by(f"ReplicaSet/{space}").on("b0").ready())
    near = term(ZONE, selector(role="cache"), namespaces=spaces)
    rig.put(pod("near", "shop").affinity(near).on("a2"))
    rig.mover.answer = lambda _: Eviction(Evicted.GONE, "or going")
    await rig.after(SETTLE + 20)
    assert len(rig.mover.tried) == 1


async def test_without_the_lead_nobody_is_moved_and_with_it_all_waiting_begins_anew() -> None:
    rig = with_zones()
    rig.leader.leads = False
    fill(rig, "web", ["a0", "a1"])
    await rig.after(600)
    assert (rig.mover.tried, rig.outcomes()) == ([], {"web": "standby"})
    rig.leader.leads = True
    await rig.after(SETTLE)
    assert rig.mover.tried == []
    await rig.after(3)
    assert len(rig.mover.evicted) == 1


async def test_a_replica_without_the_lead_scores_successors_as_well() -> None:
    """The scheduler may ask it, and it does not hear whom the other one evicts."""
    rig = with_zones()
    rig.leader.leads = False
    fill(rig, "web", ["a0", "a1"])
    (gone, _) = rig.state.pods.values()
    made = structs.replace(gone, key=key_of("web", "new"), uid="new", node=None)
    await rig.after(SETTLE)
    assert not rig.successors.expects(made)
    await rig.after(2)
    assert rig.successors.expects(made)
    rig.state.remove_pod(gone.key, gone.uid)
    await rig.after(30)
    rig.state.upsert_pod(made)
    place = rig.best_node(made)
    assert place is not None
    assert place[0] != "a"
    rig.state.upsert_pod(structs.replace(made, node=place))
    await rig.after(62)
    assert len(rig.successors) == 0


async def test_a_pod_that_is_not_as_the_watch_has_shown_it_stays() -> None:
    rig = with_zones()
    fill(rig, "web", ["a0", "a1"])
    for name in ("a0", "a1"):
        rig.mover.objects.other[f"nodes/{name}"] = model_node(node(name, {HOST: name, ZONE: "b"}))
    await rig.after(SETTLE + 2)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"web": "unconfirmed"}
    assert rig.counted("unconfirmed") == 1


def of_another(name: str, on: str) -> Pod:
    """Build a pod that those of web avoid."""
    return pod(name, "web").labels(app="web").owned_by("ReplicaSet/other").on(on).ready()


def crowd_all_zones(rig: Rig) -> None:
    for zone in "bc":
        rig.put(of_another(f"other-{zone}", f"{zone}0"))


def have_it_deleted(rig: Rig) -> None:
    found = next(each for each in rig.state.pods.values() if each.uid == "web-web-0")
    rig.state.upsert_pod(found.with_status(deleting=True))


def lose_the_lead(rig: Rig) -> None:
    rig.leader.leads = False


@pytest.mark.parametrize(
    ("meanwhile", "evicted"),
    [
        pytest.param(lambda _: None, ["web-web-0"], id="nothing"),
        pytest.param(
            lambda rig: rig.state.remove_pod("web/web-1", "web-web-1"), [], id="no replica is left"
        ),
        pytest.param(crowd_all_zones, [], id="no place is better"),
        pytest.param(have_it_deleted, [], id="it is being deleted"),
        pytest.param(lose_the_lead, [], id="another replica leads"),
    ],
)
async def test_what_passes_while_an_eviction_is_prepared_counts(
    meanwhile: Callable[[Rig], None], evicted: list[str]
) -> None:
    rig = with_zones()
    for name in ("a0", "b0"):
        rig.make("web", name)
    rig.put(of_another("other-a", "a0"))
    rig.leader.meanwhile = lambda: meanwhile(rig)
    await rig.after(SETTLE + 1)
    assert rig.leader.asked == 1
    assert rig.mover.evicted == evicted


async def test_one_namespace_does_not_take_all_the_turns() -> None:
    rig = with_zones(per_minute=2)
    for number in range(5):
        raw = pod(f"x{number}", "greedy").labels(app="web").avoids(100, term(ZONE, WEB))
        rig.put(raw.owned_by(f"ReplicaSet/g{number}").on("a0"))
    fill(rig, "modest", ["a0", "a0"])
    await rig.after(SETTLE + 3 * 61)
    assert any(uid.startswith("modest") for uid in rig.mover.evicted)


@pytest.mark.thorough
async def test_churn_in_a_balanced_cluster_moves_nobody() -> None:
    """Rolling updates and scaling pass before they have settled: an hour, 200 events a second."""
    rig, random, crowded = with_zones(per_minute=6000), Random(7), 0
    apps = [f"app-{number}" for number in range(10)]
    for app in apps:
        fill(rig, app, [f"{zone}{number % 3}" for zone in "abc" for number in range(10)])
    for _ in range(360):
        # Ten seconds' events in one: pods are replaced, and mostly land where it is best.
        for _ in range(1_000):
            old = random.choice([*rig.state.pods.values()])
            rig.state.remove_pod(old.key, old.uid)
            key = key_of(old.pod_class.namespace, f"{old.pod_class.namespace}-{next(rig.numbers)}")
            made = structs.replace(old, key=key, uid=f"{key}-uid", node=None)
            takers = rig.state.nodes.asked([*rig.state.nodes])
            scored = steered(rig.state, made, takers, 20)
            best = [
                name
                for name, raw in zip(scored.names, scored.raw, strict=True)
                if scored.final[raw]
            ]
            lucky = best if best and random.randrange(20) else [*takers.names]
            rig.state.upsert_pod(structs.replace(made, node=random.choice(lucky)))
        await rig.after(1)
        rig.now += 9
        crowded += len(rig.outcomes())
    assert crowded > 100
    assert rig.mover.tried == []
