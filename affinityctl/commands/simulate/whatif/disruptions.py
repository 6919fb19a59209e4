"""Whether the API server would evict a pod, by the budgets as pods come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from affinityctl.reading.rollouts import desired_healthy
from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Counted, PodDisruptionBudget
from extender.core.model.keys import Key, name_of
from extender.core.model.objects import Pod
from extender.core.model.wording import plural, some
from extender.core.model.workload import DAEMON_SET, JOB, STATIC, Identity

MOST_GRANTED: Final = 2_000
"""Granted evictions that the disruption controller has not seen yet; beyond them all are refused
(MaxDisruptedPodSize)."""
WITHOUT_SCALE: Final = frozenset((DAEMON_SET, JOB, STATIC))
"""Controllers whose number of pods the disruption controller cannot tell."""


class Refusal(NamedTuple):
    """Why the API server does not evict a pod."""

    budgets: tuple[Key, ...]
    why: str


def by_scale(budget: PodDisruptionBudget) -> bool:
    """Return whether a budget goes by how many pods their controllers want."""
    return budget.max_unavailable is not None or isinstance(budget.min_available, str)


class _Begun(NamedTuple):
    """A budget before all changes."""

    counted: Counted
    allowed: int
    fixed: bool = False
    """The disruption controller cannot count its pods, and so leaves the numbers as they are."""


class Disruptions:
    """What disruption budgets allow, as the disruption controller counts after each change.

    A budget's status is where it begins; a status that is missing, or older than the spec, is
    counted from the pods.
    """

    def __init__(self, state: ClusterState, wanted: Callable[[Identity, int], int]) -> None:
        """`wanted` says how many pods a workload wants, given how many are there."""
        self._state = state
        self._wanted = wanted
        self._begun: dict[str, tuple[PodDisruptionBudget, _Begun]] = {}
        """The budgets that were asked about, by key."""
        self._healthy: Counter[str] = Counter()
        """By how much the pods of a budget that are ready have grown."""
        self._scaled: Counter[str] = Counter()
        """The same of what the controllers of its pods want."""
        self._came: set[str] = set()
        """The uids of pods that have come to a node meanwhile."""

    def came(self, pod: Pod) -> None:
        self._came.add(pod.uid)
        self._count(pod, 1)

    def went(self, pod: Pod) -> None:
        if pod.node is not None and pod.status.ready and not pod.status.deleting:
            self._count(pod, -1)

    def scaled(self, pod: Pod, by: int) -> None:
        """Count that the controller of such a pod wants more or fewer."""
        for budget in self._state.budgets.protecting(pod):
            self._begin(budget)
            self._scaled[budget.key] += by

    def remembering(self) -> tuple[Counter[str], Counter[str]]:
        """Return what `take_back` needs."""
        return Counter(self._healthy), Counter(self._scaled)

    def take_back(self, remembered: tuple[Counter[str], Counter[str]]) -> None:
        """Forget all changes since `remembering`."""
        self._healthy, self._scaled = remembered

    def _count(self, pod: Pod, by: int) -> None:
        for budget in self._state.budgets.protecting(pod):
            # A successor has the name of a pod that counts no more, and counts itself.
            if pod.uid in self._came or name_of(pod.key) not in budget.disrupted:
                self._healthy[budget.key] += by

    def refusal(self, pod: Pod) -> Refusal | None:
        """Return why an eviction would be refused; None if it would not.

        As EvictionREST of kube-apiserver 1.37: budgets are not asked about a pod that is starting
        or terminating.
        """
        if pod.status.starting or pod.status.deleting:
            return None
        budgets = sorted(self._state.budgets.protecting(pod), key=lambda each: each.key)
        if not budgets:
            return None
        keys = tuple(each.key for each in budgets)
        if len(budgets) > 1:
            listed = some(keys, len(keys))
            return Refusal(keys, f"the API server evicts no pod that is in two budgets: {listed}")
        why = self._why(budgets[0], pod)
        return None if why is None else Refusal(keys, f"budget {keys[0]} {why}")

    def _why(self, budget: PodDisruptionBudget, pod: Pod) -> str | None:
        counted, allowed = self._now(budget)
        enough = budget.evicts_unready or counted.healthy >= counted.desired > 0
        if enough and not pod.status.ready:
            return None
        if len(budget.disrupted) > MOST_GRANTED:
            return "has too many disruptedPods in its status"
        return None if allowed > 0 else f"allows no more evictions{_numbers(counted)}"

    def _now(self, budget: PodDisruptionBudget) -> tuple[Counted, int]:
        """Return what would be counted now, and how many more pods may go."""
        before, allowed, fixed = self._begin(budget)
        if fixed:
            return before, 0
        grown, scaled = self._healthy[budget.key], self._scaled[budget.key]
        expected, desired = before.expected, before.desired
        if scaled and by_scale(budget):
            expected += scaled
            desired = desired_healthy(budget.min_available, budget.max_unavailable, expected)
        now = Counted(before.healthy + grown, desired, expected)
        if not expected and by_scale(budget):
            return now, 0
        return now, allowed + grown - (desired - before.desired)

    def _begin(self, budget: PodDisruptionBudget) -> _Begun:
        of, known = self._begun.get(budget.key, (None, None))
        if known is None or of != budget:
            if of is not None:
                # A manifest has replaced it.
                del self._healthy[of.key], self._scaled[of.key]
            known = self._before(budget)
            self._begun[budget.key] = budget, known
        return known

    def _before(self, budget: PodDisruptionBudget) -> _Begun:
        counted = budget.counted if budget.is_current else None
        found = self._from_pods(budget) if counted is None else _Begun(counted, 0, budget.failed)
        if counted is not None or not budget.is_current:
            # Without either number, none is expected, and so none may go.
            nothing = budget.min_available is None and budget.max_unavailable is None
            found = found._replace(fixed=found.fixed or nothing)
        spare = found.counted.healthy - found.counted.desired
        if budget.is_current:
            # Of what is missing, 0 does not say how much.
            spare = budget.allowed or min(0, spare)
        return found._replace(allowed=spare)

    def _from_pods(self, budget: PodDisruptionBudget) -> _Begun:
        """Count the pods of a budget before all changes; O(pods)."""
        pods = list(self._pods_of(budget))
        ready = [pod for pod in pods if pod.node and pod.status.ready and not pod.status.deleting]
        healthy, expected, fixed = len(ready) - self._healthy[budget.key], len(pods), budget.failed
        if by_scale(budget):
            there = Counter(pod.workload for pod in pods if pod.workload is not None)
            expected = sum(self._wanted(each, number) for each, number in there.items())
            fixed |= not budget.is_current and any(each.kind in WITHOUT_SCALE for each in there)
        if fixed:
            return _Begun(budget.counted or Counted(0, 0, 0), 0, fixed=True)
        desired = desired_healthy(budget.min_available, budget.max_unavailable, expected)
        return _Begun(Counted(healthy, desired, expected), 0)

    def _pods_of(self, budget: PodDisruptionBudget) -> Iterator[Pod]:
        for pod in self._state.pods.values():
            of = pod.pod_class
            if of.namespace == budget.namespace and budget.selector.matches(of.labels):
                yield pod


def _numbers(counted: Counted) -> str:
    """Say by which numbers a budget refuses; "" where they do not tell."""
    healthy, wanted, expected = counted.healthy, counted.desired, counted.expected
    if not expected or healthy > wanted:
        return ""
    if wanted >= expected:
        return f", however many pods are healthy: it wants {wanted:,} of {expected:,}"
    are = "is" if healthy == 1 else "are"
    return f": {healthy:,} of {plural(expected, 'pod')} {are} healthy, and it wants {wanted:,}"
