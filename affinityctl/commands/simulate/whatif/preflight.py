"""What `kubectl drain` stops at, and what it does not: pods that are away until another runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from affinityctl.commands.simulate.whatif.successors import is_drained
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Controller, Pod
from extender.core.model.wording import some
from extender.core.model.workload import DAEMON_SET, JOB


class Preflight:
    """Looks at pods before their nodes are drained."""

    def __init__(self, state: ClusterState, scratch: Collection[str]) -> None:
        """`scratch` has the keys of pods with an emptyDir; O(pods)."""
        self._budgets = state.budgets
        self._scratch = scratch
        self._replicas: Counter[Controller] = Counter()
        for pod in state.pods.values():
            if pod.controller is not None and not pod.status.terminal:
                self._replicas[pod.controller] += 1

    def notes(self, pods: Iterable[Pod]) -> Iterator[str]:
        """Yield what there is to say of the pods on nodes that are drained."""
        there = [pod for pod in pods if not pod.status.terminal]
        going = [pod for pod in there if is_drained(pod)]
        kinds = ((pod, pod.spec.owner) for pod in there if not is_drained(pod))
        daemons = [pod for pod, by in kinds if by is not None and by.kind == DAEMON_SET]
        said = (
            (
                daemons,
                "kubectl drain needs --ignore-daemonsets: {} stays, of a DaemonSet",
                "kubectl drain needs --ignore-daemonsets: {} stay, of DaemonSets",
            ),
            (
                [pod for pod in going if pod.key in self._scratch],
                "kubectl drain needs --delete-emptydir-data: {} loses its emptyDir",
                "kubectl drain needs --delete-emptydir-data: {} lose their emptyDir",
            ),
            (
                [pod for pod in going if pod.spec.owner is None],
                "kubectl drain needs --force: {} has no controller",
                "kubectl drain needs --force: {} have no controller",
            ),
            (
                [pod for pod in going if self._is_alone(pod)],
                "{} is the only replica and in no budget: none runs until the next one does",
                "{} are each the only replica and in no budget: none runs until the next one does",
            ),
        )
        for found, one, several in said:
            if found:
                names = sorted(pod.key for pod in found)
                yield (several if found[1:] else one).format(some(names, len(names)))

    def _is_alone(self, pod: Pod) -> bool:
        controller, owner = pod.controller, pod.spec.owner
        # A Job has no service that would be missed.
        serves = owner is not None and owner.kind != JOB
        alone = serves and controller is not None and self._replicas[controller] == 1
        return alone and next(iter(self._budgets.protecting(pod)), None) is None
