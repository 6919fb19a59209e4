"""Nobody is evicted for what the API server does not have any more, however silent a watch is."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence

import pytest
from msgspec import structs

from extender.core.errors import ApiError
from extender.core.model.keys import Identity, Key
from extender.core.model.objects import Namespace, Node, SeenPod
from extender.core.model.objects import Pod as ModelPod
from extender.features.moving.last_look import MOST_NODES, MOST_SPACES
from extender.features.moving.ports import Evicted, Eviction
from tests.annotating import stored
from tests.beside import AFFINITY_ANNOTATION
from tests.builders import HOST, model_node, node, pod, selector, term
from tests.features.moving.evicting import GRACE, ON_SSD, ROOM, Rig

WEB, DB = selector(app="web"), selector(app="db")
SOLO = pod("solo").labels(app="solo").anti_affinity(term("zone", WEB))
NEAR_DB = pod("api").affinity(term("zone", DB))


def at_server(name: str, **labels: str) -> Node:
    """Return a node as the API server has it."""
    return model_node(node(name, {HOST: name} | labels, ROOM))


def without_disk() -> Rig:
    """Build a cluster in which a pod's node has lost its label, as far as the watch shows."""
    rig = Rig()
    rig.node("a", disk="ssd")
    rig.node("b", disk="ssd")
    rig.place(ON_SSD, "a")
    rig.node("a")
    return rig


def beside_another() -> Rig:
    """Build a cluster in which a pod has another one in its zone that it excludes."""
    rig = Rig()
    for name in ("a", "b"):
        rig.node(name, zone=name)
    rig.node("a2", zone="a")
    rig.place(SOLO, "a")
    rig.place(pod("web").labels(app="web"), "a2", owner="ReplicaSet/other")
    return rig


def without_partner() -> Rig:
    """Build a cluster in which a pod's partners are all in another zone."""
    rig = Rig()
    for name in ("a", "b"):
        rig.node(name, zone=name)
    rig.node("c", zone="c")
    rig.place(NEAR_DB, "a")
    rig.place(pod("db").labels(app="db"), "b", owner="ReplicaSet/db")
    return rig


def changed(rig: Rig, key: str, labels: dict[str, str]) -> SeenPod:
    """Return a pod as the API server has it: with other labels than the watch has shown."""
    known = rig.state.pods[key]
    own = known.pod_class
    other = type(own)(own.namespace, labels, own.affinity, own.written, own.size)
    return SeenPod(structs.replace(known, pod_class=other), "9")


def node_is_labelled_again(rig: Rig) -> None:
    rig.mover.objects.other["nodes/a"] = at_server("a", disk="ssd")


def node_is_gone(rig: Rig) -> None:
    rig.mover.objects.other["nodes/a"] = None


def target_is_cordoned(rig: Rig) -> None:
    raw = node("b", {HOST: "b", "disk": "ssd"}, ROOM)
    raw["spec"] = {"unschedulable": True}
    rig.mover.objects.other["nodes/b"] = model_node(raw)


def pod_has_moved_on(rig: Rig) -> None:
    known = rig.state.pods["default/disk"]
    rig.mover.objects.other["pods/default/disk"] = SeenPod(structs.replace(known, uid="next"), "9")


def pod_is_edited(rig: Rig) -> None:
    rig.mover.objects.other["pods/default/disk"] = changed(rig, "default/disk", {"new": "label"})


def namespace_is_relabelled(rig: Rig) -> None:
    rig.mover.objects.other["namespaces/default"] = Namespace("default", {"move-pods": "no"})


def it_cannot_be_asked(rig: Rig) -> None:
    def fails() -> None:
        raise ApiError(403, "Forbidden", "nodes is forbidden")

    rig.mover.objects.meanwhile = fails


@pytest.mark.parametrize(
    "at_the_server",
    [
        pytest.param(node_is_labelled_again, id="the label of its node is back"),
        pytest.param(node_is_gone, id="its node is gone"),
        pytest.param(target_is_cordoned, id="the node that would take it is cordoned"),
        pytest.param(pod_has_moved_on, id="another pod has its name"),
        pytest.param(pod_is_edited, id="it was edited"),
        pytest.param(namespace_is_relabelled, id="its namespace was relabelled"),
        pytest.param(it_cannot_be_asked, id="nobody may ask"),
    ],
)
async def test_a_pod_whose_picture_is_old_stays(at_the_server: Callable[[Rig], None]) -> None:
    rig = without_disk()
    at_the_server(rig)
    await rig.after(GRACE + 100)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"disk": "unconfirmed"}
    assert (rig.counted("unconfirmed") or 0) > 1
    rig.mover.objects.other.clear()
    rig.mover.objects.meanwhile = lambda: None
    await rig.after(300)
    assert rig.mover.evicted == ["disk"]


