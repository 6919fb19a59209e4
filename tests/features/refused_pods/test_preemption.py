"""Whom PreemptionController evicts, in which order, and when it stops."""

from __future__ import annotations

import pytest

from extender.features.refused_pods.preemption import FIRST_PAUSE_SECONDS
from extender.features.refused_pods.record import FIRST_RENEWAL_SECONDS
from extender.features.refused_pods.victim_sets import (
    BINDING_SECONDS,
)
from tests.builders import ZONE, Pod, model_pod, pod, selector, term
from tests.features.refused_pods.preempting import ON_A, ON_B, ROCKY, A, B, PreemptionRig
from tests.important_pods import HIGH, LOW, MIDDLE, db, important, plain, server


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


@pytest.mark.parametrize(
    ("others", "gone"),
    [
        pytest.param(
            ROCKY, ["on-a", "third"], id="among many, of which the scheduler tries a part"
        ),
        pytest.param([], [], id="among few: the scheduler has named whom it would evict"),
    ],
)
async def test_room_and_rule_together(others: list[str], gone: list[str]) -> None:
    nodes = [server(name, pods="2") for name in ("a", *others)]
    rocks = [db(f"on-{name}", name, HIGH) for name in others]
    third = plain("third", "a")
    rig = PreemptionRig(nodes, *rocks, ON_A, plain("filler", "a"), third, important())
    rig.tell_of_refusal(rig.state.pods["default/important"], ())
    await rig.pass_time()
    assert rig.evicted() == gone


async def test_where_others_decide_that_we_do_not_see_nobody_goes_for_room() -> None:
    claims = Pod(important())
    claims["spec"] = {**claims["spec"], "resourceClaims": [{"name": "gpu"}]}
    nodes = [server(name, pods="2") for name in ("a", *ROCKY)]
    rocks = [db(f"on-{name}", name, HIGH) for name in ROCKY]
    rig = PreemptionRig(nodes, *rocks, ON_A, plain("filler", "a"), plain("third", "a"), claims)
    rig.tell_of_refusal(rig.state.pods["default/important"], ())
    await rig.pass_time()
    assert rig.evicted() == []


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
    rig.controller.defer_to_scheduler(model_pod(important()))
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


async def test_a_nomination_that_is_wiped_out_is_set_again_once_while_victims_go() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    for _ in range(3):
        rig.api.wiped_out("important")
        await rig.pass_time(FIRST_RENEWAL_SECONDS)
        rig.refuse()
        await rig.tick(8)
    assert rig.done("nominate", "wake") == ["nominate important None->a"] * 2, "that wakes it"
    assert [each.uid for each in rig.state.nominated.preempting] == ["default-important"]
    rig.api.end("default-on-a")
    await rig.tick()
    assert rig.done("nominate", "wake") == ["nominate important None->a"] * 3
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


async def test_a_place_that_was_of_no_use_is_not_gone_back_to() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    await rig.pass_time()
    await rig.tick()
    await rig.pass_time(BINDING_SECONDS)
    assert rig.counts() == {"started": 1, "useless": 1}
    rig.api.pods["default-another"] = model_pod(db("another", "a", HIGH - 1))
    rig.api.show()
    rig.refuse()
    await rig.pass_time(FIRST_PAUSE_SECONDS)  # While the place is remembered.
    assert rig.evicted() == ["on-a", "on-b"], "the one of B is less important by now"
