"""Hypothesis strategies: crowded clusters with volumes, and pods that find no place or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests import builders
from tests.builders import HOST, ZONE, Pod
from tests.conformance import arguments, crowded, spreading
from tests.conformance.questions import Drawn
from tests.strategies import rarely

if TYPE_CHECKING:
    from collections.abc import Sequence

REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
GI = 1024
SPACE = "alpha"
PLAIN, NEEDED, MEASURED = "plain.example.com", "needed.example.com", "measured.example.com"
_MODES = (*[["ReadWriteOnce"]] * 5, ["ReadWriteOncePod"], ["ReadOnlyMany"])
_PLACES: Sequence[list[list[tuple[str, ...]]] | None] = (
    None,
    None,
    [[(ZONE, "In", "x")]],
    [[(ZONE, "In", "y")]],
    [[(HOST, "In", "node-0", "node-1")]],
    [[(ZONE, "In", "x"), (HOST, "NotIn", "node-0")], [(ZONE, "In", "y")]],
    [[(ZONE, "Exists")]],
    [[]],
)
_DISKS: Sequence[dict[str, Any]] = (
    {"gcePersistentDisk": {"pdName": "disk"}},
    {"gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
    {"awsElasticBlockStore": {"volumeID": "disk", "readOnly": True}},
    {"iscsi": {"targetPortal": "p", "iqn": "disk", "lun": 0}},
    {"iscsi": {"targetPortal": "p", "iqn": "disk", "lun": 1, "readOnly": True}},
    {"rbd": {"monitors": ["a", "b"], "image": "disk", "pool": "rbd"}},
    {"rbd": {"monitors": ["b"], "image": "disk", "pool": "rbd", "readOnly": True}},
    {"rbd": {"monitors": ["c"], "image": "disk", "pool": "rbd"}},
    {"csi": {"driver": PLAIN}},
    {"emptyDir": {}},
)
_CLASSES = (
    ("plain", PLAIN, "WaitForFirstConsumer"),
    ("needed", NEEDED, "WaitForFirstConsumer"),
    ("measured", MEASURED, "WaitForFirstConsumer"),
    ("by-hand", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    ("in-tree", "kubernetes.io/gce-pd", "WaitForFirstConsumer"),
    ("at-once", PLAIN, "Immediate"),
)
_ALLOWED: Sequence[list[dict[str, list[str]]]] = (
    [{ZONE: ["x"]}],
    [{ZONE: ["x", "y"]}],
    [{ZONE: ["x"], HOST: ["node-0"]}, {ZONE: ["y"]}],
    [{}],
)
_OF_CLAIMS = ("plain", "plain", "needed", "measured", "measured", "by-hand", "by-hand", "in-tree")


def cases() -> st.SearchStrategy[Drawn]:
    """Draw a case of pods to be judged: a third with defaults, a third by other arguments."""
    usual = cases_without_defaults() | cases_with_defaults()
    return usual | usual.flatmap(arguments.with_arguments)


def cases_with_defaults() -> st.SearchStrategy[Drawn]:
    """Draw a case with default constraints."""
    return cases_without_defaults().flatmap(spreading.with_defaults)


@st.composite
def cases_without_defaults(draw: st.DrawFn) -> Drawn:
    """Draw a case of pods to be judged, in the shape that the Go program reads."""
    drawn = draw(crowded.cases())
    cluster, judged = drawn["cluster"], drawn["preemptions"]["pods"]
    names = [node["metadata"]["name"] for node in cluster["nodes"]]
    claims = [draw(_claims(f"claim-{number}", number, names)) for number in range(6)]
    judged = [draw(_with_volumes(pod, missing=True)) for pod in judged]
    of_judged = [draw(_ephemeral(number, pod, names)) for number, pod in enumerate(judged)]
    return Drawn(
        cluster=cluster
        | {
            "nodes": [draw(_placed(node)) for node in cluster["nodes"]],
            "pods": [draw(_with_volumes(pod, missing=False)) for pod in cluster["pods"]],
        },
        volumes={
            "persistentVolumes": [
                draw(_volumes(number, claims)) for number in range(draw(st.sampled_from([8, 4])))
            ],
            "persistentVolumeClaims": [*claims, *filter(None, of_judged)],
            "storageClasses": [draw(_classes(*each)) for each in _CLASSES],
            "csiNodes": [draw(_csi_nodes(name)) for name in names if not draw(rarely(6))],
            "csiDrivers": [
                {"metadata": {"name": PLAIN}, "spec": {}},
                {"metadata": {"name": MEASURED}, "spec": {"storageCapacity": True}},
                {"metadata": {"name": NEEDED}, "spec": {"preventPodSchedulingIfMissing": True}},
            ],
            "csiStorageCapacities": [draw(_capacities(n)) for n in range(3)],
            "volumeAttachments": [draw(_attachments(n, names)) for n in range(2)],
        },
        judged=judged,
    )


@st.composite
def _placed(draw: st.DrawFn, node: dict[str, Any]) -> dict[str, Any]:
    """Draw a region for a node, and whether its zone has the label of old."""
    labels = dict(node["metadata"]["labels"])
    if ZONE in labels and draw(rarely(6)):
        labels[BETA_ZONE] = labels.pop(ZONE)
    if draw(rarely(3)):
        labels[REGION] = draw(st.sampled_from(["r", "s"]))
    return node | {"metadata": node["metadata"] | {"labels": labels}}


@st.composite
def _claims(draw: st.DrawFn, name: str, number: int, names: Sequence[str]) -> dict[str, Any]:
    """Draw a claim; no two ask for as much, for the scheduler takes such in no certain order."""
    annotations = {}
    spec: dict[str, Any] = {
        "accessModes": draw(st.sampled_from(_MODES)),
        "resources": {"requests": {"storage": f"{number * 700 + 100}Mi"}},
    }
    spec |= {"storageClassName": draw(st.sampled_from([*_OF_CLAIMS * 4, "at-once", ""]))}
    if draw(rarely(3)):
        spec["volumeName"] = f"volume-{draw(st.sampled_from([*range(4), *range(4), *range(4), 9]))}"
        if not draw(rarely(10)):
            annotations["pv.kubernetes.io/bind-completed"] = "yes"
    elif draw(rarely(6)):
        annotations["volume.kubernetes.io/selected-node"] = draw(st.sampled_from(names))
    if draw(rarely(5)):
        spec["selector"] = draw(
            st.sampled_from([{"matchLabels": {"size": "a"}}, builders.selector(size="b")])
        )
    if draw(rarely(10)):
        spec["volumeMode"] = "Block"
    if draw(rarely(12)):
        spec["volumeAttributesClassName"] = "gold"
    metadata: dict[str, Any] = {"name": name, "namespace": SPACE, "uid": f"uid-{name}"}
    metadata["annotations"] = annotations
    if draw(rarely(60)):
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
    lost = draw(rarely(40))
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Lost" if lost else "Bound"}}


@st.composite
def _ephemeral(
    draw: st.DrawFn, number: int, pod: Pod, names: Sequence[str]
) -> dict[str, Any] | None:
    """Draw the claim that was made for a pod alone, if it was."""
    metadata = pod["metadata"]
    if metadata["namespace"] != SPACE or draw(rarely(8)):
        return None
    claim = draw(_claims(f"{metadata['name']}-scratch", 10 + number, names))
    if draw(rarely(3)):
        # Only of such a claim nobody says before that its volume is gone.
        claim["spec"]["volumeName"] = "volume-9"
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    uid = "somebody" if draw(rarely(8)) else metadata["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "any", "uid": uid, "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]
    return claim


@st.composite
def _volumes(draw: st.DrawFn, number: int, claims: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Draw a volume; no two are as large."""
    spec: dict[str, Any] = {
        "capacity": {"storage": f"{(number + 1) * 600}Mi"},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"],
        "storageClassName": draw(st.sampled_from(_OF_CLAIMS)),
    }
    if draw(rarely(6)):
        spec["accessModes"] = ["ReadOnlyMany"]
    if draw(rarely(10)):
        spec["volumeMode"] = "Block"
    if draw(rarely(10)):
        spec["volumeAttributesClassName"] = "gold"
    spec |= draw(_sources(number))
    labels = {"size": draw(st.sampled_from(["a", "b"]))}
    if draw(rarely(3)):
        # Of several zones, the driver for GCE would have to make a region.
        several = ["x", "y"] if "gcePersistentDisk" in spec else ["x__y", "x__"]
        value = draw(st.sampled_from(["x", "y", *several]))
        labels[draw(st.sampled_from([ZONE, BETA_ZONE]))] = value
    if draw(rarely(8)):
        labels[REGION] = draw(st.sampled_from(["r", "s"]))
    metadata: dict[str, Any] = {"name": f"volume-{number}", "labels": labels}
    phase = draw(st.sampled_from(["Available"] * 5 + ["Pending"]))
    if number < len(claims) and draw(rarely(4)):
        # Each for another claim, for of several the scheduler takes the first it comes by.
        claim = claims[number]["metadata"]
        uid = draw(st.sampled_from([claim["uid"], claim["uid"], "", "of one before"]))
        spec["claimRef"] = {"namespace": SPACE, "name": claim["name"], "uid": uid}
    if draw(rarely(15)):
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