def beside_a_partner_elsewhere() -> Rig:
    """Build a cluster with a partner whose namespace is not chosen, as far as the watch shows."""
    rig = Rig()
    for name in ("a", "b"):
        rig.node(name, zone=name)
    rig.state.upsert_namespace(Namespace("chosen", {"team": "data"}))
    rig.state.upsert_namespace(Namespace("other", {}))
    rig.place(pod("api").affinity(term("zone", DB, namespaceSelector=selector(team="data"))), "a")
    for space, on in (("chosen", "b"), ("other", "a")):
        rig.place(pod("db", space).labels(app="db"), on, f"db-{space}", owner="ReplicaSet/db")
    return rig


async def test_a_pod_stays_whose_partner_is_in_a_namespace_that_was_relabelled() -> None:
    rig = beside_a_partner_elsewhere()
    rig.mover.objects.other["namespaces/other"] = Namespace("other", {"team": "data"})
    await rig.after(GRACE + 5)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"api": "unconfirmed"}
    rig.mover.objects.other.clear()
    await rig.after(300)
    assert rig.mover.evicted == ["api"]


async def test_a_pod_stays_if_too_many_namespaces_may_have_its_partner() -> None:
    rig = beside_a_partner_elsewhere()
    for number in range(MOST_SPACES):
        name = f"other{number}"
        rig.place(pod("db", name).labels(app="db"), "a", name, owner="ReplicaSet/db")
    await rig.after(GRACE + 5)
    assert rig.outcomes() == {"api": "unconfirmed"}


async def test_what_was_not_read_in_time_is_told_in_words(caplog: pytest.LogCaptureFixture) -> None:
    def too_late() -> None:
        raise TimeoutError  # as asyncio.timeout does, without a text

    caplog.set_level(logging.INFO, "extender.features.moving.last_look")
    rig = without_disk()
    rig.mover.objects.meanwhile = too_late
    await rig.after(GRACE + 5)
    assert rig.outcomes() == {"disk": "unconfirmed"}
    told = {each.getMessage() for each in caplog.records}
    assert told == {
        "default/disk: what its eviction hangs on cannot be read: not all of it within 2 s"
    }


RULES = json.dumps(
    {
        "podAntiAffinity": {
            "requiredDuringSchedulingRequiredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": WEB}
            ]
        }
    }
)


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        pytest.param("", RULES, id="who is in its way has rules in its annotation"),
        pytest.param(RULES, "", id="it has its rules from its annotation"),
    ],
)
@pytest.mark.parametrize("recorded", [True, False], ids=["on record", "not on record"])
async def test_a_pod_with_rules_in_its_annotation_is_read_as_the_watch_has_shown_it(
    mine: str, other: str, *, recorded: bool
) -> None:
    rig = beside_another()
    solo = pod("solo").labels(app="solo") if mine else SOLO
    for raw, rules, place, owner in (
        (solo, mine, "a", "ReplicaSet/web"),
        (pod("web").labels(app="web"), other, "a2", "ReplicaSet/other"),
    ):
        made = raw.uid(raw["metadata"]["name"]).on(place).owned_by(owner)
        made = made.annotated(AFFINITY_ANNOTATION, rules) if rules else made
        made = stored(made, made if recorded else None)
        rig.put(made)
        read = rig.reader.read(json.dumps(made).encode())
        rig.mover.objects.other[f"pods/{read.key}"] = SeenPod(read, "7")
    await rig.after(GRACE + 5)
    assert rig.outcomes() == {}
    assert rig.mover.evicted == ["solo"]


async def test_what_is_read_comes_right_before_the_eviction_and_after_the_lead() -> None:
    rig = without_disk()
    order: list[str] = []
    rig.leader.meanwhile = lambda: order.append("lead")
    rig.mover.objects.meanwhile = lambda: order.append("read")

    def evicts(_: ModelPod) -> Eviction:
        order.append("evict")
        return Eviction(Evicted.DONE)

    rig.mover.answer = evicts
    await rig.after(GRACE + 2)
    assert order == ["lead", "read", "read", "read", "read", "evict"]
    assert rig.mover.objects.asked == [
        "pods/default/disk",
        "nodes/a",
        "nodes/b",
        "namespaces/default",
    ]


def blocker_is_gone(rig: Rig) -> None:
    rig.mover.objects.other["pods/default/web"] = None


def blocker_is_relabelled(rig: Rig) -> None:
    rig.mover.objects.other["pods/default/web"] = changed(rig, "default/web", {"app": "other"})


def blocker_s_node_has_moved(rig: Rig) -> None:
    rig.mover.objects.other["nodes/a2"] = at_server("a2", zone="b")


@pytest.mark.parametrize(
    "at_the_server",
    [
        pytest.param(blocker_is_gone, id="it is gone"),
        pytest.param(blocker_is_relabelled, id="it is relabelled"),
        pytest.param(blocker_s_node_has_moved, id="its node is in another zone"),
    ],
)
async def test_nobody_goes_for_a_pod_that_is_in_nobody_s_way(
    at_the_server: Callable[[Rig], None],
) -> None:
    rig = beside_another()
    at_the_server(rig)
    await rig.after(GRACE + 100)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"solo": "unconfirmed"}


