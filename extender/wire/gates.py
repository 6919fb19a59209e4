"""Fields that count only while a feature gate is on."""

from __future__ import annotations

from dataclasses import dataclass

from extender.wire.manifests import AffinityManifest


@dataclass(frozen=True, slots=True)
class Gates:
    """Kubernetes' gates for fields of a term."""

    match_label_keys: bool = True
    """MatchLabelKeysInPodAffinity; off forgets keys, so that only what is merged already counts."""
    namespace_selector: bool = True
    """PodAffinityNamespaceSelector; off is before 1.21, when there was no namespaceSelector: a term
    that has nothing else speaks of its owner's namespace."""

    def drop_disabled(self, affinity: AffinityManifest) -> None:
        """Forget the fields whose gate is off, as if nobody had written them."""
        for term in affinity.terms():
            if not self.match_label_keys:
                term.matchLabelKeys = term.mismatchLabelKeys = None
            if not self.namespace_selector:
                term.namespaceSelector = None


EVERY_GATE_ON = Gates()
