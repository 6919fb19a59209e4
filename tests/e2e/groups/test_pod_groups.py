"""Pod groups: what kube-scheduler's group cycles do with an extender, gates switched on.

A group cycle asks about every waiting pod of a group and binds none before it has asked about all.
The scheduler's own plugins see where it means to put the pods asked about before; we do not. So in
`replace` groups have a profile of their own.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.beside import AFFINITY_ANNOTATION
from tests.e2e.api import key_of
from tests.e2e.extending import ASSIST, REPLACE, SHADOW
from tests.e2e.gangs import GROUPS, IMPORTANT, PROFILE, QUIET_S, group, member, told
from tests.e2e.gangs import gang as named_gang
from tests.e2e.judging import judging
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pods_path
from tests.e2e.scheduling import STOCK
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("_no_groups_left")

FEW = 6
"""A scheduler that retries without a pause asks thousands of times in QUIET_S."""

SOLO, CREW, DB = {"app": "solo"}, {"app": "crew"}, {"app": "db"}
ROLE = {"role": "leader"}
TWO_BY_TWO = [node(f"{zone}{number}", zone) for zone in "ab" for number in range(2)]

SOLOS = [pod(f"solo-{n}", labels=SOLO, apart=[term(HOSTNAME, SOLO)]) for n in range(4)]
CREWS = [pod(f"crew-{n}", labels=CREW, near=[term(ZONE, CREW)]) for n in range(4)]
FOLLOWERS = [
    pod("leader", labels=ROLE),
    *(pod(f"worker-{n}", near=[term(ZONE, ROLE)]) for n in range(2)),
]
BASIC: JSON = {"schedulingPolicy": {"basic": {}}}
STRANGERS = [pod(f"stranger-{n}", labels=SOLO, apart=[term(HOSTNAME, DB)]) for n in range(4)]


def gang(members: list[JSON], **spec: JSON) -> JSON:
    """Return a group all of whose pods must be placeable before one is bound."""
    return named_gang("group", len(members), **spec)


def _group(spec: JSON) -> JSON:
    return group("group", spec)


async def create(sandbox: Sandbox, group: JSON, members: list[JSON], mode: str = REPLACE) -> None:
    """Create pods and then their group: nobody is asked about one of them before it is there."""
    for each in members:
        await sandbox.api.create(pods_path(each), member(each, "group", mode))
    await sandbox.api.create(GROUPS, group)


async def placed(sandbox: Sandbox, members: list[JSON]) -> dict[str, str]:
    """Return the nodes of the pods, once all have one."""

    def nodes() -> dict[str, str]:
        pods = (sandbox.pods.objects.get(key_of(each)) for each in members)
        found = {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in pods if p}
        return {name: node for name, node in found.items() if node}

    await sandbox.pods.until(lambda: len(nodes()) == len(members), SETTLE_S, "the group's nodes")
    return nodes()


@pytest.mark.parametrize("mode", [in_e2e_all(STOCK), in_e2e_all(ASSIST), SHADOW])
@pytest.mark.parametrize("members", [SOLOS, CREWS], ids=["apart", "together"])
async def test_the_scheduler_keeps_required_rules_within_a_group(
    sandbox: Sandbox, mode: str, members: list[JSON]
) -> None:
    await sandbox.add(*TWO_BY_TWO)
    async with sandbox.scheduled_by(mode):
        await create(sandbox, gang(members), members, mode)
        await placed(sandbox, members)
        if sandbox.extender:
            asked = len(members) if mode == SHADOW else 0
            assert await sandbox.extender.calls("filter") == asked
            assert await sandbox.extender.calls("prioritize") > 0
            assert await sandbox.extender.calls("bind") == 0
    await sandbox.assert_lawful()


@pytest.mark.parametrize("mode", [in_e2e_all(STOCK), in_e2e_all(ASSIST), REPLACE])
async def test_soft_rules_among_the_pods_of_a_group_count_but_where_we_score(
    sandbox: Sandbox, mode: str
) -> None:
    # A little pull to zone b, and a stronger push away from each other.
    pull, push = [(1, term(ZONE, DB))], [(100, term(ZONE, SOLO))]
    members = [pod(f"soft-{n}", labels=SOLO, prefer_near=pull, prefer_apart=push) for n in range(2)]
    await sandbox.add(node("a1", "a"), node("b1", "b"), pod("db", labels=DB, on="b1"))
    async with sandbox.scheduled_by(mode):
        await create(sandbox, gang(members), members, mode)
        nodes = await placed(sandbox, members)
    assert "b1" in nodes.values()
    assert (len(set(nodes.values())) == 1) is (mode == ASSIST)


async def test_each_callback_is_asked_once_about_a_member(sandbox: Sandbox) -> None:
    await sandbox.add(*TWO_BY_TWO, *(pod(f"db-{n}", labels=DB, on=n) for n in ("a0", "a1")))
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(STRANGERS), STRANGERS)
        await placed(sandbox, STRANGERS)
        assert sandbox.extender
        for verb in ("filter", "prioritize", "bind"):
            assert await sandbox.extender.calls(verb) == len(STRANGERS), verb
    await sandbox.assert_lawful()


async def test_nobody_of_a_gang_is_bound_when_one_of_it_is_refused(sandbox: Sandbox) -> None:
    members = [*STRANGERS, pod("choosy", near=[term(ZONE, {"app": "nobody"})])]
    await sandbox.add(*TWO_BY_TWO)
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(members), members)
        choosy = members[-1]
        # Something else may be told before it, such as a group that the scheduler did not see yet.
        why = "node(s) didn't match pod affinity rules"
        await sandbox.pods.until(lambda: why in told(sandbox, choosy)[1], SETTLE_S, "the refusal")
        assert sandbox.extender
        assert await sandbox.extender.calls("bind") == 0
    assert len(sandbox.waiting()) == len(members)


async def test_a_topology_constraint_asks_us_about_one_domain_at_a_time(sandbox: Sandbox) -> None:
    constraint = {"topology": [{"key": ZONE}]}
    await sandbox.add(*TWO_BY_TWO, pod("db", labels=DB, on="a0"))
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(STRANGERS, schedulingConstraints=constraint), STRANGERS)
        nodes = await placed(sandbox, STRANGERS)
        assert sandbox.extender
        assert await sandbox.extender.calls("filter") == 2 * len(STRANGERS)
        assert await sandbox.extender.calls("bind") == len(STRANGERS)
    assert len({name[0] for name in nodes.values()}) == 1
    await sandbox.assert_lawful()


@pytest.mark.parametrize(
    "members", [SOLOS, [pod("plain")]], ids=["with rules about one another", "without any rule"]
)
async def test_a_group_in_a_profile_of_mode_replace_waits_and_says_which_to_use(
    sandbox: Sandbox, members: list[JSON]
) -> None:
    await sandbox.add(*TWO_BY_TWO)
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(members), members, STOCK)
        # 1.38 tells the first member, and of the others that there was an error.
        await sandbox.pods.until(
            lambda: any(f"schedulerName {PROFILE}" in told(sandbox, each)[1] for each in members),
            SETTLE_S,
            "the reason",
        )
        await sandbox.pods.until(
            lambda: all(told(sandbox, each)[0] for each in members), SETTLE_S, "all to be told"
        )
        # An autoscaler adds nodes for what is Unschedulable; here they would not help.
        assert {told(sandbox, each)[0] for each in members} == {"SchedulerError"}
        assert sandbox.extender
        before = await sandbox.extender.calls("filter")
        # Nothing is to happen from now on, so there is nothing to wait for.
        await asyncio.sleep(QUIET_S)
        assert await sandbox.extender.calls("filter") - before <= FEW
    assert len(sandbox.waiting()) == len(members)


@pytest.mark.parametrize("members", [SOLOS, CREWS], ids=["apart", "together"])
async def test_the_pods_of_a_group_that_is_no_gang_keep_their_rules(
    sandbox: Sandbox, members: list[JSON]
) -> None:
    await sandbox.add(*TWO_BY_TWO)
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, _group(BASIC), members)
        await placed(sandbox, members)
    await sandbox.assert_lawful()


async def test_a_topology_constraint_goes_with_rules_among_the_members(sandbox: Sandbox) -> None:
    constraint = {"topology": [{"key": ZONE}]}
    pair = SOLOS[:2]
    await sandbox.add(*TWO_BY_TWO, pod("solo", labels=SOLO, on="a0"))
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(pair, schedulingConstraints=constraint), pair)
        assert set((await placed(sandbox, pair)).values()) == {"b0", "b1"}
    await sandbox.assert_lawful()


def annotated(each: JSON, term: JSON) -> JSON:
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    annotations = {AFFINITY_ANNOTATION: json.dumps(rules)}
    return each | {"metadata": each["metadata"] | {"annotations": annotations}}


async def test_a_member_keeps_the_rules_that_its_annotation_has_about_others(
    sandbox: Sandbox,
) -> None:
    members = [annotated(pod(f"shy-{n}"), term(HOSTNAME, DB)) for n in range(3)]
    await sandbox.add(*TWO_BY_TWO, *(pod(f"db-{n}", labels=DB, on=n) for n in ("a0", "a1", "b0")))
    async with judging(sandbox):
        await create(sandbox, gang(members), members)
        assert set((await placed(sandbox, members)).values()) == {"b1"}


async def test_members_with_rules_about_one_another_in_annotations_wait(sandbox: Sandbox) -> None:
    members = [annotated(pod(f"solo-{n}", labels=SOLO), term(HOSTNAME, SOLO)) for n in range(3)]
    await sandbox.add(*TWO_BY_TWO)
    async with judging(sandbox):
        await create(sandbox, gang(members), members)
        await sandbox.pods.until(
            lambda: any("into their specs" in told(sandbox, each)[1] for each in members),
            SETTLE_S,
            "the reason",
        )
        # Nothing is to happen from now on, so there is nothing to wait for.
        await asyncio.sleep(QUIET_S)
    assert len(sandbox.waiting()) == len(members)


async def test_the_last_pod_of_a_group_is_placed_like_any_other(sandbox: Sandbox) -> None:
    there = [
        member(each | {"spec": each["spec"] | {"nodeName": where}}, "group")
        for each, where in zip(SOLOS, ("a0", "a1", "b0"), strict=False)
    ]
    await sandbox.add(*TWO_BY_TWO, *there)
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(SOLOS), SOLOS[3:])
        assert await placed(sandbox, SOLOS[3:]) == {"solo-3": "b1"}
    await sandbox.assert_lawful()


@pytest.mark.usefixtures("_important")
async def test_who_is_in_the_way_of_a_group_is_evicted_without_asking_us(sandbox: Sandbox) -> None:
    victims = [pod(f"victim-{on}", on=on) for on in ("a1", "b1")]
    for each in victims:
        each["spec"]["terminationGracePeriodSeconds"] = 0
    important = [each | {"spec": each["spec"] | IMPORTANT} for each in SOLOS[:2]]
    await sandbox.add(node("a1", "a", pods=1), node("b1", "b", pods=1), *victims)
    async with sandbox.scheduled_by(REPLACE):
        await create(sandbox, gang(important, **IMPORTANT), important)
        await placed(sandbox, important)
        assert sandbox.extender
        # Victims for a group are chosen by asking filter as if they were gone already.
        assert await sandbox.extender.calls("preempt") == 0
    assert sorted(sandbox.places()) == ["default/solo-0", "default/solo-1"]


@pytest.mark.long
@pytest.mark.parametrize("mode", [STOCK, REPLACE])
@pytest.mark.usefixtures("_important")
async def test_nobody_goes_for_a_gang_that_the_rules_refuse_all_the_same(
    sandbox: Sandbox, mode: str
) -> None:
    rock, victim = pod("rock", labels=DB, on="a1"), pod("victim", labels=DB, on="b1")
    rock["spec"] |= IMPORTANT
    members = [each | {"spec": each["spec"] | IMPORTANT} for each in STRANGERS[:2]]
    # There is room for one of the two, once the victim is gone.
    await sandbox.add(node("a1", "a"), node("b1", "b", pods=1), rock, victim)
    async with sandbox.scheduled_by(mode):
        await create(sandbox, gang(members, **IMPORTANT), members, mode)
        await sandbox.pods.until(
            lambda: all(told(sandbox, each)[0] for each in members), SETTLE_S, "the refusals"
        )
        # Nothing is to happen from now on, so there is nothing to wait for.
        await asyncio.sleep(QUIET_S)
    pods = sandbox.pods.objects.values()
    assert [
        each["metadata"]["name"] for each in pods if "deletionTimestamp" in each["metadata"]
    ] == []
    assert sandbox.places() == {"default/rock": "a1", "default/victim": "b1"}


TOGETHER: JSON = {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}
"""A group whose pods are evicted together."""
LONE = pod("lone", apart=[term(HOSTNAME, DB)])


@pytest.mark.parametrize(
    ("nodes", "members", "gone"),
    [
        pytest.param(
            [node("a1", pods=2)],
            [pod("one", on="a1"), pod("two", on="a1")],
            {"one", "two"},
            id="on the node that lacks room: as a whole",
        ),
        pytest.param(
            [node("a1", pods=1), node("b1", pods=1)],
            [pod("one", on="a1"), pod("two", on="b1")],
            set(),
            id="on several nodes: the scheduler cannot read an extender's answer about these",
        ),
        pytest.param(
            [node("a1")],
            [pod("one", labels=DB, on="a1"), pod("two", on="a1")],
            set(),
            id="in the way of a rule: no one of them is evicted by us",
        ),
        pytest.param(
            [node("a1", pods=2)],
            [pod("one", labels=DB, on="a1"), pod("two", on="a1")],
            {"one", "two"},
            id="in the way of a rule, and named by the scheduler",
        ),
    ],
)
@pytest.mark.usefixtures("_important")
async def test_a_group_goes_as_a_whole_or_not_at_all(
    sandbox: Sandbox, nodes: list[JSON], members: list[JSON], gone: set[str]
) -> None:
    for each in members:
        each["spec"]["terminationGracePeriodSeconds"] = 0
    lone = LONE | {"spec": LONE["spec"] | IMPORTANT}
    await sandbox.add(*nodes)
    await create(sandbox, _group(TOGETHER), members)
    async with sandbox.scheduled_by(REPLACE):
        await sandbox.api.create(pods_path(lone), lone)
        if gone:
            await placed(sandbox, [lone])
        else:
            await sandbox.decided(key_of(lone))
            # Nothing is to happen from now on, so there is nothing to wait for.
            await asyncio.sleep(QUIET_S)
    left = {each["metadata"]["name"] for each in sandbox.pods.objects.values()}
    assert {"one", "two"} - left == gone
