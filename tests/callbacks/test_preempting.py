"""The preempt callback, from the scheduler's request to its answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from prometheus_client import CollectorRegistry

from extender.core.callbacks.named_victims import LAG_SECONDS, MOST_REMEMBERED
from extender.core.callbacks.preempting import AT_ONCE, LOOKING_SECONDS, Preemptions
from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.model.disruption import Rank
from extender.core.model.objects import Pod as ModelPod
from extender.core.ports import Preemptor
from extender.core.verbs.plugins import Plugins
from extender.core.warm_up import AT_MOST, WarmUp
from extender.core.web.app import callbacks_app
from extender.core.wire.limits import OF_RULES
from tests.answering import Answering, requests_of
from tests.builders import (
    HOST,
    Json,
    Pod,
    model_node,
    model_pod,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.clock import Clock
from tests.hostile import crowded, hostile
from tests.important_pods import LOW, MIDDLE, db, important, plain, server
from tests.verbs.judging import AFFINITY

Client = TestClient[Request, Application]

NODES = [node(name, {HOST: name}) for name in ("a", "b")]
IMPORTANT = pod("new").priority(100).anti_affinity(term(HOST, selector(app="web")))
PODS = [
    pod("plain").on("a"),
    pod("web").labels(app="web").on("a"),
    pod("calm").on("b"),
    pod("firm").labels(app="web").priority(100).on("b"),
]
PROPOSED = {"a": ["default-plain"], "b": ["default-calm"]}
NOBODY: Json = {"NodeNameToMetaVictims": {}}


class PreemptRig:
    """Everything behind the callback."""

    def __init__(
        self,
        state: ClusterState | None = None,
        *,
        unready: str | None = None,
        may_be_empty: bool = False,
        plugins: Plugins = AFFINITY,
        preemption: Preemptor | None = None,
        ticks: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """With `ticks`, the clock by which the looks at candidates are cut into slices."""
        self.now = 0.0
        self.gone_meanwhile: list[str] = []
        """Pods whose ends the watch shows, one after the other, while a filter call waits."""
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, "test")
        self.state = state = state or state_of(NODES, [], PODS)
        preemptions = Preemptions(
            requests_of(
                state,
                metrics,
                unready=lambda: unready,
                warm_up=WarmUp(state, metrics, clock=ticks),
            ),
            plugins,
            may_be_empty=may_be_empty,
            clock=lambda: self.now,
            preemption=preemption,
        )
        self.preemptions = preemptions
        self._held = preemptions.held
        answers = Answering(
            state,
            metrics,
            plugins,
            unready=lambda: unready,
            held=self,
        )
        callbacks = {**answers.callbacks, "preempt": preemptions}
        self.app = callbacks_app(callbacks, metrics, 1 << 20)

    def waits_on(self, pod: Any) -> str | None:
        """Ask what is tested."""
        return self._held.waits_on(pod)

    async def catch_up(self, pod: Any) -> None:
        """Let the watch go on once a filter call waits for it."""
        asyncio.get_running_loop().call_soon(self._show_an_end)
        await self._held.catch_up(pod)

    def _show_an_end(self) -> None:
        if self.gone_meanwhile:
            name = self.gone_meanwhile.pop()
            self.state.remove_pod(f"default/{name}", f"default-{name}")
            asyncio.get_running_loop().call_soon(self._show_an_end)

    def observed(self, status: str) -> float | None:
        """Return how many calls ended with a status."""
        return self.registry.get_sample_value(
            "affinity_extender_plugin_execution_duration_seconds_count",
            {"plugin": "InterPodAffinity", "extension_point": "Preempt", "status": status},
        )


def question(incoming: Any, victims: dict[str, list[str]]) -> dict[str, Any]:
    """Ask about some nodes, as the scheduler does."""
    return {
        "Pod": incoming,
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {
            name: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0}
            for name, uids in victims.items()
        },
    }


def asking_for_a_device(asking: Pod) -> Pod:
    """Let a pod ask for what only the scheduler knows."""
    claims = Pod(asking)
    claims["spec"] = {**claims["spec"], "resourceClaims": [{"name": "gpu"}]}
    return claims


async def ask(client: Client, body: Any, verb: str = "preempt") -> Any:
    """Ask, and check what Go relies on in every answer."""
    response = await client.post(f"/{verb}", json=body)
    assert response.status == 200
    assert response.headers["Content-Length"] == str(len(await response.read()))
    return await response.json()


async def test_victims_for_a_pod_that_is_on_its_node_already_are_the_schedulers_alone(
    aiohttp_client: Any,
) -> None:
    """kube-scheduler 1.37 can make room for one whose resize is deferred."""
    rig = PreemptRig()
    there = IMPORTANT.on("a")
    answer = await ask(await aiohttp_client(rig.app), question(there, {"a": ["default-plain"]}))
    assert answer == {
        "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "default-plain"}], "NumPDBViolations": 0}}
    }


async def test_a_node_is_kept_with_who_else_has_to_go(aiohttp_client: Any) -> None:
    rig = PreemptRig()
    answer = await ask(await aiohttp_client(rig.app), question(IMPORTANT, PROPOSED))
    assert answer == {
        "NodeNameToMetaVictims": {
            "a": {
                "Pods": [{"UID": "default-plain"}, {"UID": "default-web"}],
                "NumPDBViolations": 0,
            }
        }
    }
    assert rig.observed("Success") == 1


async def test_whole_pods_are_answered_by_their_uids(aiohttp_client: Any) -> None:
    client = await aiohttp_client(PreemptRig().app)
    body = {"Pod": IMPORTANT, "NodeNameToVictims": {"a": {"Pods": [PODS[1]]}}}
    assert await ask(client, body) == {
        "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "default-web"}], "NumPDBViolations": 0}}
    }


NAMED = question(important(), {"a": ["default-web-1"]})
"""By the scheduler, for lack of room, or for a rule that only it knows, as of even spread."""


async def victims_on_a(rig: PreemptRig, body: Any) -> list[str]:
    """Answer without a server; return who goes."""
    answer = json.loads(await rig.preemptions.answer(json.dumps(body).encode()))
    return [each["UID"] for each in answer["NodeNameToMetaVictims"]["a"]["Pods"]]


@pytest.mark.parametrize(
    ("there", "asking", "gone"),
    [
        pytest.param(
            [db("blocker", "a", MIDDLE), plain("web-1", "a"), plain("other", "a", LOW - 1)],
            important(),
            ["default-blocker"],
            id="the pod in the way makes room enough, and has to go in any case",
        ),
        pytest.param(
            [db("blocker", "a", MIDDLE), plain("web-1", "a").in_group("gang"), plain("x", "a")],
            important(),
            ["default-blocker", "default-web-1"],
            id="a group that the scheduler named is not split",
        ),
        pytest.param(
            [db("blocker", "a", MIDDLE), plain("web-1", "a"), plain("x", "a")],
            asking_for_a_device(important()),
            ["default-blocker", "default-web-1"],
            id="room is not all that the pod asks of its node",
        ),
        pytest.param(
            [db("blocker", "a", MIDDLE), plain("web-1", "a"), plain("x", "a"), plain("y", "a")],
            important(),
            ["default-blocker", "default-web-1"],
            id="one makes no room for two",
        ),
    ],
)
async def test_whom_the_scheduler_named_is_spared_if_those_whom_we_add_make_room(
    there: list[Pod], asking: Pod, gone: list[str]
) -> None:
    rig = PreemptRig(state_of([server("a", pods="3")], [], [*there, asking]))
    assert await victims_on_a(rig, {**NAMED, "Pod": asking}) == gone


async def test_who_was_spared_goes_when_the_scheduler_names_it_again() -> None:
    there = [db("blocker", "a", MIDDLE), plain("web-1", "a"), plain("other", "a", LOW - 1)]
    rig = PreemptRig(state_of([server("a", pods="3")], [], [*there, important()]))
    assert await victims_on_a(rig, NAMED) == ["default-blocker"]
    rig.state.remove_pod("default/blocker", "default-blocker")
    held = {**NAMED, "Pod": important().nominated("a")}
    assert await victims_on_a(rig, held) == ["default-web-1"]


async def test_only_on_the_node_that_is_taken_anybody_is_spared() -> None:
    """With the blocker alone gone, it would be the better one, but then it might need the other."""
    there = [db("blocker", "a"), plain("web-1", "a", MIDDLE), plain("x", "b", LOW + 1)]
    rig = PreemptRig(
        state_of([server("a", pods="2"), server("b", pods="1")], [], [*there, important()])
    )
    body = question(important(), {"a": ["default-web-1"], "b": ["default-x"]})
    assert await victims_on_a(rig, body) == ["default-web-1", "default-blocker"]


MANY = [f"n{number:02}" for number in range(40)]
"""Nodes, each with a victim."""


def many() -> ClusterState:
    nodes = [node(name, {HOST: name}) for name in MANY]
    # The first is the worst, so that none is left out for being as good as another.
    pods = [pod(f"on-{name}").priority(-number).on(name) for number, name in enumerate(MANY)]
    return state_of(nodes, [], pods)


ABOUT_MANY = question(IMPORTANT, {name: [f"default-on-{name}"] for name in MANY})


async def test_candidates_are_looked_at_in_slices_and_answered_as_they_are_at_the_end() -> None:
    state, ticks, turns = many(), count(0.0, AT_MOST.slice_seconds), 0
    rig = PreemptRig(state, ticks=lambda: next(ticks))
    answering = asyncio.create_task(rig.preemptions.answer(json.dumps(ABOUT_MANY).encode()))
    while not answering.done():
        await asyncio.sleep(0)
        turns += 1
        if turns == len(MANY) // 2:
            # By now these were looked at.
            for name in MANY[:3]:
                state.upsert_pod(
                    model_pod(pod(f"firm-{name}").labels(app="web").priority(100).on(name))
                )
    answer = json.loads(await answering)["NodeNameToMetaVictims"]
    assert turns >= len(MANY), "one slice in each turn"
    assert answer.keys().isdisjoint(MANY[:3])
    assert len(answer) == AT_ONCE


async def test_all_candidates_are_answered_while_nothing_changes() -> None:
    ticks = count(0.0, AT_MOST.slice_seconds)
    rig = PreemptRig(many(), ticks=lambda: next(ticks))
    answer = json.loads(await rig.preemptions.answer(json.dumps(ABOUT_MANY).encode()))
    assert [*answer["NodeNameToMetaVictims"]] == MANY


async def test_candidates_for_which_there_is_no_time_are_left_out() -> None:
    ticks = count(0.0, LOOKING_SECONDS / 4)
    rig = PreemptRig(many(), ticks=lambda: next(ticks))
    answer = json.loads(await rig.preemptions.answer(json.dumps(ABOUT_MANY).encode()))
    assert [*answer["NodeNameToMetaVictims"]] == MANY[:2]


async def test_a_preemptor_that_takes_long_to_compare_is_answered_in_time() -> None:
    clock = Clock()
    rig = PreemptRig(crowded(classes=700, pods=700, nodes=20), ticks=clock)
    body = question(hostile(OF_RULES.terms).priority(100), {"n0": []})
    answering = asyncio.create_task(rig.preemptions.answer(json.dumps(body).encode()))
    while not answering.done():
        clock.now += 0.05
        await asyncio.sleep(0)
    assert json.loads(answering.result()) == NOBODY
    # Candidates may be looked at twice, and between that, to withdraw a hint may take 2 s.
    assert clock.now + 2 * LOOKING_SECONDS + 2.0 < 5.0, "when the scheduler gives up"


async def test_of_many_candidates_that_help_no_more_the_next_best_ones_are_looked_at() -> None:
    state, ticks = many(), count(0.0, AT_MOST.slice_seconds)
    rig = PreemptRig(state, ticks=lambda: next(ticks))
    answering = asyncio.create_task(rig.preemptions.answer(json.dumps(ABOUT_MANY).encode()))
    for _ in range(len(MANY)):
        await asyncio.sleep(0)
    for name in MANY[3:]:
        state.upsert_pod(model_pod(pod(f"firm-{name}").labels(app="web").priority(100).on(name)))
    answer = json.loads(await answering)
    assert [*answer["NodeNameToMetaVictims"]] == ["n02", "n01", "n00"]


async def test_no_candidate_helps(aiohttp_client: Any) -> None:
    rig = PreemptRig()
    client = await aiohttp_client(rig.app)
    assert await ask(client, question(IMPORTANT, {"b": ["default-calm"]})) == NOBODY
    assert rig.observed("Unschedulable") == 1


async def test_the_configuration_allows_empty_victims(aiohttp_client: Any) -> None:
    client = await aiohttp_client(PreemptRig(may_be_empty=True).app)
    answer = await ask(client, question(pod("harmless"), {"a": []}))
    assert answer == {"NodeNameToMetaVictims": {"a": {"Pods": [], "NumPDBViolations": 0}}}


async def test_a_node_that_stays_without_victims_is_nobodys_nomination(aiohttp_client: Any) -> None:
    """kube-scheduler 1.38 drops it, unless another extender names victims there."""
    rig = PreemptRig(state_of(NODES, [], []), may_be_empty=True)
    client = await aiohttp_client(rig.app)
    lonely = pod("one").labels(app="lonely").priority(100)
    lonely = lonely.anti_affinity(term(HOST, selector(app="lonely")))
    answer = await ask(client, question(lonely, {"a": []}))
    assert list(answer["NodeNameToMetaVictims"]) == ["a"]
    other = {**lonely, "metadata": {**lonely["metadata"], "name": "two", "uid": "default-two"}}
    assert await verdict(client, other) == ["a", "b"]


@pytest.mark.parametrize(
    ("may_be_empty", "fits"),
    [
        pytest.param(False, ["b"], id="up to 1.37 the extender evicts for such rules"),
        pytest.param(True, [], id="from 1.38 on the scheduler does"),
    ],
)
async def test_the_domains_of_the_node_are_held_where_the_scheduler_evicts_for_our_rules(
    aiohttp_client: Any, fits: list[str], *, may_be_empty: bool
) -> None:
    nodes = [node(name, {HOST: name, "zone": "z"}) for name in ("a", "b")]
    apart = term("zone", selector(app="web"))
    web = pod("web").labels(app="web").anti_affinity(apart)
    preemptor = pod("new").labels(app="web").anti_affinity(apart).priority(100)
    state = state_of(nodes, [], [web.on("a"), preemptor])
    client = await aiohttp_client(PreemptRig(state, may_be_empty=may_be_empty).app)
    candidates = {"a": [] if may_be_empty else ["default-web"]}
    answer = await ask(client, question(preemptor, candidates))
    assert answer["NodeNameToMetaVictims"]["a"]["Pods"] == [{"UID": "default-web"}]
    state.remove_pod("default/web", "default-web")
    successor = {**web, "metadata": {**web["metadata"], "name": "next", "uid": "default-next"}}
    assert await verdict(client, successor) == fits


async def test_a_pod_that_never_preempts_evicts_nobody(aiohttp_client: Any) -> None:
    polite = {**IMPORTANT, "spec": {**IMPORTANT["spec"], "preemptionPolicy": "Never"}}
    assert await ask(await aiohttp_client(PreemptRig().app), question(polite, PROPOSED)) == NOBODY


HELD = {**IMPORTANT, "status": {"nominatedNodeName": "a"}}
ELSEWHERE = {"c": ["default-other"]}
REFUSED = "node(s) didn't match pod anti-affinity rules"


async def verdict_on(client: Client, incoming: Any, name: str) -> str:
    """Filter one node; return the list that it ends up in."""
    answer = await ask(client, {"Pod": incoming, "NodeNames": [name]}, "filter")
    (found,) = (key for key, value in answer.items() if value and key != "Nodes")
    assert answer[found] in ({name: REFUSED}, [name])
    return str(found)


async def test_a_pod_waits_for_victims_that_take_their_time(
    aiohttp_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rig = PreemptRig()
    client = await aiohttp_client(rig.app)
    assert await verdict_on(client, HELD, "a") == "FailedAndUnresolvableNodes"
    rig.state.upsert_pod(model_pod(PODS[1].being_deleted()))
    with caplog.at_level(logging.INFO):
        assert await ask(client, question(HELD, ELSEWHERE)) == NOBODY
    assert "default/new waits for its victims on a to go" in caplog.text
    # Resolvable, for then the scheduler looks at the node itself and waits as well.
    assert await verdict_on(client, HELD, "a") == "FailedNodes"
    assert await verdict_on(client, IMPORTANT, "a") == "FailedAndUnresolvableNodes"
    assert await verdict_on(client, HELD, "b") == "FailedAndUnresolvableNodes"
    rig.state.remove_pod("default/web", "default-web")
    assert await verdict_on(client, HELD, "a") == "NodeNames"


async def test_victims_just_named_are_on_their_way_though_the_watch_is_late(
    aiohttp_client: Any,
) -> None:
    rig = PreemptRig()
    rig.state.upsert_node(model_node(node("c", {HOST: "c"})))
    client = await aiohttp_client(rig.app)
    await ask(client, question(IMPORTANT, PROPOSED))
    assert await verdict_on(client, HELD, "a") == "FailedNodes"
    assert await ask(client, question(HELD, ELSEWHERE)) == NOBODY
    # An eviction may fail, and the scheduler ask about the node again, or about others later.
    assert set((await ask(client, question(HELD, PROPOSED)))["NodeNameToMetaVictims"]) == {"a"}
    rig.now = LAG_SECONDS
    assert await verdict_on(client, HELD, "a") == "FailedAndUnresolvableNodes"
    answer = await ask(client, question(HELD, ELSEWHERE))
    assert set(answer["NodeNameToMetaVictims"]) == {"c"}


async def test_the_node_of_victims_just_named_is_held_before_the_request_says_so(
    aiohttp_client: Any,
) -> None:
    rig = PreemptRig()
    rig.state.upsert_node(model_node(node("c", {HOST: "c"})))
    client = await aiohttp_client(rig.app)
    await ask(client, question(IMPORTANT, PROPOSED))
    assert await verdict_on(client, IMPORTANT, "a") == "FailedNodes"
    assert await ask(client, question(IMPORTANT, ELSEWHERE)) == NOBODY


async def test_filter_waits_for_a_watch_that_shows_nothing_of_victims_yet(
    aiohttp_client: Any,
) -> None:
    rig = PreemptRig()
    client = await aiohttp_client(rig.app)
    await ask(client, question(IMPORTANT, PROPOSED))
    rig.gone_meanwhile = ["plain", "web"]
    assert await verdict_on(client, HELD, "a") == "NodeNames"


async def test_only_so_many_answers_are_remembered(aiohttp_client: Any) -> None:
    rig = PreemptRig()
    client = await aiohttp_client(rig.app)
    await ask(client, question(IMPORTANT, PROPOSED))
    for number in range(MOST_REMEMBERED):
        other = IMPORTANT.uid(f"uid-{number}")
        await ask(client, question(other, PROPOSED))
    assert await verdict_on(client, HELD, "a") == "FailedAndUnresolvableNodes"


async def test_of_two_equal_preemptors_that_exclude_each_other_one_evicts_on_a_node(
    aiohttp_client: Any,
) -> None:
    rig = PreemptRig(state_of(NODES, [], [pod("x").on("a"), pod("y").on("b")]))
    client = await aiohttp_client(rig.app)
    everywhere = {"a": ["default-x"], "b": ["default-y"]}
    lonely = pod("one").labels(app="lonely").priority(100)
    lonely = lonely.anti_affinity(term(HOST, selector(app="lonely")))
    first = await ask(client, question(lonely, everywhere))
    assert list(first["NodeNameToMetaVictims"]) == ["a"], "one of two equal candidates"
    # No watch has shown what the scheduler nominated.
    other = {**lonely, "metadata": {**lonely["metadata"], "name": "two", "uid": "default-two"}}
    assert await verdict(client, other) == ["b"]
    second = await ask(client, question(other, everywhere))
    assert list(second["NodeNameToMetaVictims"]) == ["b"]
    third = {**lonely, "metadata": {**lonely["metadata"], "name": "three", "uid": "default-3"}}
    assert await ask(client, question(third, everywhere)) == NOBODY
    assert await verdict(client, lonely) == ["a"], "its own place is not held against it"
    rig.state.expire(LAG_SECONDS)
    assert await verdict(client, third) == ["a", "b"], "no nomination came"


async def verdict(client: Client, incoming: Any) -> list[str]:
    """Filter both nodes; return those that fit."""
    answer = await ask(client, {"Pod": incoming, "NodeNames": ["a", "b"]}, "filter")
    return list(answer["NodeNames"] or ())


class Defective(ClusterState):
    """A state that cannot be asked."""

    def __init__(self) -> None:
        super().__init__()
        self.upsert_node(model_node(NODES[0]))

    def prefilter_state(self, pod_class: Any) -> Any:
        del pod_class
        raise ZeroDivisionError("100% broken")


@pytest.mark.parametrize(
    ("make_rig", "body", "says"),
    [
        pytest.param(
            partial(PreemptRig, unready="pods not synced yet"),
            question(IMPORTANT, PROPOSED),
            "pods not synced yet",
            id="not synced",
        ),
        pytest.param(
            PreemptRig, question({"metadata": {}}, PROPOSED), "metadata", id="a broken pod"
        ),
        pytest.param(
            PreemptRig, {"Pod": IMPORTANT}, "NodeNameToVictims", id="no candidates of either kind"
        ),
        pytest.param(
            lambda: PreemptRig(Defective()),
            question(IMPORTANT, PROPOSED),
            "ZeroDivisionError",
            id="a defect",
        ),
    ],
)
async def test_a_fault_evicts_nobody(
    aiohttp_client: Any,
    caplog: pytest.LogCaptureFixture,
    make_rig: Callable[[], PreemptRig],
    body: Any,
    says: str,
) -> None:
    rig = make_rig()
    assert await ask(await aiohttp_client(rig.app), body) == NOBODY
    assert rig.observed("Error") == 1
    assert says in caplog.text
    assert "no pod is evicted" in caplog.text


@pytest.mark.parametrize(
    "body",
    [pytest.param(b"{", id="not JSON"), pytest.param(b"{}", id="no preemption at all")],
)
async def test_what_is_no_callback_is_a_client_error(aiohttp_client: Any, body: bytes) -> None:
    client = await aiohttp_client(PreemptRig().app)
    assert (await client.post("/preempt", data=body)).status == 400


async def test_a_group_that_can_be_judged_evicts_like_any_pod(aiohttp_client: Any) -> None:
    rig = PreemptRig(state_of(NODES, [], [*PODS, IMPORTANT.in_group("gang")]))
    client = await aiohttp_client(rig.app)
    answer = await ask(client, question(IMPORTANT.in_group("gang"), PROPOSED))
    assert list(answer["NodeNameToMetaVictims"]) == ["a"]


class Evicting:
    """Evicts by itself; notes which pods it is told to look after, or to leave alone."""

    def __init__(self, change: Callable[[], None] = lambda: None) -> None:
        """`change` happens in the middle of a call, before the candidates are looked at again."""
        self.told: list[str] = []
        self._change = change

    def going(self, pod: ModelPod) -> None:
        """Evict no pod so far."""

    def leaving(self, pod: ModelPod) -> None:
        """Likewise."""

    async def has_better_ones(self, pod: ModelPod, rank: Rank) -> bool:
        del pod, rank
        self._change()
        return False

    def unhelped(self, pod: ModelPod) -> None:
        self.told.append(f"looks after {pod.key}")

    def defer_to_scheduler(self, pod: ModelPod) -> None:
        self.told.append(f"leaves {pod.key} to the scheduler")


@pytest.mark.parametrize(
    ("asking", "node_name", "changes", "told"),
    [
        pytest.param(IMPORTANT, "a", False, "leaves default/new to the scheduler", id="one helps"),
        pytest.param(IMPORTANT, "b", False, "looks after default/new", id="none helps"),
        pytest.param(
            IMPORTANT, "a", True, "looks after default/new", id="one helps until the last look"
        ),
        pytest.param(IMPORTANT.never_preempts(), "a", False, None, id="it never preempts"),
    ],
)
async def test_who_evicts_by_itself_hears_what_was_answered(
    aiohttp_client: Any, asking: Pod, node_name: str, told: str | None, *, changes: bool
) -> None:
    state = state_of(NODES, [], PODS)

    def change() -> None:
        if changes:
            state.upsert_pod(model_pod(pod("web").labels(app="web").priority(100).on("a")))

    evicting = Evicting(change)
    client = await aiohttp_client(PreemptRig(state, preemption=evicting).app)
    answer = await ask(client, question(asking, {node_name: PROPOSED[node_name]}))
    assert evicting.told == ([] if told is None else [told])
    assert (answer != NOBODY) is (told is not None and "scheduler" in told)
