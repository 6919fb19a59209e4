"""The disruption budgets of the cluster, by namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Final

from extender.core.model.disruption import PodDisruptionBudget
from extender.core.model.keys import namespace_of
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.selector_index import SelectorIndex

MOST_OF_BUDGETS: Final = 100
"""Conditions of the budgets that one pod is compared with, some hundredths of a millisecond: all
pods of a node are judged in one step. With a budget for each application it is two or three."""


class Budgets:
    """All disruption budgets; they move no counters.

    Those of a pod are found by an index: a namespace may have hundreds of them, and a search for
    victims asks about each less important pod.
    """

    def __init__(self, *, empty_selects_all: bool = False) -> None:
        """For `empty_selects_all` see `ClusterView`."""
        self._empty_selects_all = empty_selects_all
        self._in: dict[str, dict[str, PodDisruptionBudget]] = {}
        self._index: SelectorIndex[PodDisruptionBudget] = SelectorIndex()

    def __len__(self) -> int:
        return sum(map(len, self._in.values()))

    def __iter__(self) -> Iterator[str]:
        for budgets in self._in.values():
            yield from budgets

    def keys(self) -> AbstractSet[str]:
        return frozenset(self)

    def get(self, key: str) -> PodDisruptionBudget | None:
        return self._in.get(namespace_of(key), {}).get(key)

    def protecting(self, pod: Pod) -> Iterator[PodDisruptionBudget]:
        """Yield the budgets that an eviction of a pod counts against."""
        return self._index.matching(pod.pod_class.namespace, {}, pod.pod_class.labels)

    def violations(self, gone: Iterable[Pod], going: Iterable[Pod]) -> int:
        """Return how many of the pods `going` some budget does not allow, once others are gone.

        A pod beyond several budgets is one violation, as the scheduler counts them.
        """
        left: dict[str, int] = {}
        for pod in gone:
            self._charge(pod, left)
        return sum(self._charge(pod, left) for pod in going)

    def violated_by(self, going: Iterable[Pod]) -> frozenset[str]:
        """Return the uids of those that some budget does not allow when they go in this order."""
        left: dict[str, int] = {}
        return frozenset([pod.uid for pod in going if self._charge(pod, left)])

    def _charge(self, pod: Pod, left: dict[str, int]) -> bool:
        """Charge the budgets of a pod up to the first that it overdraws; tell whether one is.

        As in FilterVictimsWithPDBViolation of kube-scheduler 1.37, which takes them in no certain
        order, here by name; earlier releases charge those behind the first as well. A pod whose
        budgets would take too long counts as overdrawing one: a single budget that allows no
        disruption has the same effect.
        """
        namespace, labels = pod.pod_class.namespace, pod.pod_class.labels
        if not (labels or self._empty_selects_all):
            return False
        if self._index.conditions(namespace, labels, MOST_OF_BUDGETS) > MOST_OF_BUDGETS:
            return True
        for budget in sorted(self.protecting(pod), key=attrgetter("key")):
            if budget.is_charged_for(pod, empty_selects_all=self._empty_selects_all):
                left[budget.key] = left.get(budget.key, budget.allowed) - 1
                if left[budget.key] < 0:
                    return True
        return False


class BudgetLedger(Budgets):
    def upsert(self, budget: PodDisruptionBudget) -> None:
        budgets = self._in.setdefault(budget.namespace, {})
        if (before := budgets.get(budget.key)) is not None:
            self._index.remove(_pods(before), before)
        budgets[budget.key] = budget
        self._index.add(_pods(budget), budget)

    def remove(self, key: str, uid: str) -> None:
        """Forget a budget; one that is unknown, or known under another uid, is left alone."""
        budget = self.get(key)
        if budget is not None and budget.uid == uid:
            budgets = self._in[budget.namespace]
            del budgets[key]
            self._index.remove(_pods(budget), budget)
            if not budgets:
                del self._in[budget.namespace]


def _pods(budget: PodDisruptionBudget) -> PodSelector:
    return PodSelector(budget.selector, frozenset((budget.namespace,)))
