"""The annotation affinity-extender.io/affinity: a v1.Affinity decoded strictly, as users write it.

The fields are those of the API, and `requiredDuringSchedulingRequiredDuringExecution` besides. A
field that there is not, or of another type, is an error: what is misspelled would not count.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from extender.wire import manifests, node_terms

DURING_EXECUTION = "requiredDuringSchedulingRequiredDuringExecution"
_STRENGTHS = {
    "required": node_terms.REQUIRED,
    "preferred": node_terms.PREFERRED,
    "during_execution": DURING_EXECUTION,
}


class Requirement(manifests.LabelSelectorRequirement, forbid_unknown_fields=True):
    """metav1.LabelSelectorRequirement."""


class LabelSelector(manifests.LabelSelector, forbid_unknown_fields=True):
    """metav1.LabelSelector."""

    matchExpressions: tuple[Requirement, ...] | None = None  # noqa: N815 - the API's spelling


class PodTerm(manifests.PodAffinityTerm, forbid_unknown_fields=True):
    """v1.PodAffinityTerm."""

    labelSelector: LabelSelector | None = None  # noqa: N815 - the API's spelling
    namespaceSelector: LabelSelector | None = None  # noqa: N815 - the API's spelling


class WeightedPodTerm(manifests.WeightedPodAffinityTerm, forbid_unknown_fields=True):
    """v1.WeightedPodAffinityTerm."""

    podAffinityTerm: PodTerm  # noqa: N815 - the API's spelling


class PodAffinity(manifests.PodAffinity, forbid_unknown_fields=True, rename=_STRENGTHS):
    """v1.PodAffinity or v1.PodAntiAffinity, and what is required during execution."""

    required: tuple[PodTerm, ...] | None = None
    preferred: tuple[WeightedPodTerm, ...] | None = None
    during_execution: tuple[PodTerm, ...] | None = None


class NodeRequirement(node_terms.RequirementManifest, forbid_unknown_fields=True):
    """v1.NodeSelectorRequirement."""


class NodeTerm(node_terms.TermManifest, forbid_unknown_fields=True):
    """v1.NodeSelectorTerm."""

    match_expressions: tuple[NodeRequirement, ...] | None = None
    match_fields: tuple[NodeRequirement, ...] | None = None


class NodeSelector(node_terms.NodeSelectorManifest, forbid_unknown_fields=True):
    """v1.NodeSelector."""

    node_selector_terms: tuple[NodeTerm, ...] | None = None


class PreferredNodeTerm(node_terms.PreferredManifest, forbid_unknown_fields=True):
    """v1.PreferredSchedulingTerm."""

    preference: NodeTerm = msgspec.field(default_factory=NodeTerm)


class NodeAffinity(
    node_terms.NodeAffinityManifest,
    forbid_unknown_fields=True,
    rename=_STRENGTHS,
):
    """v1.NodeAffinity, and what is required during execution."""

    required: NodeSelector | None = None
    preferred: tuple[PreferredNodeTerm, ...] | None = None
    during_execution: NodeSelector | None = None

    def terms(self) -> Iterator[node_terms.TermManifest]:
        """Yield all terms, required or preferred."""
        yield from super().terms()
        if self.during_execution is not None:
            yield from self.during_execution.node_selector_terms or ()


class AnnotatedAffinity(manifests.AffinityManifest, forbid_unknown_fields=True):
    """The whole value of the annotation."""

    podAffinity: PodAffinity | None = None  # noqa: N815 - the API's spelling
    podAntiAffinity: PodAffinity | None = None  # noqa: N815 - the API's spelling
    nodeAffinity: NodeAffinity | None = None  # noqa: N815 - the API's spelling

    def terms(self) -> Iterator[manifests.PodAffinityTerm]:
        """Yield all terms about pods, for or against, required or not."""
        yield from super().terms()
        for side in (self.podAffinity, self.podAntiAffinity):
            if side is not None:
                yield from side.during_execution or ()

    @property
    def entries(self) -> int:
        """Return how many terms, conditions, values and names there are: what reading costs."""
        nodes = () if self.nodeAffinity is None else self.nodeAffinity.terms()
        return super().entries + sum(term.entries for term in nodes)

    @property
    def conditions(self) -> int:
        """Return how many conditions every node is compared with."""
        nodes = () if self.nodeAffinity is None else self.nodeAffinity.terms()
        return sum(term.conditions for term in nodes)

    def during_execution(self) -> manifests.AffinityManifest:
        """Return what is required of other pods while the pod runs, as if that were usual."""
        sides = [
            None if side is None else manifests.PodAffinity(required=side.during_execution)
            for side in (self.podAffinity, self.podAntiAffinity)
        ]
        return manifests.AffinityManifest(*sides)
