"""One cluster and pods, judged by all of the scheduler's filter plugins together and by ours."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from affinityctl.commands.simulate.whatif.outcome import explain
from affinityctl.scheduler.arguments import profiles_in
from affinityctl.scheduler.default_spread.selectors import VERSIONS
from affinityctl.scheduler.judging import Judging
from affinityctl.scheduler.profiles import BY_DEFAULT, Profile
from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.scheduler.volumes.pod_volumes import read_pod_volumes
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import NODE_RESOURCES_FIT, OF_VOLUMES, Reason
from extender.core.resources import NAMESPACES, NODES, PODS
from extender.core.verbs.filtering import judge
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explanation import events_of
from tests.beside import COVERS_ALL, RULES
from tests.builders import empty_state, every_facet
from tests.conformance.skipped import SKIPPED, without_rules_of_nominated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from extender.core.model.objects import Pod
    from tests.conformance.asking import InTree

Case = dict[str, Any]
READER = PodReader(
    facets=every_facet(),
    rules=RULES,
    node_selection=True,
    owners=True,
    requirements=True,
    read_volumes=read_pod_volumes,
)
Verdict = tuple[str, tuple[str, ...], bool | None]
"""The first plugin that refuses a node, its reasons, and whether evicting pods might help.

Of room that is not said: whether it might depends on how much the whole node has.
"""

_UNRESOLVABLE = "UnschedulableAndUnresolvable"
FIELDS = {
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "persistentVolumes": "PersistentVolume",
    "storageClasses": "StorageClass",
    "csiNodes": "CSINode",
    "csiDrivers": "CSIDriver",
    "csiStorageCapacities": "CSIStorageCapacity",
    "volumeAttachments": "VolumeAttachment",
    "nodes": "Node",
    "namespaces": "Namespace",
    "pods": "Pod",
}
"""In the order in which they are read."""
_SPREADING = {
    "services": "Service",
    "replicationControllers": "ReplicationController",
    "replicaSets": "ReplicaSet",
    "statefulSets": "StatefulSet",
}
DEFAULT_SPREAD = "DEFAULT_SPREAD"
"""Said of a node that a default constraint refuses."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A pod that was not judged alike."""

    pod: int
    theirs: Mapping[str, Verdict]
    ours: Mapping[str, Verdict]


def differences(case: Case, in_tree: InTree) -> Iterator[Difference]:
    """Yield the pods for which the extender comes to something else than the scheduler."""
    answers = in_tree.verdicts(case)
    every = in_tree.release.empty_selects_all
    seeing, blind = verdicts(case, empty_selects_all=every), list[dict[str, Verdict]]()
    if any(said.get(SKIPPED) for said in answers):
        blind = verdicts(without_rules_of_nominated(case), empty_selects_all=every)
    for number, said in enumerate(answers):
        ours = (blind if said.get(SKIPPED) else seeing)[number]
        theirs = {node: _theirs(each) for node, each in said["refused"].items()}
        if ours != theirs:
            yield Difference(number, theirs, ours)


def _theirs(said: Mapping[str, Any]) -> Verdict:
    plugin, curable = said["plugin"], said["code"] != _UNRESOLVABLE
    reasons = tuple(sorted({*said["reasons"]}))
    return plugin, reasons, None if plugin == NODE_RESOURCES_FIT else curable


def read(case: Case, *, empty_selects_all: bool = False) -> tuple[ClusterState, list[Pod]]:
    """Read the cluster of a case as the command line does, and the pods that are judged."""
    state = empty_state(scope=COVERS_ALL, empty_selects_all=empty_selects_all)
    ledger_of(state).known.update(each.kind for each in VOLUME_RESOURCES)
    resources = (*VOLUME_RESOURCES, NODES, NAMESPACES, PODS)
    storing = {each.kind: each.storing(state, READER) for each in resources}
    objects = case.get("volumes", {}) | case["cluster"]
    for field, kind in FIELDS.items():
        for raw in objects.get(field, ()):
            storing[kind](json.dumps(raw).encode())
    return state, [READER.read(json.dumps(raw).encode()) for raw in case["judged"]]


