"""One pod with volumes, as the scheduler's own filters judge it all together and as ours do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from affinityctl.volumes.ledger import ledger_of
from affinityctl.volumes.pod_volumes import read_pod_volumes
from affinityctl.volumes.resources import VOLUME_RESOURCES
from affinityctl.whatif.scheduling import BY_DEFAULT
from extender.cluster.state import ClusterState
from extender.model.verdict import OF_VOLUMES
from extender.resources import NAMESPACES, NODES, PODS
from extender.verbs.filtering import judge
from extender.wire.objects import PodReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from extender.model.objects import Pod
    from tests.conformance.asking import InTree

Case = dict[str, Any]
OF_THE_PLUGINS = {each.plugin for each in OF_VOLUMES}
UNSCHEDULABLE, UNRESOLVABLE = "Unschedulable", "UnschedulableAndUnresolvable"
_FIELDS = {
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "persistentVolumes": "PersistentVolume",
    "storageClasses": "StorageClass",
    "csiNodes": "CSINode",
    "csiDrivers": "CSIDriver",
    "csiStorageCapacities": "CSIStorageCapacity",
    "volumeAttachments": "VolumeAttachment",
}
Verdicts = dict[str, tuple[str, ...]]
"""By node that is refused: the plugin; where it is one about volumes, its code and reasons, too."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A pod that was not judged alike."""

    pod: int
    theirs: Verdicts
    ours: Verdicts


def differences(case: Case, in_tree: InTree) -> Iterator[Difference]:
    """Yield the pods that the extender judges otherwise than the scheduler."""
    state, pods = read(case)
    for number, (pod, said) in enumerate(zip(pods, in_tree.verdicts(case), strict=True)):
        theirs = {name: _theirs(each) for name, each in said["refused"].items()}
        ours = verdicts(state, pod)
        if ours != theirs:
            yield Difference(number, theirs, ours)


def _theirs(said: Mapping[str, Any]) -> tuple[str, ...]:
    if said["plugin"] not in OF_THE_PLUGINS:
        return (said["plugin"],)
    return (said["plugin"], said["code"], *said["reasons"])


def read(case: Case) -> tuple[ClusterState, list[Pod]]:
    """Read the cluster of a case, and the pods that are judged."""
    state = ClusterState()
    reader = PodReader(node_affinity=True, requirements=True, read_volumes=read_pod_volumes)
    for each in VOLUME_RESOURCES:
        ledger_of(state).known.add(each.kind)
    by_kind = {
        each.kind: each.storing(state, reader) for each in (*VOLUME_RESOURCES, NODES, NAMESPACES)
    }
    by_kind |= {PODS.kind: PODS.storing(state, reader)}
    for field, kind in _FIELDS.items():
        for raw in case["volumes"][field]:
            by_kind[kind](json.dumps(raw).encode())
    for field, kind in (("nodes", "Node"), ("namespaces", "Namespace"), ("pods", "Pod")):
        for raw in case["cluster"][field]:
            by_kind[kind](json.dumps(raw).encode())
    pods = [reader.read(json.dumps(raw).encode()) for raw in case["judged"]]
    for pod in pods:
        state.upsert_pod(pod)
    return state, pods


def verdicts(state: ClusterState, pod: Pod) -> Verdicts:
    """Return what the filters say of each node that they refuse together."""
    plugins = BY_DEFAULT.filters
    found: Verdicts = {}
    refused = judge(state, pod, state.nodes.asked(list(state.nodes)), plugins).refused
    for reason, names in refused:
        for name in names:
            found[name] = (reason.plugin,)
            if reason in OF_VOLUMES:
                code = UNSCHEDULABLE if reason.resolvable else UNRESOLVABLE
                found[name] = (reason.plugin, code, *_events(state, pod, name, reason.plugin))
    return found


def _events(state: ClusterState, pod: Pod, node: str, plugin: str) -> list[str]:
    """Return what the event says for one plugin."""
    asked = state.nodes.asked([node])
    events: dict[str, None] = {}
    for each in BY_DEFAULT.filters:
        for rule in each.rules(state, pod):
            if rule.reason in OF_VOLUMES and rule.reason.plugin == plugin and rule.hits(asked):
                events[rule.event] = None
    return [*events]
