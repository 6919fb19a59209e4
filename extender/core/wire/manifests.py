"""The fields of Kubernetes objects that we read, as the API spells them.

Everything else is skipped by the decoder without being built: a pod of 5 KB costs about 3 us.

A pod may have thousands of conditions or containers. So the garbage collector is not to look
at them (`gc=False`, and tuples): what is decoded never refers to itself in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import accumulate

import msgspec
from msgspec import defstruct

from extender.core.model.labels import Operator
from extender.core.wire.decoding import Int32, Int64
from extender.core.wire.limits import RuleLimits

NULL = msgspec.Raw(b"null")

ALWAYS = "Always"
"""The restartPolicy of an init container that goes on running beside those that come after it."""


class LabelSelectorRequirement(msgspec.Struct, gc=False):
    key: str
    operator: Operator
    values: tuple[str, ...] | None = None


class LabelSelector(msgspec.Struct, gc=False):
    matchLabels: dict[str, str] | None = None
    matchExpressions: tuple[LabelSelectorRequirement, ...] | None = None


class PodAffinityTerm(msgspec.Struct, gc=False):
    topologyKey: str
    labelSelector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespaceSelector: LabelSelector | None = None
    matchLabelKeys: tuple[str, ...] | None = None
    mismatchLabelKeys: tuple[str, ...] | None = None

    @property
    def most(self) -> int | None:
        """Return its limit, which no term of a spec has."""
        return None


class WeightedPodAffinityTerm(msgspec.Struct, gc=False):
    weight: Int32
    podAffinityTerm: PodAffinityTerm


class PodAffinity(
    msgspec.Struct,
    rename={
        "required": "requiredDuringSchedulingIgnoredDuringExecution",
        "preferred": "preferredDuringSchedulingIgnoredDuringExecution",
    },
):
    """v1.PodAffinity and v1.PodAntiAffinity, which have the same fields."""

    required: tuple[PodAffinityTerm, ...] | None = None
    preferred: tuple[WeightedPodAffinityTerm, ...] | None = None


class AffinityManifest(msgspec.Struct, gc=False):
    """v1.Affinity without the node's part."""

    podAffinity: PodAffinity | None = None
    podAntiAffinity: PodAffinity | None = None

    def terms(self) -> Iterator[PodAffinityTerm]:
        for side in (self.podAffinity, self.podAntiAffinity):
            if side is not None:
                yield from side.required or ()
                yield from (each.podAffinityTerm for each in side.preferred or ())

    @property
    def size(self) -> tuple[int, int]:
        """Return how many terms about pods there are, and how many conditions they have."""
        sizes = [_conditions(each) for each in self.terms()]
        return len(sizes), sum(sizes)

    def keep(self, most: RuleLimits) -> int:
        """Drop the terms beyond the limits, in the order of the spec; return how many."""
        terms = conditions = 0
        for conditions in accumulate(map(_conditions, self.terms())):
            if terms == most.terms or conditions > most.conditions:
                break
            terms += 1
        left, dropped = terms, 0
        for side in (self.podAffinity, self.podAntiAffinity):
            for name in ("required", "preferred") if side is not None else ():
                found = getattr(side, name) or ()
                setattr(side, name, found[:left])
                dropped += len(found[left:])
                left -= len(found[:left])
        return dropped


def _conditions(term: PodAffinityTerm) -> int:
    lists = (term.namespaces, term.matchLabelKeys, term.mismatchLabelKeys)
    conditions = sum(len(each) for each in lists if each)
    for selector in (term.labelSelector, term.namespaceSelector):
        if selector is not None:
            conditions += len(selector.matchLabels or ())
            conditions += sum(len(e.values or "1") for e in selector.matchExpressions or ())
    return conditions


EXCLUSIVE_ANNOTATION = "affinity-extender.io/exclusive"
REVISIONS_ANNOTATION = "affinity-extender.io/revisions"
KEEP_ANNOTATIONS = {
    "safe_to_evict": "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "do_not_disrupt": "karpenter.sh/do-not-disrupt",
    "prefer_no_eviction": "descheduler.alpha.kubernetes.io/prefer-no-eviction",
}
"""By which pods ask not to be evicted; the last one has no value that counts."""


class PodAnnotations(
    msgspec.Struct,
    rename={
        "exclusive": EXCLUSIVE_ANNOTATION,
        **KEEP_ANNOTATIONS,
    },
):
    """Annotations of a pod that are about its place, and about who goes first."""

    exclusive: msgspec.Raw = NULL
    """Read by a policy alone (manifests/components/exclusive)."""
    safe_to_evict: msgspec.Raw = NULL
    do_not_disrupt: msgspec.Raw = NULL
    prefer_no_eviction: msgspec.Raw = NULL

    @property
    def keep(self) -> str | None:
        if self.safe_to_evict is self.do_not_disrupt is self.prefer_no_eviction is NULL:
            return None
        if bytes(self.safe_to_evict) == b'"false"':
            return KEEP_ANNOTATIONS["safe_to_evict"]
        if bytes(self.do_not_disrupt) == b'"true"':
            return KEEP_ANNOTATIONS["do_not_disrupt"]
        if self.prefer_no_eviction is not NULL:
            return KEEP_ANNOTATIONS["prefer_no_eviction"]
        return None