def profile_of(case: Case) -> Profile:
    """Read the profiles of a case as out of a scheduler's file."""
    by = Judging()
    by.selectors.known.update(VERSIONS)
    for name, kind in _SPREADING.items():
        for raw in case.get("spreading", {}).get(name, ()):
            by.selectors.take(kind, json.dumps(raw).encode())
    file = case.get("scheduler")
    return by.of_scheduler({} if file is None else profiles_in(json.dumps(file).encode())).profile


def verdicts(case: Case, *, empty_selects_all: bool = False) -> list[dict[str, Verdict]]:
    """Judge all nodes for each judged pod of a case, as the extender does."""
    state, pods = read(case, empty_selects_all=empty_selects_all)
    profile = profile_of(case)
    return [judged(state, pod, profile) for pod in pods]


def judged(state: ClusterState, pod: Pod, profile: Profile = BY_DEFAULT) -> dict[str, Verdict]:
    """Judge all nodes for a pod that waits; those that fit are left out."""
    found = dict[str, Verdict]()
    state.upsert_pod(pod)
    for name, refusals in explain(state, pod, profile).refused.items():
        reason = refusals[0].reason
        curable = reason.resolvable or reason is Reason.PORTS
        plugin, reasons = reason.plugin, tuple(sorted(events_of(refusals)))
        found[name] = plugin, reasons, None if plugin == NODE_RESOURCES_FIT else curable
    state.remove_pod(pod.key, pod.uid)
    return found


class Refused:
    """Counts the nodes that one plugin alone refuses, by its reason."""

    def __init__(self) -> None:
        self.pods = 0
        self.fits = 0
        self.alone: Counter[str] = Counter(dict.fromkeys(EVERY, 0))

    def add(self, case: Case) -> None:
        state, pods = read(case)
        profiles = profile_of(case)
        asked = state.nodes.asked(list(state.nodes))
        for pod in pods:
            profile = profiles.of(pod)
            by_node: dict[str, list[str]] = {name: [] for name in asked.names}
            by_default = any(each.is_default for each in profile.constraints(pod))
            state.upsert_pod(pod)
            for plugin in profile.filters:
                for reason, names in judge(state, pod, asked, [plugin]).refused:
                    is_default = by_default and reason is Reason.SPREAD
                    for name in names:
                        by_node[name].append(DEFAULT_SPREAD if is_default else reason.name)
            state.remove_pod(pod.key, pod.uid)
            self.pods += 1
            self.fits += any(not each for each in by_node.values())
            for each in filter(None, by_node.values()):
                if len(each) == 1:
                    self.alone[each[0]] += 1

    @property
    def never(self) -> list[str]:
        """The reasons that have never been the only one."""
        return [reason for reason, count in self.alone.items() if not count]

    def __str__(self) -> str:
        alone = ", ".join(f"{count} {reason.lower()}" for reason, count in self.alone.items())
        return f"{self.pods} pods, {self.fits} fit somewhere; alone refused nodes: {alone}"


EVERY = (
    *(
        each.name
        for each in (
            Reason.UNSCHEDULABLE,
            Reason.TAINT,
            Reason.NOT_NAMED,
            Reason.NO_NAME,
            Reason.NODE_AFFINITY,
            Reason.ENFORCED_NODE_AFFINITY,
            Reason.PORTS,
            Reason.RESOURCES,
            Reason.SPREAD,
            Reason.SPREAD_LABEL,
            Reason.AFFINITY,
            Reason.ANTI_AFFINITY,
            Reason.EXISTING_ANTI_AFFINITY,
        )
    ),
    DEFAULT_SPREAD,
    *sorted(each.name for each in OF_VOLUMES),
)