@st.composite
def _sources(draw: st.DrawFn, number: int) -> dict[str, Any]:
    """Draw what a volume is of, and where it is."""
    source = draw(st.sampled_from(["csi", "csi", "csi", "nfs", "gce"]))
    if source == "gce":
        # A driver has taken over, and would say where the volume is.
        return {"gcePersistentDisk": {"pdName": f"disk-{number}"}}
    made: dict[str, Any] = {"nfs": {"server": "a", "path": "/"}}
    if source == "csi":
        driver = draw(st.sampled_from([PLAIN, PLAIN, NEEDED, MEASURED]))
        handle = draw(st.sampled_from([f"handle-{number}", "same"]))
        made = {"csi": {"driver": driver, "volumeHandle": handle}}
    place = draw(st.sampled_from(_PLACES))
    if place is not None:
        terms = [{"matchExpressions": [builders.requirement(*e) for e in each]} for each in place]
        made["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return made


@st.composite
def _classes(draw: st.DrawFn, name: str, provisioner: str, mode: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }
    if draw(rarely(2)):
        made["allowedTopologies"] = [
            {"matchLabelExpressions": [{"key": k, "values": v} for k, v in each.items()]}
            for each in draw(st.sampled_from(_ALLOWED))
        ]
    return made


@st.composite
def _csi_nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    drivers = []
    for driver in (PLAIN, NEEDED, MEASURED, "pd.csi.storage.gke.io"):
        if not draw(rarely(3)):
            count = draw(st.sampled_from([1, 1, 2, 3, 0, None]))
            limit = {} if count is None else {"allocatable": {"count": count}}
            drivers.append({"name": driver, "nodeID": name, "topologyKeys": [ZONE]} | limit)
    return {"metadata": {"name": name}, "spec": {"drivers": drivers}}


@st.composite
def _capacities(draw: st.DrawFn, number: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "metadata": {"name": f"capacity-{number}", "namespace": "kube-system"},
        "storageClassName": draw(st.sampled_from(["measured", "measured", "plain"])),
        "capacity": draw(st.sampled_from(["1Gi", "3Gi", "20Gi"])),
    }
    if not draw(rarely(6)):
        zone = draw(st.sampled_from(["x", "y"]))
        made["nodeTopology"] = draw(st.sampled_from([{}, {"matchLabels": {ZONE: zone}}]))
    if draw(rarely(3)):
        made["maximumVolumeSize"] = "2Gi"
    return made


@st.composite
def _attachments(draw: st.DrawFn, number: int, names: Sequence[str]) -> dict[str, Any]:
    volume = f"volume-{draw(st.sampled_from([0, 1, 2, 9]))}"
    spec = {
        "nodeName": draw(st.sampled_from(names)),
        "attacher": draw(st.sampled_from([PLAIN, NEEDED])),
        "source": {"persistentVolumeName": volume},
    }
    return {"metadata": {"name": f"attachment-{number}"}, "spec": spec}


@st.composite
def _with_volumes(draw: st.DrawFn, pod: Pod, *, missing: bool) -> Pod:
    """Draw volumes for a pod, where it is in the namespace that has claims."""
    if pod["metadata"]["namespace"] != SPACE:
        return pod
    volumes: list[dict[str, Any]] = []
    count = draw(st.sampled_from([1, 1, 2, 2, 0, 0]))
    numbers = draw(st.lists(st.sampled_from(range(6)), min_size=count, max_size=count, unique=True))
    for number in numbers:
        claim = "missing" if missing and draw(rarely(30)) else f"claim-{number}"
        volumes.append({"persistentVolumeClaim": {"claimName": claim}})
    if draw(rarely(2)):
        volumes.append(draw(st.sampled_from(_DISKS)))
    if missing and draw(rarely(4)):
        asks = {"requests": {"storage": "1Gi"}}
        template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": asks}}
        volumes.append({"ephemeral": {"volumeClaimTemplate": template}, "name": "scratch"})
    named = [{"name": f"v{n}"} | each for n, each in enumerate(volumes)]
    return Pod({**pod, "spec": {**pod["spec"], "volumes": named}})
