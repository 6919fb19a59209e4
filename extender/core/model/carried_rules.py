"""Inter-pod rules that a pod carries beside those of its spec."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extender.core.model.labels import Labels
from extender.core.model.pod_affinity import NO_WRITTEN_AFFINITY, Affinity, WrittenAffinity


def digest_after(merged: str, now: str) -> str:
    """Return the digest of rules whose label keys were merged by the labels of an earlier digest.

    It is that of the labels that there are now only while these are the same. Else no rules that
    are read anew have it, and none that are merged by other labels.
    """
    first = merged.rpartition("/")[2]
    return now if now == first else f"{now}/{first}"


@dataclass(frozen=True, slots=True)
class WrittenRules:
    """The rules as they are written, label keys not yet merged."""

    rules: WrittenAffinity = NO_WRITTEN_AFFINITY
    """Those that count while the pod is scheduled, required and preferred."""
    during_execution: WrittenAffinity = NO_WRITTEN_AFFINITY
    """Required ones that also count while the pod runs."""

    @property
    def size(self) -> tuple[int, int]:
        """Return how many terms there are, and how many conditions they have."""
        terms, conditions = self.rules.size
        more, further = self.during_execution.size
        return terms + more, conditions + further

    @property
    def named_labels(self) -> frozenset[str]:
        """Return the keys of the pod's labels that the rules are made of."""
        rules = self.rules, self.during_execution
        return frozenset(key for each in rules for key in each.named_labels())

    def besides(self, own: WrittenAffinity) -> WrittenAffinity:
        """Return everything that is written: the spec's rules first."""
        return own.plus(self.rules).plus(self.during_execution)

    def merged(self, own: Affinity, owner_labels: Labels, digest: str = "") -> CarriedAffinity:
        """Return the effective rules beside those of the spec.

        No API server merges label keys there, so it is done here, by the labels that the pod has
        when the rules are seen first. `digest` tells them from all others.
        """
        during_execution = self.during_execution.merged(owner_labels)
        return CarriedAffinity(
            written=self,
            own=own,
            added=self.rules.merged(owner_labels).plus(during_execution),
            during_execution=during_execution,
            digest=digest,
        )


@dataclass(frozen=True, slots=True)
class CarriedAffinity:
    """The effective rules of a pod that carries some, by where they come from."""

    written: WrittenRules
    own: Affinity
    """From its spec."""
    added: Affinity
    """All beside the spec, with those `during_execution`."""
    during_execution: Affinity
    """Required terms beside the spec that also count while the pod runs: when one of them no
    longer holds, the pod is to be evicted. Required affinity and anti-affinity; none preferred."""
    digest: str = ""
    """Of these rules, and of the labels that their label keys name: what was judged when the pod
    was placed is known by it."""

    @property
    def all(self) -> Affinity:
        """Return what counts: the spec's rules first, then those beside it."""
        return self.own.plus(self.added)

    def sparing(self, namespace: str, labels: Labels) -> CarriedAffinity:
        """Return the same, with all rules as `Affinity.sparing` makes them."""
        every = (self.own, True), (self.added, False), (self.during_execution, False)
        own, added, during = (
            each.sparing(namespace, labels, of_spec=of_spec) for each, of_spec in every
        )
        return replace(self, own=own, added=added, during_execution=during)
