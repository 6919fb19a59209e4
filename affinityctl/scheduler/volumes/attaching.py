"""Volumes that one node has at a time: pods elsewhere are bound, and do not start."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from affinityctl.scheduler.volumes.claims import claim_of
from affinityctl.scheduler.volumes.ledger import VolumeLedger, ledger_of
from affinityctl.scheduler.volumes.objects import (
    READ_WRITE_ONCE_POD,
    PersistentVolumeClaim,
    claims_in,
)
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.node_resources import VOLUMES
from extender.core.model.objects import Pod
from extender.core.verbs.plugins import Unknown

READ_WRITE_ONCE: Final = "ReadWriteOnce"
OF_ONE_NODE: Final = frozenset((READ_WRITE_ONCE, READ_WRITE_ONCE_POD))


class Held(NamedTuple):
    """A claim of a pod, and the pod for which another node has its volume."""

    claim: str
    by: Key
    node: str

    def __str__(self) -> str:
        return f"node {self.node} has the volume of claim {self.claim} for {self.by}"


def held_elsewhere(
    state: ClusterState, pod: Pod, node: str, not_started: Container[Key] = ()
) -> Held | None:
    """Return a claim of a pod on a node whose volume has to be detached from another one first.

    No filter of the scheduler looks at that: the controller that attaches volumes refuses it
    (isMultiAttachForbidden) while a pod there uses the claim. Pods that have `not_started` for the
    same reason hold nothing. O(pods of the nodes that use a claim).
    """
    ledger = ledger_of(state)
    for use in claims_in(pod):
        claim = None if use.ephemeral else claim_of(state, pod, use)
        if claim is None or not is_of_one_node(ledger, claim, node):
            continue
        elsewhere = (each for each in ledger.nodes_using(claim.key) if each != node)
        for other in chain.from_iterable(map(state.pods_on, elsewhere)):
            keys = (each.key_for(other.key) for each in claims_in(other))
            if other.key not in not_started and claim.key in keys:
                return Held(claim.name, other.key, str(other.node))
    return None


def not_started(state: ClusterState, pod: Pod, nodes: Iterable[str]) -> Iterator[Unknown]:
    """Say of a pod that waits why it would start on none of the nodes that fit."""
    held: Held | None = None
    for node in nodes if pod.node is None and claims_in(pod) else ():
        held = held_elsewhere(state, pod, node)
        if held is None:
            return
    if held is not None:
        yield Unknown(
            VOLUMES,
            f"{held}, and one node has it at a time: the pod starts on no other until that pod is "
            "gone",
        )


def is_of_one_node(ledger: VolumeLedger, claim: PersistentVolumeClaim, node: str = "") -> bool:
    """Return whether one node at a time can have the volume of a claim.

    Where its class is not known either, it is taken to be one that has to be attached.
    """
    volume = ledger.volume_of(claim)
    modes = claim.spec.access_modes if volume is None else volume.access_modes
    if not modes or not modes <= OF_ONE_NODE:
        return False
    if volume is None and claim.storage_class not in ledger.classes:
        return True
    attached = ledger.attachable(claim, ledger.csi_nodes.get(node))
    if attached is None:
        return False  # such as a directory of the node, or a share that is mounted
    driver = ledger.csi_drivers.get(attached[0])
    return driver is None or driver.attaches
