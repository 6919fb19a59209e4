"""Which pods are made again elsewhere when they go."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from extender.model.objects import Pod
from extender.model.workload import DAEMON_SET, STATIC, Owner

STAYING: Final = frozenset((DAEMON_SET, STATIC))
"""Controllers whose pods belong to their node: they are not drained, and not made elsewhere."""


def owner_of(pod: Pod) -> Owner | None:
    """Return the controller of a pod."""
    return None if pod.tenure is None else pod.tenure.owner


def belongs_to_node(pod: Pod) -> bool:
    """Return whether a pod comes and goes with its node."""
    owner = owner_of(pod)
    return owner is not None and owner.kind in STAYING


def successor(pod: Pod) -> Pod | None:
    """Return the pod that a controller makes in place of another; None where none does.

    It has the other's name here, so that one can tell where it was.
    """
    if owner_of(pod) is None or belongs_to_node(pod) or pod.deleting:
        return None
    return replace(pod, uid=f"{pod.uid}'", node=None, preempted=False, victim_of=None, started=None)