class PodMetadata(msgspec.Struct):
    name: str = ""
    generateName: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: msgspec.Raw = NULL
    annotations: PodAnnotations | None = None
    ownerReferences: msgspec.Raw = NULL
    resourceVersion: str | None = None
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None


class Container(msgspec.Struct, gc=False):
    """What a container takes; raw, because most pods repeat those of another."""

    resources: msgspec.Raw = NULL
    restartPolicy: str | None = None
    restartPolicyRules: msgspec.Raw = NULL
    ports: msgspec.Raw = NULL


class SchedulingGroup(msgspec.Struct):
    """v1.PodSchedulingGroup."""

    podGroupName: str | None = None


class SchedulingGate(msgspec.Struct):
    """v1.PodSchedulingGate."""

    name: str | None = None


class PodSpec(msgspec.Struct):
    nodeName: str | None = None
    affinity: msgspec.Raw = NULL
    nodeSelector: msgspec.Raw = NULL
    tolerations: msgspec.Raw = NULL
    priority: Int32 | None = None
    preemptionPolicy: str | None = None
    containers: list[Container] | None = None
    initContainers: list[Container] | None = None
    hostNetwork: bool | None = None
    overhead: msgspec.Raw = NULL
    resources: msgspec.Raw = NULL
    priorityClassName: str | None = None
    activeDeadlineSeconds: Int64 | None = None
    schedulingGroup: SchedulingGroup | None = None
    schedulingGates: list[SchedulingGate] | None = None
    schedulerName: str | None = None
    restartPolicy: str | None = None
    resourceClaims: list[msgspec.Raw] | None = None
    topologySpreadConstraints: msgspec.Raw = NULL
    volumes: msgspec.Raw = NULL


class PodStatus(msgspec.Struct):
    phase: str | None = None
    nominatedNodeName: str | None = None
    qosClass: str | None = None
    startTime: str | None = None
    conditions: msgspec.Raw = NULL


class PodManifest(msgspec.Struct):
    """v1.Pod; labels and affinity stay raw, because most pods repeat those of another."""

    metadata: PodMetadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus | None = None


@cache
def keeping(
    annotations: tuple[str, ...],
) -> tuple[msgspec.json.Decoder[PodManifest], Mapping[str, str]]:
    """Return a decoder of pods that keeps more annotations, with the field of each of them."""
    fields = {name: f"kept_{number}" for number, name in enumerate(annotations)}
    if not fields:
        return msgspec.json.Decoder(PodManifest), fields
    kept = defstruct(
        "PodAnnotations",
        [(field, msgspec.Raw, NULL) for field in fields.values()],
        bases=(PodAnnotations,),
        rename={field: name for name, field in fields.items()},
    )
    # The types are those of the bases, with what is kept besides.
    annotated = [("annotations", kept | None, None)]
    metadata = defstruct("PodMetadata", annotated, bases=(PodMetadata,))
    kind = defstruct("PodManifest", [("metadata", metadata)], bases=(PodManifest,))
    return msgspec.json.Decoder(kind), fields


class LabelledMetadata(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None


class NamespaceAnnotations(msgspec.Struct, rename={"revisions": REVISIONS_ANNOTATION}):
    """Annotations of a namespace that are about the rules of its pods."""

    revisions: msgspec.Raw = NULL


class NamespaceMetadata(LabelledMetadata):
    annotations: NamespaceAnnotations | None = None


class NamespaceManifest(msgspec.Struct):
    metadata: NamespaceMetadata


class TaintManifest(msgspec.Struct):
    """v1.Taint."""

    key: str
    effect: str
    value: str | None = None


class NodeSpec(msgspec.Struct):
    taints: list[TaintManifest] | None = None
    unschedulable: bool | None = None


class NodeStatus(msgspec.Struct):
    allocatable: msgspec.Raw = NULL
    conditions: msgspec.Raw = NULL


class NodeManifest(msgspec.Struct):
    metadata: LabelledMetadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class NamespacedMetadata(msgspec.Struct):
    """Identity of an object in a namespace."""

    name: str
    namespace: str | None = None
    uid: str | None = None


class BudgetMetadata(NamespacedMetadata):
    generation: int = 0


class BudgetSpec(msgspec.Struct):
    selector: LabelSelector | None = None
    minAvailable: Int32 | str | None = None
    maxUnavailable: Int32 | str | None = None
    unhealthyPodEvictionPolicy: str | None = None


class BudgetCondition(msgspec.Struct):
    """What the disruption controller says of its last look."""

    type: str = ""
    reason: str = ""


class BudgetStatus(msgspec.Struct):
    disruptionsAllowed: Int32 = 0
    disruptedPods: dict[str, msgspec.Raw] | None = None
    currentHealthy: Int32 = 0
    desiredHealthy: Int32 | None = None
    expectedPods: Int32 = 0
    observedGeneration: int = 0
    conditions: list[BudgetCondition] | None = None


class BudgetManifest(msgspec.Struct):
    """policy/v1 PodDisruptionBudget."""

    metadata: BudgetMetadata
    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None
