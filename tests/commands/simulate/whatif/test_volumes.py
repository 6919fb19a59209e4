"""Pods that are placed take their claims along: what a simulation makes of volumes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.commands.simulate.applied import SimulationReader, read_applied
from affinityctl.commands.simulate.whatif.nodes import add_nodes, drain, lose
from affinityctl.commands.simulate.whatif.outcome import Step, pending
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.trials import try_each
from affinityctl.scheduler.volumes.ledger import ledger_of
from extender.core.model.stepping import at_once
from tests.builders import HOST, ZONE, Json, Pod, node, requirement, selector, term, workload
from tests.commands.simulate.whatif.cases import ROOM, read, scheduler_of
from tests.volumes import (
    AT_ONCE,
    BY_HAND,
    DRIVER,
    IN_X,
    IN_Y,
    WAIT,
    bound,
    claim,
    limited,
    put,
    storage_class,
    using,
    volume,
    with_volumes,
)

NODES = [
    node(name, {HOST: name, ZONE: zone}, ROOM)
    for name, zone in (("x1", "x"), ("x2", "x"), ("y1", "y"))
]


def drivers(*names: str, count: int | None = None) -> list[Json]:
    """Build CSINodes whose driver has its volumes zone by zone."""
    made = []
    for name in names:
        each = limited(name, count)
        each["spec"]["drivers"][0]["topologyKeys"] = [ZONE]
        made.append(each)
    return made


CLASS = {
    **WAIT,
    "metadata": {
        "name": "wait",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
}


def cluster(*objects: Json, pods: tuple[Pod, ...] = ()) -> Scheduler:
    """Build two zones, with volumes that are known, and pods that are there already."""
    scheduler = scheduler_of(NODES, [], pods)
    put(scheduler.state, [*objects, *([] if BY_HAND in objects else [CLASS])])
    return scheduler


def of_set(number: int, on: str) -> Pod:
    """Build a pod of a StatefulSet, with its claim."""
    return using(f"data-{number}", name=f"db-{number}").owned_by("StatefulSet/db").on(on)


def placed(scheduler: Scheduler, *pods: Json) -> list[str | None]:
    """Place pods one after the other; return where."""
    found = []
    for raw in pods:
        scheduler.add(read(raw))
        settle(scheduler)
        key = read(raw).key
        found.append(scheduler.state.pods[key].node)
    return found


def in_zone_of(name: str | None) -> list[str]:
    """Return the nodes of a node's zone."""
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in NODES}
    return [each for each in labels if labels[each][ZONE] == labels[str(name)][ZONE]]


def settle(scheduler: Scheduler) -> None:
    for _ in scheduler.settle():
        pass


def why(scheduler: Scheduler) -> list[str]:
    """Return what refuses nodes to the pods that wait."""
    found = pending(scheduler.state, scheduler.waiting, scheduler.profile)
    return [group.cause for each in found if each.explanation for group in each.explanation.groups]


def test_a_pod_with_a_zonal_volume_is_drained_to_a_node_of_its_zone() -> None:
    scheduler = cluster(bound("data-0", "v"), volume("v", IN_X), pods=(of_set(0, "x1"),))
    at_once(drain(scheduler, ["x1"]))
    assert scheduler.state.pods["default/db-0"].node == "x2"


def test_with_its_zone_lost_it_waits_for_its_volume() -> None:
    scheduler = cluster(bound("data-0", "v"), volume("v", IN_X), pods=(of_set(0, "x1"),))
    at_once(lose(scheduler, ["x1", "x2"], "zone=x"))
    assert scheduler.waits(read(of_set(0, "x1")).key)
    assert why(scheduler) == ["volume: claim data-0 is bound to a volume in zone x"]


def test_a_volume_that_is_made_stays_in_the_zone_of_its_node() -> None:
    scheduler = cluster(claim("data-0"), *drivers("x1", "x2", "y1"))
    [first] = placed(scheduler, using("data-0", name="db-0").owned_by("StatefulSet/db"))
    zone = "x" if str(first).startswith("x") else "y"
    at_once(
        lose(
            scheduler,
            [
                each["metadata"]["name"]
                for each in NODES
                if each["metadata"]["labels"][ZONE] == zone
            ],
            "zone",
        )
    )
    assert why(scheduler) == [f"volume: claim data-0 is bound to a volume in zone {zone}"]