async def test_one_of_those_in_the_way_is_enough() -> None:
    rig = beside_another()
    rig.place(pod("web-2").labels(app="web"), "a2", owner="ReplicaSet/other")
    blocker_is_gone(rig)
    await rig.after(GRACE + 2)
    assert rig.mover.evicted == ["solo"]


def partner_is_back(rig: Rig) -> None:
    new = structs.replace(rig.state.pods["default/db"], uid="db-2", node="a")
    rig.mover.objects.listed = lambda pods: [*pods, new]


def partner_s_node_has_moved(rig: Rig) -> None:
    rig.mover.objects.other["nodes/b"] = at_server("b", zone="a")


def partners_are_too_many(rig: Rig) -> None:
    rig.mover.objects.listed = lambda _: None


def partners_are_on_too_many_nodes(rig: Rig) -> None:
    def everywhere(pods: Sequence[ModelPod]) -> list[ModelPod]:
        return [structs.replace(pods[0], node=f"n{number}") for number in range(MOST_NODES + 1)]

    rig.mover.objects.listed = everywhere


@pytest.mark.parametrize(
    "at_the_server",
    [
        pytest.param(partner_is_back, id="there is one"),
        pytest.param(partner_s_node_has_moved, id="one's node is in the zone by now"),
        pytest.param(partners_are_too_many, id="there are too many to tell"),
        pytest.param(partners_are_on_too_many_nodes, id="they are on too many nodes to tell"),
    ],
)
async def test_nobody_follows_a_partner_that_has_not_left(
    at_the_server: Callable[[Rig], None],
) -> None:
    rig = without_partner()
    at_the_server(rig)
    await rig.after(GRACE + 100)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"api": "unconfirmed"}


async def test_who_has_lost_its_partner_at_the_server_as_well_follows_it() -> None:
    rig = without_partner()
    await rig.after(GRACE + 2)
    assert rig.mover.evicted == ["api"]
    assert "pods" in rig.mover.objects.asked


async def test_a_stale_picture_evicts_nobody_of_forty() -> None:
    rig = Rig()
    for number in range(40):
        rig.node(f"n{number}", disk="ssd")
        rig.place(ON_SSD, f"n{number}", f"p{number}", owner=f"ReplicaSet/{number}")
    rig.node("spare", disk="ssd")
    for number in range(40):
        rig.node(f"n{number}")
        rig.mover.objects.other[f"nodes/n{number}"] = at_server(f"n{number}", disk="ssd")
    await rig.after(GRACE + 300)
    assert rig.mover.tried == []


# What may change between the last look and the eviction


async def test_a_doubt_that_comes_up_during_the_last_look_evicts_nobody() -> None:
    rig = without_disk()

    def goes_stale() -> None:
        rig.state.stale = "nothing received about nodes for too long"

    rig.mover.objects.meanwhile = goes_stale
    await rig.after(GRACE + 2)
    assert rig.mover.objects.asked
    assert rig.mover.tried == []


async def test_a_lead_that_is_lost_during_the_last_look_evicts_nobody() -> None:
    rig = without_disk()

    def loses() -> None:
        rig.leader.leads = False

    rig.mover.objects.meanwhile = loses
    await rig.after(GRACE + 2)
    assert rig.mover.objects.asked
    assert rig.mover.tried == []


async def test_a_breach_that_has_begun_anew_during_the_last_look_has_a_grace_period() -> None:
    rig = without_disk()

    def heals_and_breaks() -> None:
        rig.mover.objects.meanwhile = lambda: None
        rig.node("a", disk="ssd")
        assert rig.controller.broken.judge(rig.controller.broken.records["disk"].identity) is None
        rig.node("a")

    rig.mover.objects.meanwhile = heals_and_breaks
    await rig.after(GRACE + 2)
    assert rig.mover.objects.asked
    assert rig.mover.tried == []
    await rig.after(GRACE)
    assert rig.mover.evicted == ["disk"]


async def test_who_gets_company_in_misfortune_during_the_last_look_waits_with_them() -> None:
    rig = Rig(max_affected=0.1)
    for name in ("a", "b", "spare"):
        rig.node(name, disk="ssd")
    rig.place(ON_SSD, "a", "first", owner="ReplicaSet/first")
    rig.place(ON_SSD, "b", "second", owner="ReplicaSet/second")
    rig.node("a")

    def breaks_another() -> None:
        rig.mover.objects.meanwhile = lambda: None
        rig.node("b")
        rig.controller.broken.judge(Identity(Key("default/second"), "second"))

    rig.mover.objects.meanwhile = breaks_another
    await rig.after(GRACE + 2)
    assert rig.mover.tried == []
