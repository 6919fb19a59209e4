"""What `kubectl drain` stops at, and what it does not: pods that are away until another runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from affinityctl.whatif.scheduling import belongs_to_node
from extender.cluster.state import ClusterState
from extender.model.objects import Controller, Pod
from extender.model.wording import plural, some
from extender.model.workload import STATIC


class Preflight:
    """Looks at pods before their nodes are drained."""

    def __init__(self, state: ClusterState, scratch: Collection[str]) -> None:
        """`scratch` has the keys of pods with an emptyDir; O(pods)."""
        self._budgets = state.budgets
        self._scratch = scratch
        self._replicas: Counter[Controller] = Counter()
        for pod in state.pods.values():
            if pod.controller is not None and not pod.terminal:
                self._replicas[pod.controller] += 1

    def notes(self, pods: Iterable[Pod]) -> Iterator[str]:
        """Yield what there is to say of the pods on nodes that are drained."""
        there = [pod for pod in pods if not pod.terminal]
        going = [pod for pod in there if not belongs_to_node(pod)]
        daemons = [pod for pod in there if pod.owner is not None and belongs_to_node(pod)]
        lacking = {
            "--ignore-daemonsets": [each for each in daemons if not _is_static(each)],
            "--delete-emptydir-data": [pod for pod in going if pod.key in self._scratch],
            "--force": [pod for pod in going if pod.owner is None],
        }
        for flag, found in lacking.items():
            if found:
                yield f"kubectl drain stops without {flag}: {_named(found)}"
        if alone := [pod for pod in going if self._is_alone(pod)]:
            yield (
                "the only replica of its controller and in no budget, so away until the next one "
                f"runs: {_named(alone)}"
            )

    def _is_alone(self, pod: Pod) -> bool:
        controller = pod.controller
        alone = controller is not None and self._replicas[controller] == 1
        return alone and next(iter(self._budgets.protecting(pod)), None) is None


def _is_static(pod: Pod) -> bool:
    return pod.owner is not None and pod.owner.kind == STATIC


def _named(pods: Sequence[Pod]) -> str:
    names = sorted(pod.key for pod in pods)
    return f"{plural(len(names), 'pod')}, {some(names, len(names))}"
