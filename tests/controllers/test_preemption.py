"""Whom PreemptionController evicts, in which order, and when it stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest
from msgspec import Raw

from extender.controllers.preemption.evictions import DENIED_SECONDS
from extender.controllers.preemption.preemptions import (
    BINDING_SECONDS,
    EVICTING_SECONDS,
    TRYING_SECONDS,
)
from extender.controllers.preemption.ranking import SHARED_SECONDS
from extender.controllers.preemption.record import FIRST_PAUSE_SECONDS, FIRST_RENEWAL_SECONDS
from extender.errors import ApiError
from extender.kube.failures import NoAnswerError
from extender.model.marks import mark_message
from extender.model.objects import Pod as ModelPod
from extender.verbs.preempting import Victims
from tests.builders import HOST, ZONE, Pod, model_pod, pod, selector, term
from tests.controllers.preempting import (
    HIGH,
    LOW,
    MIDDLE,
    PreemptionRig,
    db,
    important,
    plain,
    server,
)

A, B = server("a"), server("b", "z2")
ON_A = db("on-a", "a")
ON_B = db("on-b", "b", MIDDLE)


async def test_the_scheduler_s_way_nomination_condition_deletion_event() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, plain("spared", "a"), important())
    rig.refuse()
    await rig.pass_time(0)
    assert rig.api.calls == [], "the scheduler may still preempt by itself"
    await rig.pass_time()
    assert rig.api.calls == [
        "try on-a",
        "nominate important None->a",
        "mark on-a",
        "delete on-a",
        "tell on-a important",
    ]
    assert rig.api.messages == {
        "default-scheduler: preempting to accommodate a higher priority pod (uid default-important)"
    }
    why = "the required pod anti-affinity of default/important by kubernetes.io/hostname"
    assert rig.api.notes == [f"Preempted by pod default-important on node a: {why} excludes it"]
    rig.api.bind("important", "a")
    await rig.tick()
    assert rig.counts() == {"started": 1, "bound": 1}
    assert rig.eviction_counts() == {"evicted": 1}
    assert [(e.kind, e.result, e.pod, e.node, e.note) for e in rig.history.latest()] == [
        ("preemption", "bound", "default/important", "a", ""),
        ("eviction", "evicted", "default/on-a", "a", "for default/important"),
        ("preemption", "started", "default/important", "a", "victims: default/on-a"),
    ]


async def test_an_event_says_whose_rule_it_is() -> None:
    repelling = db("on-a", "a").anti_affinity(term(ZONE, selector(app="web")))
    web = pod("important").labels(app="web").priority(HIGH)
    rig = PreemptionRig([A], repelling, web)
    rig.refuse()
    await rig.pass_time()
    why = "its required pod anti-affinity by topology.kubernetes.io/zone excludes default/important"
    assert rig.api.notes == [f"Preempted by pod default-important on node a: {why}"]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([ON_A, ON_B], ["on-a"], id="the less important blocker goes"),
        pytest.param([db("on-a", "a", HIGH), ON_B], ["on-b"], id="never an equally important one"),
        pytest.param(
            [ON_A, db("more", "a"), ON_B], ["more", "on-a"], id="two of low priority, not one above"
        ),
        pytest.param([db("on-a", "a", HIGH), db("on-b", "b", HIGH)], [], id="nobody may go"),
    ],
)
async def test_whom_the_scheduler_would_choose(pods: list[Pod], expected: list[str]) -> None:
    rig = PreemptionRig([A, B], *pods, important())
    rig.refuse()
    await rig.pass_time()
    assert rig.evicted() == expected
    assert len(rig.done("nominate")) == bool(expected)


@pytest.mark.parametrize(
    ("wanted", "more"),
    [
        pytest.param(important().never_preempts(), [], id="its policy is Never"),
        pytest.param(important().in_group("gang"), [], id="it is placed with a group"),
        pytest.param(important(priority=LOW), [], id="nobody is less important"),
        pytest.param(important(key=ZONE), [db("rock", "a2", HIGH)], id="nobody's eviction helps"),
    ],
)
async def test_nobody_is_evicted(wanted: Pod, more: list[Pod]) -> None:
    rig = PreemptionRig([A, server("a2")], ON_A, *more, wanted)
    rig.refuse("important", "a")
    await rig.tick(10)
    assert rig.api.calls == []
    assert rig.counts() == {}


async def test_a_node_that_takes_the_pod_is_left_to_hints() -> None:
    rig = PreemptionRig([A, *(server(f"n{each}") for each in range(120))], ON_A, important())
    known = rig.state.pods["default/important"]
    rig.tell_of_refusal(known, ((None, ["a"] * 100),))
    await rig.tick(4)
    assert rig.api.calls == []


async def test_a_node_that_other_plugins_refuse_is_no_reason_to_wait() -> None:
    # The scheduler has looked everywhere: it asked about fewer than it would stop at.
    rig = PreemptionRig([A, B], ON_A, important())
    rig.refuse("important", "a")
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


async def test_where_other_plugins_refuse_for_what_we_do_not_see_nobody_goes() -> None:
    rig = PreemptionRig([A, B], db("on-a", "a", MIDDLE), db("on-b", "b", LOW), important())
    rig.refuse("important", "a")
    await rig.pass_time()
    assert rig.evicted() == ["on-a"], "b would have been cheaper"


async def test_room_and_rule_together() -> None:
    full = server("a", pods="2")
    rig = PreemptionRig([full], ON_A, plain("filler", "a"), important(), plain("third", "a"))
    rig.tell_of_refusal(rig.state.pods["default/important"], ())
    await rig.pass_time()
    assert rig.evicted() == ["filler", "on-a"] or rig.evicted() == ["on-a", "third"]


async def test_nothing_is_done_for_a_pod_that_was_admitted_meanwhile() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    rig.controller.admitted(model_pod(important()))
    await rig.tick()
    assert rig.api.calls == []


async def test_what_was_in_vain_is_tried_again_when_something_changes() -> None:
    rig = PreemptionRig([A], db("rock", "a", HIGH), plain("p", "a"), important())
    rig.refuse()
    await rig.tick(4)
    assert rig.api.calls == []
    rig.api.end("default-rock")
    rig.state.upsert_pod(model_pod(ON_A))
    rig.api.pods["default-on-a"] = model_pod(ON_A)
    await rig.tick()
    assert rig.evicted() == ["on-a"]


async def test_the_scheduler_preempts_by_itself() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    rig.controller.stand_back(model_pod(important()))
    await rig.pass_time(1)
    assert rig.api.calls == []
    await rig.pass_time(1.1)
    assert rig.evicted() == ["on-a"], "it did not, after all"


# While victims end


async def test_nobody_more_goes_while_victims_take_their_time() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    for _ in range(20):
        rig.refuse()
        await rig.pass_time(10)
    assert rig.evicted() == ["on-a"]
    assert rig.controller.going(model_pod(important())) == {"default-on-a"}
    rig.api.end("default-on-a")
    await rig.tick()
    rig.api.bind("important", "a")
    await rig.tick()
    assert rig.counts() == {"started": 1, "bound": 1}
    assert rig.controller.going(model_pod(important())) is None


@pytest.mark.parametrize(
    "leaving",
    [
        pytest.param(ON_A.being_deleted().preempted(), id="for its sake"),
        pytest.param(ON_A.being_deleted(), id="for another reason"),
    ],
)
async def test_pods_that_leave_the_nominated_node_are_waited_for(leaving: Pod) -> None:
    rig = PreemptionRig([A, B], leaving, ON_B, important().nominated("a"))
    rig.refuse()
    await rig.tick(4)
    assert rig.done() == []


async def test_a_nomination_that_was_wiped_out_is_set_again() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    known = rig.state.pods["default/important"]
    assert await rig.api.nominate(known, "a", None)
    await rig.tick()
    await rig.pass_time(FIRST_RENEWAL_SECONDS)
    await rig.tick()
    assert rig.done("nominate") == [
        "nominate important None->a",
        "nominate important a->None",
        "nominate important None->a",
    ]
    assert rig.evicted() == ["on-a"]


async def test_a_nomination_by_somebody_else_ends_it() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    known = rig.state.pods["default/important"]
    assert await rig.api.nominate(known, "a", "b")
    await rig.pass_time(3)
    assert rig.counts() == {"started": 1, "overtaken": 1}
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]


async def test_a_place_that_is_not_taken_after_all_is_given_up() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    await rig.pass_time()
    await rig.tick()
    await rig.pass_time(BINDING_SECONDS)
    assert rig.done("nominate")[1:] == ["nominate important a->None"]
    assert rig.counts() == {"started": 1, "useless": 1}


async def refused_too_late() -> PreemptionRig:
    """Return a rig whose watch has just shown victims gone for which a pod was refused again."""
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    async with rig.held_at("delete"):
        rig.api.shows = False
    rig.refuse()
    rig.api.shows = True
    rig.api.show()
    await rig.tick()
    return rig


async def test_a_pod_refused_for_victims_that_the_watch_showed_too_late_is_tried_again() -> None:
    rig = await refused_too_late()
    await rig.pass_time(TRYING_SECONDS)
    await rig.tick(4)
    assert rig.done("nominate", "wake") == ["nominate important None->a", "wake important"]


async def test_a_pod_that_could_not_be_woken_is_woken_at_the_next_look() -> None:
    rig = await refused_too_late()
    rig.api.fails = lambda call: NoAnswerError("lost") if call.startswith("wake") else None
    await rig.pass_time(TRYING_SECONDS)
    rig.api.fails = lambda _: None
    await rig.tick(4)
    assert rig.done("wake") == ["wake important failed", "wake important"]


async def test_a_pod_that_nobody_has_refused_since_is_left_to_the_scheduler() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    await rig.pass_time()
    await rig.tick(4)
    assert rig.done("nominate", "wake") == ["nominate important None->a"]


async def test_who_comes_between_goes_as_well_but_later() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(db("intruder", "a")))
    rig.api.pods["default-intruder"] = model_pod(db("intruder", "a"))
    rig.api.end("default-on-a")
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}
    await rig.pass_time(FIRST_PAUSE_SECONDS)
    assert rig.evicted() == ["intruder", "on-a"]


# The preemptor goes, or needs nobody to go any more


@pytest.mark.parametrize(
    ("end", "result"),
    [
        pytest.param(lambda rig: rig.api.end("default-important"), "gone", id="deleted"),
        pytest.param(lambda rig: rig.api.bind("important", "b"), "elsewhere", id="bound elsewhere"),
    ],
)
async def test_no_further_victim_goes_for_a_preemptor_that_needs_none(
    end: Callable[[PreemptionRig], None], result: str
) -> None:
    rig = PreemptionRig([A, server("b", pods="1")], ON_A, db("more", "a"), ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        end(rig)
    await rig.tick(4)
    assert rig.evicted() == []
    assert rig.counts() == {"started": 1, result: 1}


async def test_an_admitted_preemptor_stops_further_deletions_until_it_is_refused_again() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.controller.admitted(model_pod(important()))
    await rig.pass_time(20)
    assert rig.evicted() == []
    rig.refuse()
    await rig.tick()
    assert rig.evicted() == ["on-a"]


# Faults


def refuses(*words: str, status: int = 403) -> object:
    """Return what fails calls of these kinds."""

    def fails(call: str) -> Exception | None:
        if call.partition(" ")[0] in words:
            return ApiError(status, "Reason", "because")
        return None

    return fails


async def test_without_the_right_it_says_so_once_and_nobody_is_nominated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.api.fails = refuses("try", "delete")  # type: ignore[assignment]
    for _ in range(3):
        rig.refuse()
        await rig.pass_time()
        await rig.pass_time(DENIED_SECONDS)
    assert rig.done() == []
    said = [each.message for each in caplog.records if "may not delete pods" in each.message]
    assert len(said) == 1
    rig.api.fails = lambda _: None
    await rig.pass_time(DENIED_SECONDS)
    assert rig.evicted() == ["on-a"], "somebody has granted it"


@pytest.mark.parametrize("word", ["mark", "delete"])
@pytest.mark.parametrize("status", [409, 429, 500, 504])
async def test_an_eviction_that_fails_is_tried_again(word: str, status: int) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.fails = refuses(word, status=status)  # type: ignore[assignment]
    rig.refuse()
    await rig.pass_time()
    assert rig.evicted() == []
    await rig.pass_time(1)
    rig.api.fails = lambda _: None
    await rig.pass_time(5)
    assert rig.evicted() == ["on-a"]
    assert rig.eviction_counts() == {"failed": 2, "evicted": 1}


async def test_who_cannot_be_evicted_at_all_is_given_up() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.fails = refuses("delete", status=500)  # type: ignore[assignment]
    rig.refuse()
    await rig.pass_time()
    while "failed" not in rig.counts() and rig.now < 100 + 2 * EVICTING_SECONDS:
        await rig.pass_time(1)
    assert rig.done("nominate") == ["nominate important None->a", "nominate important a->None"]
    assert rig.counts() == {"started": 1, "failed": 1}


async def test_a_lost_answer_to_a_deletion_harms_nobody() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())

    def lost(call: str) -> Exception | None:
        if call == "delete on-a":
            rig.api.end("default-on-a")
            return NoAnswerError("gone")
        return None

    rig.api.fails = lost
    rig.refuse()
    await rig.pass_time()
    rig.api.bind("important", "a")
    await rig.tick(4)
    assert rig.counts() == {"started": 1, "bound": 1}
    assert rig.done("delete") == ["delete on-a failed"]


@pytest.mark.parametrize("carried_out", [True, False])
async def test_an_unclear_nomination_evicts_nobody_before_it_is_clear(*, carried_out: bool) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())

    def lost(call: str) -> Exception | None:
        return NoAnswerError("silence") if call.startswith("nominate") else None

    rig.api.fails = lost
    rig.refuse()
    await rig.pass_time()
    assert rig.evicted() == []
    rig.api.fails = lambda _: None
    if carried_out:
        known = rig.state.pods["default/important"]
        assert await rig.api.nominate(known, None, "a")
    await rig.pass_time(FIRST_PAUSE_SECONDS)
    assert rig.evicted() == ["on-a"]
    assert rig.counts() == {"failed": 1, "started": 1}


async def test_who_is_second_to_nominate_evicts_nobody() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("nominate"):
        wanted = rig.api.pods["default-important"]
        rig.api.pods[wanted.uid] = replace(wanted, nominated="b")
    assert rig.done() == ["nominate important None->a overtaken"]
    assert rig.counts() == {"overtaken": 1}


async def test_what_hints_nominated_is_theirs_to_give_up_first() -> None:
    told: list[tuple[str, set[str]]] = []

    async def give_way(each: ModelPod, nodes: Collection[str]) -> frozenset[str]:
        told.append((each.key, {*nodes}))
        return frozenset("a")

    rig = PreemptionRig([A], ON_A, important(), give_way=give_way)
    rig.refuse()
    await rig.pass_time()
    assert told == [("default/important", {"a"})]
    assert rig.done() == [], "a withdrawal of theirs may still be carried out"


async def test_lesser_nominations_on_the_node_end() -> None:
    waiting = pod("lesser").priority(LOW).nominated("a")
    rig = PreemptionRig([A], ON_A, important(), waiting)
    rig.refuse()
    await rig.pass_time()
    assert rig.done("nominate") == ["nominate important None->a", "nominate lesser a->None"]


def loner(name: str) -> Pod:
    """Build an important pod that wants neither databases nor its like near it."""
    both = selector({"key": "app", "operator": "In", "values": ["db", "loner"]})
    return pod(name).labels(app="loner").priority(HIGH).anti_affinity(term(HOST, both))


async def test_two_that_exclude_each_other_do_not_evict_on_the_same_node() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, loner("one"), loner("two"), loner("three"))
    rig.api.grace = True
    for name in ("one", "two", "three"):
        rig.refuse(name)
    await rig.tick(4)
    assert rig.done("nominate") == ["nominate one None->a", "nominate two None->b"]
    assert rig.evicted() == ["on-a", "on-b"]


async def test_a_place_is_held_though_the_scheduler_wipes_out_the_nomination() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, loner("one"), loner("two"))
    rig.refuse("one")
    async with rig.held_at("mark"):
        rig.api.wiped_out("one")
        rig.refuse("two")
        second = asyncio.create_task(rig.pass_time())
    await second
    assert rig.evicted() == ["on-b"]
    await rig.tick(4)
    assert rig.done("nominate") == [
        "nominate one None->a",
        "nominate two None->b",
        "nominate one None->a",
    ]
    assert rig.evicted() == ["on-a", "on-b"]


async def test_a_place_that_was_taken_meanwhile_is_given_up_at_once() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.wiped_out("important")
        rock = db("rock", "a", HIGH)
        rig.api.pods["default-rock"] = model_pod(rock)
        rig.api.show()
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}
    assert not rig.state.nominated.on("a")


async def test_it_begins_as_soon_as_the_scheduler_has_ended_its_attempt() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    await rig.pass_time(0)
    assert rig.api.calls == []
    # It writes a condition, which is nothing to us, but an event.
    rig.api.show()
    # That makes it try once more.
    rig.refuse()
    await rig.pass_time(0)
    assert rig.evicted() == ["on-a"]


async def test_what_the_watch_has_shown_long_ago_ends_no_attempt() -> None:
    rig = PreemptionRig([A], db("rock", "a", HIGH), important())
    rig.refuse()
    rig.api.show()
    await rig.tick()
    rig.api.end("default-rock")
    rig.api.pods["default-on-a"] = model_pod(ON_A)
    rig.state.upsert_pod(model_pod(ON_A))
    rig.refuse()
    await rig.pass_time(0)
    assert rig.api.calls == [], "the scheduler may still preempt by itself"
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


# Restarts and replicas


async def restarted(rig: PreemptionRig, at: str) -> PreemptionRig:
    """Let the process be killed when it sends a request; return what its successor works with."""
    rig.refuse()
    async with rig.held_at(at) as work:
        work.cancel()
    rig.state.expire(rig.now + 1000)
    rig.controller = rig.another()
    return rig


@pytest.mark.parametrize("at", ["try", "nominate", "mark", "delete", "tell"])
@pytest.mark.parametrize("cheaper", [False, True])
async def test_a_process_that_is_killed_leaves_one_set_of_victims(
    at: str, *, cheaper: bool
) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.grace = True
    await restarted(rig, at)
    nominated = rig.state.pods["default/important"].nominated
    assert nominated == ("a" if at in {"mark", "delete", "tell"} else None)
    if cheaper and nominated is not None:
        # Somewhere else it would be better by now.
        rig.api.pods["default-on-b"] = model_pod(db("on-b", "b", LOW - 1))
        rig.api.show()
    rig.refuse()
    await rig.tick(20)
    assert rig.evicted() == ["on-a"]


async def test_a_set_of_which_a_part_is_on_its_way_out_is_gone_on_with() -> None:
    leaving = ON_A.being_deleted().preempted()
    rig = PreemptionRig([A, B], leaving, db("rest", "a"), db("cheaper", "b"), important())
    # A predecessor nominated the node; the scheduler has wiped that out, as after an error.
    rig.refuse()
    await rig.tick(4)
    assert rig.evicted() == ["rest"]


async def test_a_set_for_somebody_else_is_not_gone_on_with() -> None:
    leaving = ON_A.being_deleted().preempted()
    other = important("other", priority=MIDDLE).nominated("a")
    rig = PreemptionRig([A, B], leaving, db("rest", "a"), db("cheaper", "b"), important(), other)
    rig.refuse()
    await rig.tick(4)
    assert rig.evicted() == ["cheaper"]


async def test_two_replicas_at_once_evict_one_set() -> None:
    pods = (ON_A, ON_B, important())
    one = PreemptionRig([A, B], *pods)
    two = PreemptionRig([A, B], *pods, api=one.api)
    one.api.shows = False
    for rig in (one, two):
        rig.refuse()
    await asyncio.gather(one.pass_time(1), two.pass_time(1))
    assert one.evicted() == [], "who knows what others did before"
    assert {**one.counts(), **two.counts()} == {"started": 1, "overtaken": 1}
    one.api.shows = True
    one.api.show()
    await asyncio.gather(one.tick(8), two.tick(8))
    assert one.evicted() == ["on-a"]


async def mark_on_b(rig: PreemptionRig) -> None:
    """Let another replica mark a victim on the node that is not the best one."""
    victim = rig.api.pods["default-on-b"]
    await rig.api.mark(victim, mark_message("default-scheduler", "default-important"))


async def test_marks_of_victims_outlast_a_nomination_that_was_wiped_out() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    await mark_on_b(rig)
    rig.refuse()
    await rig.tick(4)
    assert rig.evicted() == ["on-b"]


async def test_nobody_else_goes_while_marked_pods_may_be_deleted_yet() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, db("rock", "b", HIGH), important())
    await mark_on_b(rig)
    rig.refuse()
    await rig.tick(8)
    assert rig.evicted() == [], "on b nobody's eviction helps, and on a it is not its turn"
    rig.api.end("default-on-b")
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]


async def test_who_nominates_looks_for_the_marks_of_others_before_it_marks() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("nominate"):
        await mark_on_b(rig)
    assert rig.done("delete") == []
    await rig.tick(8)
    assert rig.evicted() == ["on-b"]


async def test_who_marks_looks_at_the_nomination_before_it_deletes() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.nominated("important", "b")
    assert rig.done("nominate", "delete") == ["nominate important None->a"]


async def test_who_marks_looks_whether_it_helps_before_it_deletes() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.pods["default-rock"] = model_pod(db("rock", "a", HIGH))
        rig.api.show()
    assert rig.done("delete") == []
    await rig.tick()
    assert rig.counts() == {"started": 1, "useless": 1}


async def test_nothing_is_deleted_before_the_watch_shows_the_mark() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.refuse()
    async with rig.held_at("mark"):
        rig.api.shows = False
    await rig.tick()
    assert rig.done("delete") == []
    rig.api.shows = True
    rig.api.show()
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]


async def test_pods_whose_labels_concern_nobody_share_what_one_of_them_found() -> None:
    coming = [loner(f"p{number}").labels(number=str(number)) for number in range(3)]
    rig = PreemptionRig([A, B, server("c")], ON_A, ON_B, db("rock", "c", HIGH), *coming)
    rig.refuse("p0")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a"]
    # It is better, and there since the nodes were ranked.
    rig.api.end("default-rock")
    cheap = model_pod(db("cheap", "c", LOW - 1))
    rig.api.pods[cheap.uid] = cheap
    rig.api.show()
    rig.refuse("p1")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a", "on-b"]
    rig.now += SHARED_SECONDS
    rig.refuse("p2")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["cheap", "on-a", "on-b"]


async def test_what_is_ranked_is_looked_at_once_more_when_it_is_taken() -> None:
    coming = [loner(f"p{number}") for number in range(2)]
    c = server("c", "z3")
    rig = PreemptionRig([A, B, c], ON_A, ON_B, db("on-c", "c", MIDDLE + 1), *coming)
    rig.refuse("p0")
    await rig.pass_time(0.1)
    rock = model_pod(db("rock", "b", HIGH))
    rig.api.pods[rock.uid] = rock
    rig.api.show()
    rig.refuse("p1")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a", "on-c"]


async def test_a_place_that_is_free_by_now_is_found_though_nodes_were_ranked_before() -> None:
    coming = [loner(f"p{number}") for number in range(2)]
    rig = PreemptionRig([A, B, server("c")], ON_A, ON_B, db("rock", "c", HIGH), *coming)
    rig.refuse("p0")
    await rig.pass_time(0.1)
    rig.refuse("p1")
    rig.api.end("default-rock")
    await rig.pass_time(0.1)
    assert rig.evicted() == ["on-a"]


# Where the scheduler preempts


def raw_of(each: Pod) -> Raw:
    """Return a pod as the scheduler sends it."""
    return Raw(json.dumps(each).encode())


async def test_what_filter_has_just_said_counts_when_no_candidate_helps() -> None:
    full = server("full", pods="1")
    rig = PreemptionRig([full, A], db("rock", "full", HIGH), ON_A, important())
    rig.refuse("important", "a")
    rig.controller.unhelped(model_pod(important()), raw_of(important()))
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


async def test_who_is_spared_by_our_victims_stays() -> None:
    blocker, other = db("blocker", "a", MIDDLE), plain("other", "a")
    rig = PreemptionRig([server("a", pods="2")], blocker, other, important())
    proposed = {"a": Victims(["default-blocker", "default-other"], 0)}
    wanted = model_pod(important())
    found = await rig.controller.review(wanted, raw_of(important()), proposed)
    assert found == {"a": Victims(["default-blocker"], 0)}


async def test_a_better_victim_where_only_we_refuse() -> None:
    full = server("full", pods="1")
    rig = PreemptionRig([full, A], plain("filler", "full", MIDDLE), ON_A, important())
    rig.refuse("important", "a")
    wanted = model_pod(important())
    proposed = {"full": Victims(["default-filler"], 0)}
    assert await rig.controller.review(wanted, raw_of(important()), proposed) == {}
    rig.controller.unhelped(wanted, raw_of(important()))
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


async def test_what_only_the_scheduler_understands_stays_as_it_is() -> None:
    claims = Pod(important())
    claims["spec"] = {**claims["spec"], "resourceClaims": [{"name": "gpu"}]}
    rig = PreemptionRig([server("a", pods="2")], ON_A, plain("other", "a"), claims)
    proposed = {"a": Victims(["default-on-a", "default-other"], 0)}
    assert await rig.controller.review(model_pod(claims), raw_of(claims), proposed) == proposed


async def test_a_pod_that_no_candidate_helps_is_looked_after_everywhere() -> None:
    full = server("full", pods="1")
    rig = PreemptionRig([full, server("b", pods="1")], plain("x", "full"), ON_B, important())
    rig.controller.unhelped(model_pod(important()), raw_of(important()))
    await rig.pass_time()
    assert rig.evicted() == ["x"]