def test_a_volume_made_by_hand_is_for_one_claim() -> None:
    scheduler = cluster(claim("one"), claim("two"), BY_HAND, volume("v", IN_X))
    first, second = placed(scheduler, using("one", name="p1"), using("two", name="p2"))
    assert (str(first)[0], second) == ("x", None)
    two = "claim two (class wait without a provisioner)"
    assert why(scheduler) == [f"volume: no volume for {two} is or can be made there"]


@pytest.mark.parametrize(
    ("asked", "there", "said"),
    [
        (
            claim("data", "now"),
            (AT_ONCE,),
            "data (class now of csi.example.com) waits for the provisioner to make its volume",
        ),
        (claim("data", volumeName="v"), (), "data waits to be bound to volume v"),
        (claim("data", "fast"), (), "data waits: there is no class fast"),
        (claim("data", ""), (), "data (without a class) waits for a volume that is made by hand"),
    ],
)
def test_what_an_unbound_claim_waits_for(asked: Json, there: tuple[Json, ...], said: str) -> None:
    scheduler = cluster(asked, volume("v"), *there)
    assert placed(scheduler, using("data")) == [None]
    assert why(scheduler) == [f"volume: claim {said}"]


def test_a_pod_that_differs_in_its_claim_alone_is_looked_at_for_itself() -> None:
    taken = volume("v", IN_Y, claimRef={"namespace": "default", "name": "one"})
    scheduler = cluster(claim("none"), bound("one", "v"), BY_HAND, taken)
    pods = (using("none", name="p1"), using("one", name="p2"))
    assert placed(scheduler, *pods) == [None, "y1"]


def test_a_claim_for_one_pod_alone_is_taken_by_the_first() -> None:
    scheduler = cluster(bound("data", "v", accessModes=["ReadWriteOncePod"]), volume("v"))
    first, second = placed(scheduler, using("data", name="p1"), using("data", name="p2"))
    assert (first is None, second) == (False, None)
    said = "volume: claim data is for one pod alone, and default/p1 has it"
    assert why(scheduler) == [said]


def test_placed_pods_count_against_the_limit_of_their_driver() -> None:
    claims = [claim(f"data-{number}") for number in range(4)]
    scheduler = cluster(*claims, *drivers("x1", "x2", "y1", count=1))
    pods = [using(f"data-{number}", name=f"p{number}") for number in range(4)]
    assert sorted(filter(None, placed(scheduler, *pods))) == ["x1", "x2", "y1"]
    said = "volume: as many volumes are attached as the node takes"
    assert why(scheduler) == [f"{said} (1 of 1 attached; this pod brings 1)"]


def test_a_new_node_has_the_drivers_and_limits_of_the_one_that_it_is_like() -> None:
    scheduler = cluster(*drivers("x1", count=1), claim("a"), claim("b"), claim("c"))
    at_once(add_nodes(scheduler, 1, "x1"))
    pods = [using(name, name=f"with-{name}") for name in "abc"]
    at_once(lose(scheduler, ["x2", "y1"], "the others"))
    assert sorted(map(str, placed(scheduler, *pods))) == ["None", "x1", "x1-1"]
    (cause,) = why(scheduler)
    assert "as many volumes are attached as the node takes (1 of 1 attached" in cause


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        pytest.param("drain", False, id="no volume follows to a node like the one that has it"),
        pytest.param("place", True, id="it has storage of its own"),
    ],
)
def test_a_new_node_is_another_place_for_volumes(change: str, *, fits: bool) -> None:
    key = "topology.example.com/node"
    there = [node(name, {HOST: name, key: name}, ROOM) for name in ("n1", "n2")]
    here = limited("n1", 9)
    here["spec"]["drivers"][0]["topologyKeys"] = [key]
    room = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "n1", "namespace": "csi"},
        "storageClassName": "wait",
        "nodeTopology": {"matchLabels": {key: "n1"}},
        "capacity": "9Gi",
    }
    tracked = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}
    pods = [of_set(0, "n1")] if change == "drain" else []
    scheduler = scheduler_of(there, [], pods)
    own = volume("v", requirement(key, "In", "n1"))
    put(scheduler.state, [CLASS, here, room, tracked, own, bound("data-0", "v"), claim("more")])
    at_once(add_nodes(scheduler, 1, "n1"))
    at_once(drain(scheduler, ["n1"]))
    found = placed(scheduler, *([] if pods else [using("more")]))
    assert (found == ["n1-1"]) is fits
    assert [each.key for each in scheduler.waiting] == ([] if fits else ["default/db-0"])


