"""Where rules in annotations count, and for whom.

Whoever may edit a pod may edit its annotations, so what others have to put up with is decided
elsewhere: by a selector of namespaces, by what a pod had when it was placed, and by the limits that
features set.
"""

from __future__ import annotations

from collections.abc import Mapping

from extender.core.cluster.counts.scope import Scope, Source
from extender.core.model.labels import Labels, Selector
from extender.core.model.workload import OF_SPECS, REVISIONS


class AnnotationScope(Scope):
    """The namespaces that a selector chooses; None chooses none."""

    field = "annotations.namespaceSelector"
    annotation = "affinity-extender.io/affinity"

    def __init__(
        self, selector: Selector | None, namespaces: Mapping[str, Labels], *, of_specs: bool
    ) -> None:
        """With `of_specs`, rules of specs are ours to enforce, and may spare other revisions."""
        super().__init__(namespaces)
        self.is_anywhere = selector is not None
        self._of_specs = of_specs
        self._selector = selector
        self._open: dict[str, bool] = {}
        """By namespace; known ones that were asked about since their labels last changed."""

    def covers(self, namespace: str) -> bool:
        if self._selector is None:
            return False
        known = self._open.get(namespace)
        if known is None:
            known = self._selector.matches(self._namespaces.get(namespace, {}))
            if namespace in self._namespaces:
                self._open[namespace] = known
        return known

    def marked(self, labels: Labels) -> Labels:
        if self._selector is None or not self._selector.matches(labels):
            return super().marked(labels)
        marks = {REVISIONS: "", OF_SPECS: ""} if self._of_specs else {REVISIONS: ""}
        return {**marks, **labels}

    def counts(self, source: Source, namespace: str) -> bool:
        if source is None:
            return True
        owner, later = source
        if later or not self.covers(owner):
            return False
        return owner == namespace or all(limit.reaches_out(owner) for limit in self.limits)

    def relabelled(self, namespace: str, before: Labels) -> bool:
        self._open.pop(namespace, None)
        selector = self._selector
        return selector is not None and selector.matches(before) is not self.covers(namespace)
