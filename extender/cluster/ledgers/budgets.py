"""The disruption budgets of the cluster, by namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from extender.model.disruption import PodDisruptionBudget
from extender.model.keys import namespace_of
from extender.model.objects import Pod


class Budgets:
    """All disruption budgets; they move no counters."""

    def __init__(self) -> None:
        self._in: dict[str, dict[str, PodDisruptionBudget]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._in.values()))

    def __iter__(self) -> Iterator[str]:
        for budgets in self._in.values():
            yield from budgets

    def keys(self) -> AbstractSet[str]:
        """Return namespace/name of all budgets."""
        return frozenset(self)

    def get(self, key: str) -> PodDisruptionBudget | None:
        """Return a budget by its key, None when there is none."""
        return self._in.get(namespace_of(key), {}).get(key)

    def protecting(self, pod: Pod) -> Iterator[PodDisruptionBudget]:
        """Yield the budgets that an eviction of a pod counts against."""
        for budget in self._in.get(pod.pod_class.namespace, {}).values():
            if budget.selector.matches(pod.pod_class.labels):
                yield budget

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
        order; earlier releases charge those behind the first as well.
        """
        for budget in self._in.get(pod.pod_class.namespace, {}).values():
            if budget.is_charged_for(pod):
                left[budget.key] = left.get(budget.key, budget.allowed) - 1
                if left[budget.key] < 0:
                    return True
        return False


class BudgetLedger(Budgets):
    """The disruption budgets as the watch changes them."""

    def upsert(self, budget: PodDisruptionBudget) -> None:
        """Add a budget, or replace the one of the same key."""
        self._in.setdefault(budget.namespace, {})[budget.key] = budget

    def remove(self, key: str, uid: str) -> None:
        """Forget a budget; one that is unknown, or known under another uid, is left alone."""
        budget = self.get(key)
        if budget is not None and budget.uid == uid:
            budgets = self._in[budget.namespace]
            del budgets[key]
            if not budgets:
                del self._in[budget.namespace]