def test_replicas_of_a_stateful_set_get_the_claims_of_its_templates() -> None:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": "1Gi"}}}
    templates = [{"metadata": {"name": "data"}, "spec": spec}]
    raw = workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=templates)
    scheduler = cluster(*drivers("x1", "x2", "y1"))

    applied = read_applied("StatefulSet", json.dumps(raw).encode(), SimulationReader(), 3, "")
    for number in range(applied.wanted):
        scheduler.add(applied.make(number))
    settle(scheduler)
    made = ledger_of(scheduler.state).claims
    assert sorted(made) == ["default/data-db-0", "default/data-db-1"]
    assert all(each.bound and each.storage_class == "wait" for each in made.values())


@pytest.mark.parametrize(("named", "expected"), [(None, "wait"), ("", ""), ("fast", "fast")])
def test_a_claim_that_names_no_class_is_of_the_one_by_default(
    named: str | None, expected: str
) -> None:
    spec = {} if named is None else {"storageClassName": named}
    templates = [{"metadata": {"name": "data"}, "spec": spec}]
    raw = workload("StatefulSet", "db", replicas=1, volumeClaimTemplates=templates)
    scheduler = cluster(storage_class("fast"), storage_class("slow"))
    applied = read_applied("StatefulSet", json.dumps(raw).encode(), SimulationReader(), 3, "")
    scheduler.add(applied.make(0))
    (made,) = ledger_of(scheduler.state).claims.values()
    assert made.storage_class == expected


def test_a_volume_is_made_where_its_class_allows_it_if_the_driver_says_nothing() -> None:
    only_y = [{"matchLabelExpressions": [{"key": ZONE, "values": ["y"]}]}]
    scheduler = cluster(claim("data", "placed"), storage_class("placed", allowedTopologies=only_y))
    assert placed(scheduler, using("data").owned_by("ReplicaSet/web")) == ["y1"]
    at_once(lose(scheduler, ["y1"], "zone=y"))
    assert why(scheduler) == ["volume: claim data is bound to a volume in zone y"]


def test_a_volume_of_one_pod_alone_is_made_anew_for_its_successor() -> None:
    template = {"spec": {"storageClassName": "wait"}}
    own = with_volumes({"ephemeral": {"volumeClaimTemplate": template}}).owned_by("ReplicaSet/web")
    scheduler = cluster(*drivers("x1", "x2", "y1"))
    [first] = placed(scheduler, own)
    at_once(lose(scheduler, in_zone_of(first), "its zone"))
    settle(scheduler)
    [second] = {each.node for each in scheduler.state.pods.values()}
    assert {str(first)[0], str(second)[0]} == {"x", "y"}


def test_a_trial_takes_back_what_became_of_claims() -> None:
    template = {"spec": {"storageClassName": "wait"}}
    own = with_volumes({"ephemeral": {"volumeClaimTemplate": template}}).owned_by("ReplicaSet/web")
    scheduler = cluster(*drivers("x1", "x2", "y1"))
    [first] = placed(scheduler, own)
    ledger = ledger_of(scheduler.state)
    claims, volumes = dict(ledger.claims), dict(ledger.volumes)
    found = {"its zone": in_zone_of(first)}
    at_once(try_each(scheduler, Step("each"), found, lose))
    assert (ledger.claims, ledger.volumes) == (claims, volumes)


def test_the_claim_of_a_stateful_set_stays_when_its_pod_goes() -> None:
    templates = [{"metadata": {"name": "data"}, "spec": {}}]
    raw = workload("StatefulSet", "db", replicas=1, volumeClaimTemplates=templates)
    scheduler = cluster(*drivers("x1", "x2", "y1"))
    applied = read_applied("StatefulSet", json.dumps(raw).encode(), SimulationReader(), 3, "")
    scheduler.add(applied.make(0))
    settle(scheduler)
    [first] = {each.node for each in scheduler.state.pods.values()}
    at_once(lose(scheduler, in_zone_of(first), "its zone"))
    assert [each.key for each in scheduler.waiting] == ["default/db-0"]


