"""What volumes say of nodes: cases of upstream's own table tests of the four plugins about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.scheduler.profiles import OF_VOLUMES
from affinityctl.scheduler.volumes.claims import VolumeClaims, not_looked_at
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import judge
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.filters import NotModelledVolumes
from tests.builders import HOST, ZONE, Json, model_node, node, pod, requirement
from tests.volumes import (
    AT_ONCE,
    BY_HAND,
    DRIVER,
    IN_X,
    IN_Y,
    READER,
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

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
REGION = "topology.kubernetes.io/region"
NODES = [node("a", {HOST: "a", ZONE: "x"}), node("b", {HOST: "b", ZONE: "y"})]


def state_of(*objects: Json, nodes: list[Json] | None = None) -> ClusterState:
    """Build a cluster of which all is known that has to do with volumes."""
    state = ClusterState()
    for each in NODES if nodes is None else nodes:
        state.upsert_node(model_node(each))
    put(state, (each for each in objects if each["kind"] != "Pod"))
    for each in objects:
        if each["kind"] == "Pod":
            state.upsert_pod(READER.read(json.dumps(each).encode()))
    return state


def refusals(state: ClusterState, raw: Json) -> dict[str, list[str]]:
    """Return for each node that is refused what the event says of it."""
    asked = READER.read(json.dumps(raw).encode())
    plugins = (VolumeClaims(), *OF_VOLUMES)
    names = state.nodes.asked(list(state.nodes))
    found: dict[str, list[str]] = {}
    refused = judge(state, asked, names, plugins).refused
    for reason, hit in refused:
        rules = [rule for each in plugins for rule in each.rules(state, asked)]
        for name in hit:
            one = state.nodes.asked([name])
            of = [e for e in rules if e.reason.plugin == reason.plugin and e.hits(one)]
            found[name] = list(dict.fromkeys(each.event for each in of))
    return found


def case(sentence: str, objects: list[Json], asked: Json, expected: dict[str, list[str]]) -> Any:
    """Name a case by what it shows."""
    return pytest.param(objects, asked, expected, id=sentence)


ELSEWHERE, NONE = Reason.VOLUME_ELSEWHERE.value, Reason.NO_VOLUME_TO_BIND.value
CONFLICT, IN_USE = Reason.DISK.value, Reason.CLAIM_IN_USE.value


def everywhere(event: str) -> dict[str, list[str]]:
    """Say it of all nodes."""
    return {"a": [event], "b": [event]}


OF_CLASSES = [
    volume("silver", IN_X, volumeAttributesClassName="silver"),
    volume("gold", IN_Y, volumeAttributesClassName="gold"),
]


def with_metadata(raw: Json, **more: Any) -> Json:
    """Add to the metadata of an object."""
    return {**raw, "metadata": raw["metadata"] | more}


def tracking(**spec: Any) -> Json:
    """Build a driver that says where it has room."""
    made = {"storageCapacity": True} | spec
    return {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": made}


def capacity(**more: Any) -> Json:
    """Build what a driver says of the room that it has somewhere."""
    made = {"storageClassName": "wait", "capacity": "1Gi"} | more
    metadata = {"name": "c", "namespace": "default"}
    return {"kind": "CSIStorageCapacity", "metadata": metadata, **made}


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
FREE_SPACE = Reason.STORAGE.value
ONLY_Y = storage_class(
    "wait", allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["y"]}]}]
)
IN_TREE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "foo"}}
EPHEMERAL = with_volumes({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
OF_NEW = [{"kind": "Pod", "name": "new", "uid": "default-new", "controller": True}]
BOUND_EPHEMERAL = with_metadata(bound("new-v0", "v"), ownerReferences=OF_NEW)
LOST = {**bound("data", "v"), "status": {"phase": "Lost"}}
BINDING = [
    case("a pod without claims fits everywhere", [], pod("new"), {}),
    case(
        "a claim whose volume is there fits everywhere",
        [bound("data", "v"), volume("v")],
        using("data"),
        {},
    ),
    case(
        "a claim that is not there refuses all nodes",
        [],
        using("data"),
        everywhere('persistentvolumeclaim "data" not found'),
    ),
    case(
        "of several claims the one that is missing is named",
        [bound("data", "v"), volume("v")],
        using("data", "logs"),
        everywhere('persistentvolumeclaim "logs" not found'),
    ),
    case(
        "a claim of an immediate class has to be bound before",
        [claim("data", "now"), AT_ONCE],
        using("data"),
        everywhere("pod has unbound immediate PersistentVolumeClaims"),
    ),
    case(
        "a claim that names its volume counts as immediate",
        [claim("data", volumeName="v"), volume("v"), WAIT],
        using("data"),
        everywhere("pod has unbound immediate PersistentVolumeClaims"),
    ),
    case(
        "without a volume or a provisioner there is no match",
        [claim("data"), BY_HAND],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "a bound and an unbound claim are both told",
        [bound("data", "v"), volume("v", IN_X, storageClassName=""), claim("logs"), BY_HAND],
        using("data", "logs"),
        {"a": [NONE], "b": [ELSEWHERE, NONE]},
    ),
    case(
        "a volume that does not exist refuses all nodes",
        [bound("data", "v")],
        using("data"),
        everywhere('persistentvolume "v" not found'),
    ),
    case(
        "a lost claim names its volume",
        [LOST],
        using("data"),
        everywhere('persistentvolumeclaim "data" bound to non-existent persistentvolume "v"'),
    ),
    case(
        "local volumes are where they are",
        [claim("data"), BY_HAND, volume("v", requirement(HOST, "In", "b"))],
        using("data"),
        {"a": [NONE]},
    ),
    case(
        "two claims need two volumes",
        [claim("data"), claim("logs", size="2Gi"), BY_HAND, volume("v", IN_X), volume("w", IN_Y)],
        using("data", "logs"),
        everywhere(NONE),
    ),
    case(
        "the smaller claim takes the smaller volume",
        [
            claim("large", size="3Gi"),
            claim("small"),
            BY_HAND,
            volume("five", IN_X),
            volume("two", IN_X, size="2Gi"),
        ],
        using("large", "small"),
        {"b": [NONE]},
    ),
    case(
        "the smaller claim chooses first, as there may be less for it to choose from",
        [
            claim("large", size="3Gi"),
            claim("small", selector={"matchLabels": {"disk": "fast"}}),
            BY_HAND,
            volume("five", labels={"disk": "fast"}),
            volume("six", size="6Gi"),
        ],
        using("large", "small"),
        {},
    ),
    case(
        "a volume of another attributes class will not do",
        [claim("data", volumeAttributesClassName="gold"), BY_HAND, *OF_CLASSES],
        using("data"),
        {"a": [NONE]},
    ),
    case(
        "nor one of any for a claim of none",
        [claim("data"), BY_HAND, *OF_CLASSES],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "a volume that is bound beforehand is taken where it is",
        [
            claim("data"),
            WAIT,
            volume("v", IN_Y, claimRef={"namespace": "default", "name": "data"}),
        ],
        using("data"),
        {},
    ),
    case(
        "a volume is made where the class allows it",
        [
            claim("data"),
            storage_class(
                "wait",
                allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["y"]}]}],
            ),
        ],
        using("data"),
        {"a": [NONE]},
    ),
    case(
        "a volume that is being made for a node ties the pod to it",
        [
            {
                **claim("data"),
                "metadata": {
                    "name": "data",
                    "annotations": {"volume.kubernetes.io/selected-node": "b"},
                },
            },
            WAIT,
        ],
        using("data"),
        {"a": [NONE]},
    ),
    case(
        "a driver that tracks capacity has too little everywhere but in one zone",
        [
            claim("data"),
            WAIT,
            tracking(),
            capacity(nodeTopology={"matchLabels": {ZONE: "x"}}),
        ],
        using("data"),
        {"b": [Reason.STORAGE.value]},
    ),
]

SUITING = [
    case("a volume of just its size", [claim("data", size="5Gi"), volume("v")], using("data"), {}),
    case(
        "none that is a byte too small",
        [claim("data", size=str((5 << 30) + 1)), volume("v")],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "no block device for a file system",
        [claim("data"), volume("v", volumeMode="Block")],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "a block device for a block device",
        [claim("data", volumeMode="Block"), volume("v", volumeMode="Block")],
        using("data"),
        {},
    ),
    case(
        "none that is being deleted",
        [claim("data"), with_metadata(volume("v"), **GOING)],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "none that a claim had which is gone",
        [claim("data"), {**volume("v"), "status": {"phase": "Released"}}],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "none that the claim's selector does not match",
        [claim("data", selector={"matchLabels": {"disk": "fast"}}), volume("v")],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "none that lacks a mode of access",
        [
            claim("data", accessModes=["ReadWriteOnce", "ReadWriteMany"]),
            volume("v", accessModes=["ReadWriteOnce"]),
        ],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "one with further modes of access",
        [
            claim("data", accessModes=["ReadWriteOnce"]),
            volume("v", accessModes=["ReadWriteOnce", "ReadWriteMany"]),
        ],
        using("data"),
        {},
    ),
    case(
        "its own where that is, and no other",
        [
            claim("data"),
            volume("v", IN_Y, claimRef={"namespace": "default", "name": "data"}),
            volume("w"),
        ],
        using("data"),
        {"a": [NONE]},
    ),
    case(
        "none that a former claim of its name has",
        [
            claim("data"),
            volume("v", claimRef={"namespace": "default", "name": "data", "uid": "former"}),
        ],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "one that is in one place or in another",
        [claim("data"), volume("v", IN_X, IN_Y)],
        using("data"),
        {},
    ),
    case(
        "the smallest, though a larger one is everywhere",
        [
            claim("small"),
            claim("large", size="8Gi"),
            volume("two", IN_X, size="2Gi"),
            volume("nine", size="9Gi"),
        ],
        using("small", "large"),
        {"b": [NONE]},
    ),
]


@pytest.mark.parametrize(("objects", "asked", "expected"), SUITING)
def test_which_volume_made_by_hand_suits_a_claim(
    objects: list[Json], asked: Json, expected: dict[str, list[str]]
) -> None:
    assert refusals(state_of(*objects, BY_HAND), asked) == expected


MAKING = [
    case(
        "a class that allows a place without labels allows none",
        [claim("data"), storage_class("wait", allowedTopologies=[{}])],
        using("data"),
        everywhere(NONE),
    ),
    case(
        "where its driver says nothing of room there is room",
        [claim("data"), WAIT, tracking(storageCapacity=False)],
        using("data"),
        {},
    ),
    case(
        "room of another class is none",
        [claim("data"), WAIT, tracking(), capacity(storageClassName="other", nodeTopology={})],
        using("data"),
        everywhere(FREE_SPACE),
    ),
    case(
        "room that is nowhere is none",
        [claim("data"), WAIT, tracking(), capacity()],
        using("data"),
        everywhere(FREE_SPACE),
    ),
    case(
        "where it cannot be made nothing is said of room",
        [claim("data"), ONLY_Y, tracking()],
        using("data"),
        {"a": [NONE], "b": [FREE_SPACE]},
    ),
    case(
        "the node affinity of an in-tree volume is its driver's to read",
        [bound("data", "v"), volume("v", IN_Y, **IN_TREE)],
        using("data"),
        {},
    ),
    case(
        "its zone is read all the same",
        [bound("data", "v"), volume("v", IN_Y, labels={ZONE: "y"}, **IN_TREE)],
        using("data"),
        {"a": ["node(s) had no available volume zone"]},
    ),
    case(
        "but not the zone of a volume that a pod has for itself",
        [BOUND_EPHEMERAL, volume("v", labels={ZONE: "y"})],
        EPHEMERAL,
        {},
    ),
    case(
        "whose volume does not exist fits nowhere",
        [BOUND_EPHEMERAL],
        EPHEMERAL,
        everywhere(Reason.VOLUME_GONE.value),
    ),
    case(
        "a claim that is being deleted refuses all nodes",
        [with_metadata(bound("data", "v"), **GOING), volume("v")],
        using("data"),
        everywhere('persistentvolumeclaim "data" is being deleted'),
    ),
]


@pytest.mark.parametrize(("objects", "asked", "expected"), [*BINDING, *MAKING])
def test_volume_binding(objects: list[Json], asked: Json, expected: dict[str, list[str]]) -> None:
    assert refusals(state_of(*objects), asked) == expected


@pytest.mark.parametrize(
    ("of_volume", "of_node", "fits"),
    [
        pytest.param({ZONE: "x"}, {}, True, id="a node without labels takes any volume"),
        pytest.param({BETA_ZONE: "x"}, {BETA_ZONE: "x"}, True, id="the beta zone matches"),
        pytest.param({BETA_ZONE: "x"}, {BETA_ZONE: "y"}, False, id="the beta zone differs"),
        pytest.param({BETA_REGION: "x"}, {BETA_REGION: "y"}, False, id="the beta region differs"),
        pytest.param({ZONE: "x"}, {ZONE: "x"}, True, id="the zone matches"),
        pytest.param({ZONE: "x"}, {ZONE: "y"}, False, id="the zone differs"),
        pytest.param({REGION: "x"}, {REGION: "y"}, False, id="the region differs"),
        pytest.param({ZONE: "x__y"}, {ZONE: "y"}, True, id="one of several zones matches"),
        pytest.param({ZONE: "x__"}, {ZONE: "y"}, True, id="a broken list of zones says nothing"),
        pytest.param(
            {ZONE: "x", REGION: "r"}, {ZONE: "x"}, False, id="the node lacks the volume's region"
        ),
        pytest.param({ZONE: "x"}, {BETA_ZONE: "x"}, False, id="the node has the beta label only"),
        pytest.param({BETA_ZONE: "x"}, {ZONE: "x"}, True, id="the volume has the beta label alone"),
        pytest.param({BETA_ZONE: "x"}, {ZONE: "y"}, False, id="beta and new labels differ"),
    ],
)
def test_volume_zone(of_volume: dict[str, str], of_node: dict[str, str], fits: bool) -> None:
    objects = [bound("data", "v"), volume("v", labels=of_volume)]
    found = refusals(state_of(*objects, nodes=[node("a", of_node)]), using("data"))
    assert found == ({} if fits else {"a": ["node(s) had no available volume zone"]})


GCE, READ_ONLY = {"pdName": "foo"}, {"readOnly": True}
RBD = {"monitors": ["a", "b"], "pool": "bar", "image": "foo"}


@pytest.mark.parametrize(
    ("there", "asked", "fits"),
    [
        pytest.param({"gcePersistentDisk": GCE}, {"gcePersistentDisk": GCE}, False, id="same disk"),
        pytest.param(
            {"gcePersistentDisk": GCE},
            {"gcePersistentDisk": {"pdName": "bar"}},
            True,
            id="another disk",
        ),
        pytest.param(
            {"gcePersistentDisk": GCE | READ_ONLY},
            {"gcePersistentDisk": GCE | READ_ONLY},
            True,
            id="all only read it",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "foo"} | READ_ONLY},
            {"awsElasticBlockStore": {"volumeID": "foo"} | READ_ONLY},
            False,
            id="no two pods may have an EBS volume",
        ),
        pytest.param(
            {"iscsi": {"iqn": "foo", "lun": 0}}, {"iscsi": {"iqn": "foo"}}, False, id="same iqn"
        ),
        pytest.param(
            {"rbd": RBD}, {"rbd": RBD | {"monitors": ["b"]}}, False, id="one monitor shared"
        ),
        pytest.param(
            {"rbd": RBD}, {"rbd": RBD | {"monitors": ["c"]}}, True, id="no monitor shared"
        ),
        pytest.param(
            {"gcePersistentDisk": GCE},
            {"gcePersistentDisk": GCE | READ_ONLY},
            False,
            id="the other one writes",
        ),
        pytest.param(
            {"gcePersistentDisk": GCE | READ_ONLY},
            {"gcePersistentDisk": GCE},
            False,
            id="the new one writes",
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "foo"}},
            {"awsElasticBlockStore": {"volumeID": "foo"}},
            True,
            id="the same name of another kind",
        ),
        pytest.param({"emptyDir": {}}, {"emptyDir": {}}, True, id="volumes without restrictions"),
    ],
)
def test_disks_of_two_pods(there: Json, asked: Json, fits: bool) -> None:
    state = state_of(with_volumes(there, name="old").on("a"))
    assert refusals(state, with_volumes(asked)) == ({} if fits else {"a": [CONFLICT]})


def test_a_claim_for_one_pod_alone_is_in_use_until_that_pod_goes() -> None:
    once = bound("data", "v", accessModes=["ReadWriteOncePod"])
    old = using("data", name="old").on("a")
    state = state_of(once, volume("v"), old)
    assert refusals(state, using("data")) == everywhere(IN_USE)
    state.remove_pod("default/old", "default-old")
    assert refusals(state, using("data")) == {}


def test_a_pod_on_a_node_that_is_gone_has_no_claim_for_itself() -> None:
    once = bound("data", "v", accessModes=["ReadWriteOncePod"])
    state = state_of(once, volume("v"), using("data", name="old").on("gone"))
    assert refusals(state, using("data")) == {}


@pytest.mark.parametrize(
    ("has_disk", "expected"),
    [
        pytest.param(True, {"a": [IN_USE]}, id="the plugin is asked for the sake of a disk"),
        pytest.param(False, {}, id="the scheduler leaves the plugin out"),
    ],
)
def test_a_nominated_pod_has_its_claim_for_itself(
    has_disk: bool, expected: dict[str, list[str]]
) -> None:
    once = bound("data", "v", accessModes=["ReadWriteOncePod"])
    state = state_of(once, volume("v"), using("data", name="nominated").nominated("a"))
    asked = using("data")
    if has_disk:
        disk = {"name": "disk", "gcePersistentDisk": {"pdName": "disk"}}
        asked["spec"]["volumes"].append(disk)
    plugins = (VolumeClaims(), *OF_VOLUMES)
    pod = READER.read(json.dumps(asked).encode())
    refused = judge(state, pod, state.nodes.asked(["a", "b"]), plugins).refused
    assert {name: [reason.value] for reason, names in refused for name in names} == expected


def csi(name: str) -> Json:
    """Build a volume that the driver attaches."""
    return volume(name, csi={"driver": DRIVER, "volumeHandle": name})


def attached(name: str) -> Json:
    """Build what says that a volume is attached to node a."""
    source = {"persistentVolumeName": name}
    spec = {"nodeName": "a", "attacher": DRIVER, "source": source}
    return {"kind": "VolumeAttachment", "metadata": {"name": f"of-{name}"}, "spec": spec}


COUNT = Reason.VOLUME_COUNT.value
ATTACHED = [bound("one", "v1"), csi("v1"), bound("two", "v2"), csi("v2"), WAIT]


@pytest.mark.parametrize(
    ("objects", "asked", "fits"),
    [
        pytest.param([limited("a", 2)], using("two"), True, id="within the limit"),
        pytest.param([limited("a", 1)], using("two"), False, id="beyond the limit"),
        pytest.param([limited("a", 1)], using("one"), True, id="a volume counts once on a node"),
        pytest.param([limited("a", None)], using("two"), True, id="no limit"),
        pytest.param([], using("two"), True, id="no CSINode"),
        pytest.param(
            [limited("a", 1), claim("later")], using("later"), False, id="one that is to be made"
        ),
        pytest.param(
            [
                limited("a", 2),
                csi("v3"),
                attached("v3"),
            ],
            using("two"),
            False,
            id="one that is attached still, though its pod has gone",
        ),
        pytest.param(
            [limited("a", 2), attached("v1")],
            using("two"),
            True,
            id="one that is used and attached counts once",
        ),
    ],
)
def test_node_volume_limits(objects: list[Json], asked: Json, fits: bool) -> None:
    state = state_of(*ATTACHED, using("one", name="old").on("a"), *objects)
    assert refusals(state, asked) == ({} if fits else {"a": [COUNT]})


def test_a_disk_without_a_claim_counts_against_the_limit_of_its_driver() -> None:
    driver = {"name": "pd.csi.storage.gke.io", "nodeID": "a", "allocatable": {"count": 1}}
    has = {"kind": "CSINode", "metadata": {"name": "a"}, "spec": {"drivers": [driver]}}
    old = with_volumes({"gcePersistentDisk": {"pdName": "old"}}, name="old").on("a")
    asked = with_volumes({"gcePersistentDisk": {"pdName": "new"}})
    assert refusals(state_of(has, old), asked) == {"a": [COUNT]}
    assert refusals(state_of(has, old), {**old, "metadata": asked["metadata"]})["a"] == [CONFLICT]


def test_a_volume_of_a_nominated_pod_is_no_new_one_where_that_counts_first() -> None:
    large = claim("large", size="9Gi")
    state = state_of(*ATTACHED, BY_HAND, large, limited("a", 1), using("two").on("a"))
    asked = using("one", "large", name="asked")
    assert refusals(state, asked)["a"] == [COUNT]
    nominated = using("one", name="nominated").nominated("a")
    state.upsert_pod(READER.read(json.dumps(nominated).encode()))
    assert refusals(state, asked)["a"] == [NONE]


def test_a_driver_that_pods_cannot_do_without_has_to_be_on_the_node() -> None:
    spec = {"preventPodSchedulingIfMissing": True}
    driver = {"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": spec}
    state = state_of(*ATTACHED, driver, limited("a", None))
    assert refusals(state, using("one")) == {
        "b": [f"{DRIVER} CSI driver is not installed on the node"]
    }


def ephemeral(owner: str | None) -> list[Json]:
    """Build the claim of the pod's own volume, as its controller makes it."""
    if owner is None:
        return [WAIT]
    made = claim("new-v0")
    references = [{"kind": "Pod", "name": "new", "uid": owner, "controller": True}]
    return [{**made, "metadata": made["metadata"] | {"ownerReferences": references}}, WAIT]


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param("default-new", {}, id="its claim is there"),
        pytest.param(
            None,
            everywhere(
                "waiting for ephemeral volume controller to create the "
                'persistentvolumeclaim "new-v0"'
            ),
            id="its claim is not there yet",
        ),
        pytest.param(
            "somebody",
            everywhere("PVC default/new-v0 was not created for pod default/new (pod is not owner)"),
            id="somebody else's claim has its name",
        ),
    ],
)
def test_a_volume_that_a_pod_has_for_itself(
    owner: str | None, expected: dict[str, list[str]]
) -> None:
    asked = with_volumes({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    assert refusals(state_of(*ephemeral(owner), asked), asked) == expected


SELECTED = {"volume.kubernetes.io/selected-node": "gone"}
OTHER = capacity(storageClassName="other", nodeTopology={})


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param(
            [bound("data", "v"), volume("v", IN_X)],
            ("volume: claim data is bound to a volume in zone x", ""),
            id="where a volume is",
        ),
        pytest.param(
            [with_metadata(claim("data"), annotations=SELECTED), WAIT],
            (
                (
                    f"volume: no volume for claim data (class wait of {DRIVER}, being made for "
                    "gone, a node that there is not) is or can be made there"
                ),
                "Remove the annotation",
            ),
            id="made for a node that is gone",
        ),
        pytest.param(
            [claim("data"), WAIT, tracking(), OTHER],
            (
                f"volume: its driver reports no storage for claim data (class wait of {DRIVER})",
                "Find out whether the driver runs",
            ),
            id="no room is known of its class",
        ),
        pytest.param(
            [claim("data"), WAIT, tracking(), OTHER, with_metadata(capacity(), name="d")],
            (f"volume: too little free storage for claim data (class wait of {DRIVER})", ""),
            id="too little room",
        ),
    ],
)
def test_what_volumes_lack_is_said_in_words(objects: list[Json], expected: tuple[str, str]) -> None:
    state = state_of(*objects)
    asked = READER.read(json.dumps(using("data")).encode())
    rules = {rule.what: rule.advice for each in OF_VOLUMES for rule in each.rules(state, asked)}
    what, advice = expected
    assert rules[what].startswith(advice)
    assert bool(rules[what]) is bool(advice)


