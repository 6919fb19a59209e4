"""Templates whose required affinity waits for one another, so that no pod can be placed first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from affinityctl.commands.lint.template import NEW, KnownPods, Surroundings, Template
from extender.core.model.pod_affinity import Term


class Circles:
    """Which templates wait for each other; O(templates that wait, squared)."""

    def __init__(self, named: Iterable[tuple[str, Template]], around: Surroundings) -> None:
        """`named` has all templates, each with the name of its object."""
        self._around = around
        self._names: dict[int, str] = {}
        waiting: list[tuple[Template, list[Term]]] = []
        self._known = KnownPods()
        for name, each in named:
            self._names[id(each)] = name
            terms = [at.term for at in each.of(against=False)]
            if all(map(each.matches_itself, terms)):
                self._add(each)
            else:
                waiting.append((each, terms))
        self._stuck = self._without_those_that_start(waiting)
        self._for = self._edges()

    def of(self, template: Template) -> Sequence[str]:
        """Return the names of the templates on the shortest circle of one; it is the last."""
        chains: dict[int, list[Template]] = {id(template): []}
        asking = deque([template])
        while asking:
            asker = asking.popleft()
            for other in self._for.get(id(asker), ()):
                chain = [*chains[id(asker)], other]
                if other is template:
                    return [self._names[id(each)] for each in chain]
                if id(other) not in chains:
                    chains[id(other)] = chain
                    asking.append(other)
        return ()

    def _add(self, template: Template) -> None:
        self._known.add(template.owner.namespace, template.revision(NEW))

    def _without_those_that_start(
        self, waiting: list[tuple[Template, list[Term]]]
    ) -> list[tuple[Template, list[Term]]]:
        """Return those for whose pods there is none to be near, whoever starts first."""
        while True:
            left = [each for each in waiting if not self._is_met(each[1])]
            if len(left) == len(waiting):
                return left
            stuck = {id(each) for each, _ in left}
            for each, _ in waiting:
                if id(each) not in stuck:
                    self._add(each)
            waiting = left

    def _is_met(self, terms: list[Term]) -> bool:
        known = (self._known, self._around.placed)
        return any(self._around.some_meets(pods, terms) for pods in known)

    def _edges(self) -> Mapping[int, Sequence[Template]]:
        return {
            id(each): [other for other, _ in self._stuck if self._meets(other, terms)]
            for each, terms in self._stuck
        }

    def _meets(self, other: Template, terms: Iterable[Term]) -> bool:
        namespace = other.owner.namespace
        of_namespace = self._around.namespace_labels(namespace)
        labels = other.revision(NEW)
        return all(term.pods.matches(namespace, of_namespace, labels) for term in terms)