@pytest.mark.parametrize(("asked", "known"), [(claim("data"), True), (bound("data", "v"), False)])
def test_where_no_claim_of_the_files_has_a_volume_there_is_none(asked: Json, known: bool) -> None:
    scheduler = scheduler_of(NODES, [], ())
    put(scheduler.state, [asked], kinds=())
    ledger_of(scheduler.state).files_read({"PersistentVolumeClaim"})
    assert ledger_of(scheduler.state).knows_volumes is known


def test_what_is_not_known_of_volumes_leaves_the_answer_open() -> None:
    scheduler = scheduler_of(NODES, [], ())
    [node_of_it] = placed(scheduler, using("data"))
    assert node_of_it is not None
    assert scheduler.uncertain
    assert [*scheduler.beyond] == ["volumes"]


ATTACHED: dict[str, Any] = {"csi": {"driver": DRIVER, "volumeHandle": "h"}}
TAKEN_ALONG = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"attachRequired": False}}
SHARED = bound("data", "v", accessModes=["ReadWriteOnce"])


def once(**source: Any) -> Json:
    return volume("v", accessModes=["ReadWriteOnce"], **source)


def sharing(name: str, on: str) -> Pod:
    """Build a pod that shares the claim with others, and may be on one node alone."""
    return using("data", name=name).selects(**{HOST: on})


@pytest.mark.parametrize(
    ("of_it", "on", "starts"),
    [
        pytest.param([once(**ATTACHED)], "x2", False, id="attached elsewhere"),
        pytest.param([once(**ATTACHED)], "x1", True, id="on the same node"),
        pytest.param([once()], "x2", True, id="nothing is attached"),
        pytest.param(
            [once(**ATTACHED), TAKEN_ALONG],
            "x2",
            True,
            id="its driver attaches none",
        ),
        pytest.param(
            [volume("v", accessModes=["ReadWriteOnce", "ReadOnlyMany"], **ATTACHED)],
            "x2",
            True,
            id="the volume allows several nodes",
        ),
    ],
)
def test_a_pod_starts_where_its_volume_is(of_it: list[Json], on: str, *, starts: bool) -> None:
    scheduler = cluster(SHARED, *of_it, pods=(sharing("old", "x1").on("x1"),))
    assert placed(scheduler, sharing("new", on)) == [on]
    assert (not scheduler.not_started) is starts
    assert scheduler.state.pods["default/new"].status.ready is starts


def test_it_starts_once_the_other_pod_is_gone() -> None:
    old = sharing("old", "x1").on("x1")
    scheduler = cluster(SHARED, once(**ATTACHED), pods=(old,))
    placed(scheduler, sharing("second", "x2"), sharing("third", "y1"))
    assert [*scheduler.not_started] == ["default/second", "default/third"]
    scheduler.remove(scheduler.state.pods["default/old"])
    assert {key: held.by for key, held in scheduler.not_started.items()} == {
        "default/third": "default/second"
    }


def test_a_trial_takes_back_which_pods_have_not_started() -> None:
    old = sharing("old", "x1").on("x1")
    scheduler = cluster(SHARED, once(**ATTACHED), pods=(old,))
    with scheduler.trial([]):
        placed(scheduler, sharing("new", "x2"))
        assert scheduler.not_started
    assert not scheduler.not_started


def test_of_two_that_are_drained_and_share_a_volume_one_does_not_start() -> None:
    pods = [
        using("data", name=name)
        .labels(app="web")
        .owned_by("ReplicaSet/web")
        .anti_affinity(term(HOST, selector(app="web")))
        .on("x1")
        for name in ("p1", "p2")
    ]
    scheduler = cluster(SHARED, once(**ATTACHED), pods=tuple(pods))
    step = at_once(drain(scheduler, ["x1"]))
    assert [each.pod for each in step.not_started] == ["default/p2"]
    scheduler = cluster(SHARED, once(**ATTACHED), pods=tuple(pods))
    (trial,) = at_once(try_each(scheduler, Step("each"), {"x1": ["x1"]}, drain)).trials or ()
    assert (trial.not_started, trial.hurts) == (["default/p2"], True)
    assert not scheduler.not_started
