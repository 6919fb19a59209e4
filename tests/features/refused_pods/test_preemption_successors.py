"""Victims with controllers: a successor comes at once, and is tried before the preemptor."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from extender.core.cluster.ledgers.nominated_pods import MOST_HELD_SECONDS
from extender.core.errors import ApiError
from extender.core.timing import LONGEST_PAUSE_SECONDS
from extender.core.verbs.filtering import judge
from extender.features.refused_pods.victim_sets import (
    BINDING_SECONDS,
    EVICTING_SECONDS,
    MOST_SETS,
)
from tests.builders import ZONE, Pod, model_pod, pod, selector, term
from tests.features.refused_pods.preempting import PreemptionRig
from tests.important_pods import HIGH, LOW, plain, server
from tests.verbs.judging import AFFINITY

WEB = selector(app="web")
ZONES = ("z1", "z2", "z3")
NODES = [server(f"{zone}-{n}", zone) for zone in ZONES for n in (1, 2)]
NAMES = [f"{zone}-{n}" for zone in ZONES for n in (1, 2)]


def web(name: str, priority: int = LOW) -> Pod:
    """Build a pod that wants no other web pod in its zone."""
    return pod(name).labels(app="web").priority(priority).anti_affinity(term(ZONE, WEB))


REPLICAS = [web(f"web-{zone}").on(f"{zone}-1").owned_by("ReplicaSet/web") for zone in ZONES]
PREEMPTOR = web("important", HIGH)


class ReplicaSet:
    """Makes a successor of each pod that is deleted; the scheduler tries it at once, each time."""

    def __init__(self, rig: PreemptionRig) -> None:
        self._rig = rig
        self._numbers: Iterator[int] = itertools.count()
        self._left = {each.uid for each in rig.api.pods.values() if each.spec.owner is not None}
        self.waiting: list[str] = []

    def act(self) -> None:
        """Let successors come for those that are gone or going, and place whom filter lets in."""
        api = self._rig.api
        live = {each.uid for each in api.pods.values() if not each.status.deleting}
        for uid in self._left - live:
            self._left.discard(uid)
            name = f"successor-{next(self._numbers)}"
            api.pods[f"default-{name}"] = model_pod(web(name).owned_by("ReplicaSet/web"))
            self.waiting.append(name)
        api.show()
        for name in [*self.waiting]:
            state = self._rig.state
            asks = state.pods[f"default/{name}"]
            fits = judge(state, asks, state.nodes.asked(NAMES), AFFINITY).fits.names
            if fits:
                api.bind(name, fits[0])
                self.waiting.remove(name)
                self._left.add(f"default-{name}")


async def run(rig: PreemptionRig, replicas: ReplicaSet, looks: int) -> None:
    """Let everybody act in turn, the successors before the preemptor."""
    for _ in range(looks):
        await rig.tick()
        for uid in [each.uid for each in rig.api.pods.values() if each.status.deleting]:
            rig.api.end(uid)
        replicas.act()
        state = rig.state
        asks = state.pods.get("default/important")
        if asks is not None and asks.node is None:
            if judge(state, asks, state.nodes.asked(NAMES), AFFINITY).fits.names:
                continue
            rig.refuse()


@pytest.mark.parametrize("grace", [False, True])
async def test_a_successor_does_not_take_another_node_of_the_domain(*, grace: bool) -> None:
    rig = PreemptionRig(NODES, *REPLICAS, PREEMPTOR)
    rig.api.grace = grace
    replicas = ReplicaSet(rig)
    rig.refuse()
    await run(rig, replicas, 8)
    assert len(rig.evicted()) == 1
    assert replicas.waiting == ["successor-0"]
    node = rig.state.pods["default/important"].status.nominated
    asks = rig.state.pods["default/important"]
    assert node in judge(rig.state, asks, rig.state.nodes.asked(NAMES), AFFINITY).fits.names
    rig.api.bind("important", str(node))
    await run(rig, replicas, 4)
    assert (rig.counts(), len(rig.evicted())) == ({"started": 1, "bound": 1}, 1)
    assert not rig.state.nominated.preempting
    assert replicas.waiting == ["successor-0"], "its zone is taken now"


async def test_another_replica_holds_the_domain_too() -> None:
    one = PreemptionRig(NODES, *REPLICAS, PREEMPTOR)
    two = PreemptionRig(NODES, *REPLICAS, PREEMPTOR, api=one.api)
    two.api.grace = True
    one.refuse()
    await one.tick(2)
    (victim,) = one.evicted()
    one.api.end(f"default-{victim}")
    asks = model_pod(web("successor"))
    assert not judge(two.state, asks, two.state.nodes.asked(NAMES), AFFINITY).fits.names


async def test_a_pod_that_is_never_bound_holds_no_domain_for_long() -> None:
    rig = PreemptionRig(NODES, *REPLICAS, PREEMPTOR)
    rig.refuse()
    await rig.tick(2)
    assert rig.state.nominated.preempting
    await rig.pass_time(BINDING_SECONDS)
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}
    assert not rig.state.nominated.preempting


async def test_victims_that_take_their_time_hold_no_domain_for_long() -> None:
    rig = PreemptionRig(NODES, *REPLICAS, PREEMPTOR)
    rig.api.grace = True
    rig.refuse()
    await rig.tick(2)
    for _ in range(int(MOST_HELD_SECONDS)):
        await rig.pass_time(1.0)
    assert not rig.state.nominated.preempting
    assert rig.state.nominated.pods, "the nomination holds the node as before"
    rig.api.wiped_out("important")
    await rig.tick(8)
    assert not rig.state.nominated.preempting
    assert len(rig.evicted()) == 1


async def take_the_place(rig: PreemptionRig, number: int) -> None:
    """Let somebody as important take the zone whose victim is gone."""
    node = rig.state.pods["default/important"].status.nominated
    assert node is not None
    rock = web(f"rock-{number}", HIGH).on(node)
    rig.api.pods[f"default-rock-{number}"] = model_pod(rock)
    rig.api.show()


async def test_no_more_than_so_many_sets_go_for_one_pod() -> None:
    nodes = [server(f"n{n}", f"z{n}") for n in range(6)]
    there = [web(f"web-{n}").on(f"n{n}") for n in range(6)]
    rig = PreemptionRig(nodes, *there, PREEMPTOR)
    for number in range(6):
        rig.refuse()
        await rig.pass_time(LONGEST_PAUSE_SECONDS)
        if rig.state.pods["default/important"].status.nominated is not None:
            await take_the_place(rig, number)
        await rig.tick(2)
    assert len(rig.evicted()) == MOST_SETS
    assert rig.counts() == {"started": MOST_SETS, "useless": MOST_SETS, "exhausted": 1}
    assert rig.done("report") == ["report important PreemptionStopped"]
    assert rig.api.notes[-1].startswith("The extender evicts no more pods for this one")
    # A pod of the same name is another one.
    rig.api.end("default-important")
    again = PREEMPTOR.uid("again")
    rig.api.pods["again"] = model_pod(again)
    rig.api.show()
    rig.refuse()
    await rig.pass_time(LONGEST_PAUSE_SECONDS)
    assert len(rig.evicted()) == MOST_SETS + 1


async def test_sets_of_which_nobody_went_are_not_counted() -> None:
    rig = PreemptionRig([server("a")], web("on-a").on("a"), PREEMPTOR)
    for number in range(MOST_SETS + 1):
        rig.refuse()
        async with rig.held_at("mark"):
            rig.api.pods["default-rock"] = model_pod(web("rock", HIGH).on("a"))
            rig.api.show()
        await rig.tick(2)
        assert (rig.counts(), rig.evicted()) == ({"started": number + 1, "useless": number + 1}, [])
        rig.controller.admitted(model_pod(PREEMPTOR))
        rig.api.end("default-rock")
        await rig.pass_time(LONGEST_PAUSE_SECONDS)


async def test_sets_of_which_a_part_went_are_counted() -> None:
    rig = PreemptionRig([server("a")], plain("stays", "a"), PREEMPTOR)
    refused = ApiError(500, "InternalError", "because")
    rig.api.fails = lambda call: refused if call == "delete stays" else None
    for number in range(MOST_SETS):
        for name in ("stays", f"goes-{number}"):
            rig.api.pods[f"default-{name}"] = model_pod(web(name).on("a"))
        rig.api.show()
        rig.refuse()
        await rig.pass_time()
        await rig.pass_time(EVICTING_SECONDS)
        await rig.tick(2)
        await rig.pass_time(LONGEST_PAUSE_SECONDS)
    assert rig.evicted() == [f"goes-{number}" for number in range(MOST_SETS)]
    assert rig.counts().get("exhausted") == 1


@pytest.mark.parametrize("looks", [0, 1])
async def test_nobody_goes_for_a_pod_that_is_being_deleted(looks: int) -> None:
    rig = PreemptionRig(NODES, *REPLICAS, PREEMPTOR)
    rig.refuse()
    async with rig.held_at("nominate" if looks else "mark"):
        rig.api.pods["default-important"] = model_pod(PREEMPTOR.being_deleted())
        rig.api.show()
    await rig.pass_time(LONGEST_PAUSE_SECONDS)
    assert rig.evicted() == []
    assert not rig.state.nominated.preempting
