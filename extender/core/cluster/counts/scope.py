"""Where the rules come from that pods carry, and for whom they count.

Those of specs count everywhere. A feature may have pods carry more of them, and says by a Scope
where these count; other features limit that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol, TypeAlias

from extender.core.model.labels import Labels
from extender.core.model.workload import MARKS


class Carried(NamedTuple):
    """The rules beside their specs of the pods of a namespace."""

    namespace: str
    later: bool
    """Whether the pods got them after they were placed."""


Source: TypeAlias = Carried | None
"""Where rules come from. None stands for specs, which count everywhere."""

SPEC: Final[Source] = None


class Limit(Protocol):
    """What keeps the rules that pods of a namespace carry from pods of other namespaces."""

    def reaches_out(self, namespace: str) -> bool:
        """Return whether they count for these; O(1)."""

    def note(self, namespace: str) -> tuple[str, str]:
        """Return a name for programs, and in words why they do not."""


class Scope:
    """Where rules beside those of specs count at present: here, nowhere.

    A change of that alters no counter: terms are kept by their source, and the reader of a term
    asks here. All look-ups are O(1).
    """

    is_anywhere: bool = False
    field: str = ""
    """The field of the configuration that says where."""
    annotation: str = ""
    """Where pods have these rules."""

    def __init__(self, namespaces: Mapping[str, Labels]) -> None:
        self.limits: tuple[Limit, ...] = ()
        """Whose change `ClusterState.reach_changed` has to hear of."""
        self._namespaces = namespaces

    def covers(self, namespace: str) -> bool:
        """Return whether they count for the pods of a namespace that carry them."""
        del namespace
        return False

    def marked(self, labels: Labels) -> Labels:
        """Return the labels of a namespace with marks if rules are carried there, else without."""
        return {key: value for key, value in labels.items() if key not in MARKS}

    def counts(self, source: Source, namespace: str) -> bool:
        """Return whether rules of placed pods count for a pod of a namespace."""
        del namespace
        return source is None

    def holds(self, source: Source) -> bool:
        """Return whether rules of placed pods hold at least for the pods themselves."""
        return source is None or self.covers(source.namespace)

    def relabelled(self, namespace: str, before: Labels) -> bool:
        """Take over that the labels were `before` until now; return whether answers change."""
        del namespace, before
        return False


MakeScope: TypeAlias = Callable[[Mapping[str, Labels]], Scope]
"""Is given the labels of the known namespaces, by name, as they will be at any time."""
