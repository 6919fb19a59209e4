"""Where rules in annotations count, and for whom.

Whoever may edit a pod may edit its annotations, so what others have to put up with is decided
elsewhere: by a selector of namespaces, by what a pod had when it was placed, and by the limits that
features set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol, TypeAlias

from extender.core.model.labels import Labels, Selector
from extender.core.model.workload import MARKS, OF_SPECS, REVISIONS


class Scope(NamedTuple):
    """The rules in annotations of the pods of a namespace."""

    namespace: str
    later: bool
    """Whether the pods got them after they were placed."""


Source: TypeAlias = Scope | None
"""Where rules come from. None stands for specs, which count everywhere."""

SPEC: Final[Source] = None


class Limit(Protocol):
    """What keeps the rules in annotations of a namespace from pods of other namespaces."""

    def reaches_out(self, namespace: str) -> bool:
        """Return whether they count for these; O(1)."""

    def note(self, namespace: str) -> tuple[str, str]:
        """Return a name for programs, and in words why they do not."""


class AnnotationScope:
    """Where rules in annotations count at present.

    A change of that alters one entry here, and no counter: terms are kept by their source, and the
    reader of a term asks here. All look-ups are O(1).
    """

    def __init__(
        self,
        selector: Selector | None,
        namespaces: Mapping[str, Labels],
        *,
        of_specs: bool,
    ) -> None:
        """Choose namespaces by their labels, None for nowhere.

        With `of_specs`, rules of specs are ours to enforce, and may leave other revisions out.
        """
        self._of_specs = of_specs
        self._selector = selector
        self._namespaces = namespaces
        self._open: dict[str, bool] = {}
        """By namespace; known ones that were asked about since their labels last changed."""
        self.limits: tuple[Limit, ...] = ()
        """Whose change `ClusterState.reach_changed` has to hear of."""

    @property
    def is_anywhere(self) -> bool:
        return self._selector is not None

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
        """Return the labels of a namespace with marks if annotations count there, else without."""
        if self._selector is None or not self._selector.matches(labels):
            return {key: value for key, value in labels.items() if key not in MARKS}
        marks = {REVISIONS: "", OF_SPECS: ""} if self._of_specs else {REVISIONS: ""}
        return {**marks, **labels}

    def reaches_out(self, namespace: str) -> bool:
        """Return whether its rules in annotations count for pods of other namespaces."""
        return all(limit.reaches_out(namespace) for limit in self.limits)

    def counts(self, source: Source, namespace: str) -> bool:
        """Return whether rules of placed pods count for a pod of a namespace."""
        if source is None:
            return True
        owner, later = source
        if later or not self.covers(owner):
            return False
        return owner == namespace or self.reaches_out(owner)

    def holds(self, source: Source) -> bool:
        """Return whether rules of placed pods hold at least for the pods themselves."""
        return source is None or self.covers(source.namespace)

    def relabelled(self, namespace: str, before: Labels) -> bool:
        """Take over that the labels were `before` until now; return whether answers change."""
        self._open.pop(namespace, None)
        selector = self._selector
        return selector is not None and selector.matches(before) is not self.covers(namespace)
