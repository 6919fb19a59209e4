"""Inter-pod rules that a pod carries in an annotation, beside or instead of those of its spec."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extender.model.labels import Labels
from extender.model.pod_affinity import (
    NO_AFFINITY,
    NO_WRITTEN_AFFINITY,
    Affinity,
    WrittenAffinity,
)


@dataclass(frozen=True, slots=True)
class WrittenAnnotation:
    """The rules as the annotation has them, label keys not yet merged."""

    rules: WrittenAffinity = NO_WRITTEN_AFFINITY
    """Those that count while the pod is scheduled, required and preferred."""
    during_execution: WrittenAffinity = NO_WRITTEN_AFFINITY
    """Required ones that also count while the pod runs."""
    replaces: bool = False
    """True: the rules of the pod's spec do not count. False: they count as well."""

    def besides(self, own: WrittenAffinity) -> WrittenAffinity:
        """Return everything that is written: the spec's rules first, if they count."""
        mine = self.rules.plus(self.during_execution)
        if not self.replaces:
            return own.plus(mine)
        # The API server charges quotas for what the spec has, whether it counts or not.
        return replace(mine, crosses_namespaces=mine.crosses_namespaces or own.crosses_namespaces)

    def merged(self, own: Affinity, owner_labels: Labels) -> AnnotatedAffinity:
        """Return the effective rules beside those of the spec.

        No API server merges label keys in an annotation, so it is done here, by the labels that the
        pod has when the annotation is seen first.
        """
        during_execution = self.during_execution.merged(owner_labels)
        return AnnotatedAffinity(
            written=self,
            own=NO_AFFINITY if self.replaces else own,
            added=self.rules.merged(owner_labels).plus(during_execution),
            during_execution=during_execution,
        )


@dataclass(frozen=True, slots=True)
class AnnotatedAffinity:
    """The effective rules of a pod with an annotation, by where they come from."""

    written: WrittenAnnotation
    own: Affinity
    """From its spec, as far as they count; nothing under the policy Replace."""
    added: Affinity
    """All from the annotation, with those `during_execution`."""
    during_execution: Affinity
    """Required terms from the annotation that also count while the pod runs: when one of them no
    longer holds, the pod is to be evicted. Required affinity and anti-affinity; none preferred."""

    @property
    def all(self) -> Affinity:
        """Return what counts: the spec's rules first, then those of the annotation."""
        return self.own.plus(self.added)
