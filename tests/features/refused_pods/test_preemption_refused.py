"""PreemptionController where the API server refuses, fails, or does not answer."""

from __future__ import annotations

import pytest

from extender.core.cluster.ledgers.nominated_pods import MOST_HELD_SECONDS
from extender.core.errors import ApiError
from extender.core.kube.failures import NoAnswerError
from extender.core.timing import LONGEST_PAUSE_SECONDS
from extender.features.refused_pods.evictions import DENIED_SECONDS, FIRST_DENIED_SECONDS
from extender.features.refused_pods.preemption import FIRST_PAUSE_SECONDS
from extender.features.refused_pods.record import LAG_SECONDS, LONGEST_RETRY_SECONDS
from extender.features.refused_pods.victim_sets import EVICTING_SECONDS
from tests.builders import model_pod
from tests.features.refused_pods.preempting import ON_A, ON_B, A, B, PreemptionRig
from tests.important_pods import db, important

# Faults


NO_RIGHT = 'pods "on-a" is forbidden: User "extender" cannot delete resource "pods"'
"""As authorizers say it."""
DENIED = 'admission webhook "keep.example.com" denied the request: it is to stay'
GUARDED = "ValidatingAdmissionPolicy 'keep' denied request: such pods cannot be deleted"


def refuses(*words: str, status: int = 403, why: str = NO_RIGHT) -> object:
    """Return what fails calls of these kinds."""

    def fails(call: str) -> Exception | None:
        if call.partition(" ")[0] in words:
            return ApiError(status, "Reason", why)
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


@pytest.mark.parametrize(
    ("why", "within"),
    [
        pytest.param(NO_RIGHT, 2 * FIRST_DENIED_SECONDS, id="the right, for a moment"),
        pytest.param(DENIED, 1.0, id="the deletion of one pod, by a webhook"),
        pytest.param(GUARDED, 1.0, id="the same, by a policy in other words"),
    ],
)
async def test_what_is_denied_once_keeps_others_waiting_for_a_short_time_at_most(
    why: str, within: float
) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important(), important("second"))
    rig.api.fails = lambda call: ApiError(403, "Forbidden", why) if call == "try on-a" else None
    rig.refuse()
    await rig.pass_time()
    assert rig.evicted() == []
    if why == NO_RIGHT:
        rig.api.fails = lambda _: None
    rig.refuse("second")
    await rig.pass_time(within)
    assert rig.evicted() != []


async def test_what_is_denied_for_a_moment_for_several_victims_keeps_others_waiting_no_longer() -> (
    None
):
    others = [db("more-a", "a"), db("more-b", "b")]
    rig = PreemptionRig([A, B], ON_A, ON_B, *others, important(), important("second"))
    rig.api.fails = refuses("mark")  # type: ignore[assignment]
    rig.refuse()
    await rig.pass_time()
    assert rig.eviction_counts() == {"failed": 2}
    stay = ApiError(403, "Forbidden", DENIED)
    rig.api.fails = lambda call: stay if call in {"mark on-a", "mark more-a"} else None
    rig.refuse("second")
    for _ in range(4):
        await rig.pass_time(FIRST_DENIED_SECONDS / 2)
    assert rig.counts() == {"started": 2}


async def test_without_the_right_any_more_nothing_further_is_begun() -> None:
    rig = PreemptionRig([A], ON_A, important(), important("second"))
    rig.refuse()
    await rig.pass_time()
    rig.api.bind("important", "a")
    rig.api.pods["default-more"] = model_pod(db("more", "a"))
    rig.api.show()
    rig.api.fails = refuses("try", "delete")  # type: ignore[assignment]
    for _ in range(2):
        rig.refuse("second")
        await rig.pass_time()
        await rig.pass_time(EVICTING_SECONDS)
    assert rig.counts() == {"started": 2, "bound": 1, "failed": 1}
    begun = rig.done()
    for _ in range(3):
        rig.refuse("second")
        await rig.pass_time()
        await rig.pass_time(DENIED_SECONDS)
    assert rig.done() == begun


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


async def test_the_watch_may_be_behind_from_the_deletion_of_victims_on() -> None:
    rig, asks = PreemptionRig([A], ON_A, important()), model_pod(important())
    rig.api.grace = True
    rig.api.fails = refuses("delete", status=500)  # type: ignore[assignment]
    rig.refuse()
    await rig.pass_time()
    assert rig.controller.leaving(asks)
    await rig.pass_time(LAG_SECONDS)
    assert not rig.controller.leaving(asks)
    rig.api.fails = lambda _: None
    await rig.pass_time(LONGEST_RETRY_SECONDS)
    assert rig.evicted() == ["on-a"]
    assert rig.controller.leaving(asks)
    await rig.pass_time(LAG_SECONDS)
    assert not rig.controller.leaving(asks)


async def test_who_cannot_be_evicted_at_all_is_given_up() -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.fails = refuses("delete", status=500)  # type: ignore[assignment]
    rig.refuse()
    await rig.pass_time()
    while "failed" not in rig.counts() and rig.now < 100 + 2 * EVICTING_SECONDS:
        await rig.pass_time(1)
    assert rig.done("nominate") == ["nominate important None->a", "nominate important a->None"]
    assert rig.counts() == {"started": 1, "failed": 1}


@pytest.mark.parametrize("words", [("mark",), ("delete",), ("nominate",)])
@pytest.mark.parametrize("status", [403, 500])
async def test_victims_that_can_never_be_had_hold_domains_for_so_long_in_all(
    words: tuple[str, ...], status: int
) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.api.fails = refuses(*words, status=status)  # type: ignore[assignment]
    held = 0
    for _ in range(1800):
        rig.refuse()
        await rig.pass_time(1.0)
        held += bool(rig.state.nominated.preempting)
    assert rig.evicted() == []
    assert held <= MOST_HELD_SECONDS + 1
    rig.api.fails = lambda _: None
    await rig.pass_time(LONGEST_PAUSE_SECONDS)
    assert rig.evicted() == ["on-a"], "that it failed is nothing against it"


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
        rig.api.pods[wanted.uid] = wanted.with_status(nominated="b")
    assert rig.done() == ["nominate important None->a overtaken"]
    assert rig.counts() == {"overtaken": 1}
