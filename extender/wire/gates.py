"""Fields that count only while a feature gate is on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from extender.wire.manifests import AffinityManifest, PodAffinityTerm


@dataclass(frozen=True, slots=True)
class Gates:
    """Kubernetes' gates for fields of a term."""

    match_label_keys: bool = True
    """MatchLabelKeysInPodAffinity; off leaves keys alone that the API server has not merged."""
    namespace_selector: bool = True
    """PodAffinityNamespaceSelector; off is before 1.21, when there was no namespaceSelector: a term
    that has nothing else speaks of its owner's namespace."""

    def drop_disabled(self, affinity: AffinityManifest) -> None:
        """Forget the fields whose gate is off, as if nobody had written them."""
        for term in _terms(affinity):
            if not self.match_label_keys:
                term.matchLabelKeys = term.mismatchLabelKeys = None
            if not self.namespace_selector:
                term.namespaceSelector = None


EVERY_GATE_ON = Gates()


def _terms(affinity: AffinityManifest) -> Iterator[PodAffinityTerm]:
    for side in (affinity.podAffinity, affinity.podAntiAffinity):
        if side is not None:
            weighted = (each.podAffinityTerm for each in side.preferred or ())
            yield from chain(side.required or (), weighted)