def test_what_is_not_known_refuses_nothing_and_is_said() -> None:
    state = ClusterState()
    for each in NODES:
        state.upsert_node(model_node(each))
    asked = READER.read(json.dumps(using("data")).encode())
    assert refusals(state, using("data")) == {}
    [said] = not_looked_at(state, asked)
    assert "persistentvolumeclaims, persistentvolumes, storageclasses, csinodes" in said


@pytest.mark.parametrize(
    ("asked", "objects", "said"),
    [
        pytest.param(using("data").on("a"), [claim("data"), WAIT], True, id="late, and named"),
        pytest.param(using("data"), [claim("data"), WAIT], False, id="late"),
        pytest.param(
            using("data").on("a"),
            [with_metadata(claim("data"), annotations=SELECTED), WAIT],
            False,
            id="a scheduler has placed it",
        ),
        pytest.param(using("data").on("a"), [bound("data", "v"), volume("v")], False, id="bound"),
    ],
)
def test_a_pod_past_the_scheduler_has_no_claim_bound(
    asked: Any, objects: list[Json], *, said: bool
) -> None:
    state = state_of(*objects)
    found = list(VolumeClaims().unknown(state, READER.read(json.dumps(asked).encode())))
    assert any("its claim data is bound when a scheduler" in each.text for each in found) is said


def test_a_volume_of_an_in_tree_plugin_is_said_not_to_be_looked_at() -> None:
    state = state_of(bound("data", "v"), volume("v", gcePersistentDisk={"pdName": "foo"}))
    [said] = not_looked_at(state, READER.read(json.dumps(using("data")).encode()))
    assert said.startswith("where the volume of its claim data is, of kubernetes.io/gce-pd")


def test_an_extender_says_of_pods_with_volumes_that_it_does_not_look_at_them() -> None:
    asked = PodReader(requirements=True).read(json.dumps(using("data")).encode())
    [said] = NotModelledVolumes().unknown(ClusterState(), asked)
    assert said.text.startswith("its volumes are not looked at by a running extender")
