"""A term that is to hold for as long as its owners run, and where these are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from extender.cluster.counts.pod_sets import KeyedSet
from extender.model.execution import ExecutionRule, RuleKind
from extender.model.keys import Identity
from extender.model.pod_affinity import PodSelector

Domain: TypeAlias = "str | None"
"""A label value; None where the node lacks the key."""


@dataclass(slots=True, eq=False)
class WatchedTerm:
    """A term that running pods carry, and where they are."""

    rule: ExecutionRule
    pods: KeyedSet
    """The pods that count, and by which key."""
    filed: PodSelector
    """One selector that finds those pods, the narrowest there is."""
    owners: dict[Domain, dict[str, Identity]] = field(default_factory=dict)
    """By domain and uid."""
    levels: dict[str, int] = field(default_factory=dict)
    """By domain, how many pods counted when that was looked at last, up to where more is alike."""

    @property
    def key(self) -> str:
        """Return the topology key."""
        return self.pods[1]

    @property
    def enough(self) -> int:
        """Return from how many pods on more of them make no difference to any owner.

        One keeps affinity. With one, anti-affinity is broken for all but that pod itself.
        """
        return 1 if self.rule.kind is RuleKind.AFFINITY else 2


class Mark(NamedTuple):
    """Something has changed for the owners of a term in a domain."""

    watched: WatchedTerm
    domain: str
