"""Inter-pod rules that a pod carries in an annotation, beside or instead of those of its spec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from extender.model.labels import Labels
from extender.model.pod_affinity import NO_AFFINITY, NO_WRITTEN_AFFINITY, Affinity, WrittenAffinity

REPLACES: Final = "replace:"
"""How digests of annotations begin that replace the rules of the spec."""


class Standing(Enum):
    """What was judged, of the rules that a pod has, when it got its place."""

    WHOLE = "whole"
    """All of them: it has no place yet, or no history, or its annotation is what it was then."""
    REPLACED = "replaced"
    """Its annotation, which is what it was then and replaces the rules of the spec."""
    SPEC = "spec"
    """The rules of its spec: the annotation was another one, or was none."""
    NOTHING = "nothing"
    """None: the annotation was another one, which replaced the rules of the spec."""


def standing(judged: str | None, digest: str) -> Standing:
    """Compare the digest of the annotation that was judged with that of the one there is now.

    `judged` is None for what has no history.
    """
    if judged == digest:
        return Standing.REPLACED if digest.startswith(REPLACES) else Standing.WHOLE
    if judged is None:
        return Standing.WHOLE
    if judged.startswith(REPLACES):
        return Standing.NOTHING
    return Standing.SPEC if digest else Standing.WHOLE


def digest_after(merged: str, now: str) -> str:
    """Return the digest of rules whose label keys were merged by the labels of an earlier digest.

    It is that of the labels that there are now only while these are the same. Else no rules that
    are read anew have it, and none that are merged by other labels.
    """
    first = merged.rpartition("/")[2]
    return now if now == first else f"{now}/{first}"


@dataclass(frozen=True, slots=True)
class WrittenAnnotation:
    """The rules as the annotation has them, label keys not yet merged."""

    rules: WrittenAffinity = NO_WRITTEN_AFFINITY
    """Those that count while the pod is scheduled, required and preferred."""
    during_execution: WrittenAffinity = NO_WRITTEN_AFFINITY
    """Required ones that also count while the pod runs."""
    replaces: bool = False
    """True: the rules of the pod's spec do not count. False: they count as well."""

    @property
    def named_labels(self) -> frozenset[str]:
        """Return the keys of the pod's labels that the rules are made of."""
        rules = self.rules, self.during_execution
        return frozenset(key for each in rules for key in each.named_labels())

    def besides(self, own: WrittenAffinity) -> WrittenAffinity:
        """Return everything that is written: the spec's rules first, if they count."""
        mine = self.rules.plus(self.during_execution)
        if not self.replaces:
            return own.plus(mine)
        # The API server charges quotas for what the spec has, whether it counts or not.
        return replace(mine, crosses_namespaces=mine.crosses_namespaces or own.crosses_namespaces)

    def merged(self, own: Affinity, owner_labels: Labels, digest: str = "") -> AnnotatedAffinity:
        """Return the effective rules beside those of the spec.

        No API server merges label keys in an annotation, so it is done here, by the labels that the
        pod has when the annotation is seen first. `digest` tells them from all others.
        """
        during_execution = self.during_execution.merged(owner_labels)
        return AnnotatedAffinity(
            written=self,
            own=NO_AFFINITY if self.replaces else own,
            added=self.rules.merged(owner_labels).plus(during_execution),
            during_execution=during_execution,
            digest=digest,
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
    digest: str = ""
    """Of the annotation, and of the labels that its label keys name: what was judged when the pod
    was placed is known by it. It says whether the spec's rules were judged as well: `replaces`."""

    @property
    def all(self) -> Affinity:
        """Return what counts: the spec's rules first, then those of the annotation."""
        return self.own.plus(self.added)

    def sparing(self, namespace: str, labels: Labels) -> AnnotatedAffinity:
        """Return the same, with all rules as `Affinity.sparing` makes them."""
        every = (self.own, True), (self.added, False), (self.during_execution, False)
        own, added, during = (
            each.sparing(namespace, labels, of_spec=of_spec) for each, of_spec in every
        )
        return replace(self, own=own, added=added, during_execution=during)
