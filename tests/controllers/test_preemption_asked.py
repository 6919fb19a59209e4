"""What preempt answers for the candidates of the scheduler."""

from __future__ import annotations

from extender.verbs.preempting import Victims
from tests.builders import Pod, model_pod
from tests.controllers.preempting import (
    HIGH,
    MIDDLE,
    ON_A,
    ON_B,
    A,
    PreemptionRig,
    db,
    important,
    plain,
    raw_of,
    server,
)


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
