"""The fields about rules that not every pod has: added, in annotations, and while it runs."""

from __future__ import annotations

import enum
import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from extender.config.connections import Block
from extender.errors import ObjectError
from extender.model.execution import Execution
from extender.model.labels import Operator, Selector
from extender.wire.affinity import read_selector
from extender.wire.manifests import LabelSelector

PERCENTAGE: Final = re.compile(r"(100|[1-9]?[0-9])%", re.ASCII)


class NodeOperator(enum.StrEnum):
    """How a node selector requirement compares."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class V1Object(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename="camel",
):
    """A nested v1 object; empty lists are left out when it is written."""

    def as_json(self) -> bytes:
        """Return it as the API spells it."""
        return msgspec.json.encode(self)


class NodeSelectorRequirement(V1Object, frozen=True, kw_only=True):
    """One comparison with a label or a field of a node."""

    key: str
    operator: NodeOperator
    values: tuple[str, ...] = ()


class NodeSelectorTerm(V1Object, frozen=True, kw_only=True):
    """Comparisons that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class V1NodeSelector(V1Object, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], Meta(min_length=1)]


class PreferredSchedulingTerm(V1Object, frozen=True, kw_only=True):
    """A term worth its weight in score."""

    weight: Annotated[int, Meta(ge=1, le=100)]
    preference: NodeSelectorTerm


class NodeAffinityTerms(V1Object, frozen=True, kw_only=True):
    """A v1 NodeAffinity."""

    required_during_scheduling_ignored_during_execution: V1NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to meet or to prefer."""
        return (
            self.required_during_scheduling_ignored_during_execution is None
            and not self.preferred_during_scheduling_ignored_during_execution
        )


class V1LabelRequirement(V1Object, frozen=True, kw_only=True):
    """One comparison with a label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class NamespaceSelector(V1Object, frozen=True, kw_only=True):
    """A v1 LabelSelector on namespaces."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[V1LabelRequirement, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it has no conditions."""
        return not (self.match_labels or self.match_expressions)

    def read(self, path: str) -> Selector:
        """Return what it selects, everything if it is empty; ObjectError if it cannot be read."""
        return read_selector(msgspec.json.decode(self.as_json(), type=LabelSelector), path)


class Annotations(Block, frozen=True, kw_only=True):
    """Rules in annotations of pods: affinity-extender.io/affinity and others of that name."""

    namespace_selector: NamespaceSelector | None = None
    """Selector of the namespaces in which rules in annotations count. null, the default, is
    nowhere; `{}` is everywhere (unlike plainRules, where `{}` is nowhere). Who may edit pods in a
    selected namespace can keep pods of other namespaces away, within limits: see
    docs/annotations.md."""

    @property
    def selector(self) -> Selector | None:
        """Where they count, None for nowhere; ObjectError for a selector that cannot be read."""
        chosen = self.namespace_selector
        return None if chosen is None else chosen.read("annotations.namespaceSelector")


class RequiredDuringExecution(Block, frozen=True, kw_only=True):
    """Evicting pods whose rules stopped holding after they were placed; in shadow, a dry run."""

    enabled: bool = False
    """True looks after rules that hold during execution. Needs the rights of
    manifests/components/eviction."""

    dry_run: bool = True
    """True does all but evict: the eviction is sent as a dry run, counted, logged and told in an
    Event."""

    evictions_per_minute: Annotated[int, Meta(ge=1, le=6000)] = 10
    """Evictions in any minute, in the whole cluster and by all replicas together; limits the damage
    of a wrong label. Of each controller's pods one is moved at a time, and the next once its
    successor is ready."""

    grace_period_seconds: Annotated[float, Meta(ge=0, le=86400)] = 60
    """Seconds for which a rule has to be broken before a pod is evicted."""

    max_affected: str = "10%"
    """Share of all pods. While more than that would have to go, nobody is evicted, until it is
    undone or acknowledged by an annotation of the Lease; with more than half of that of one
    namespace, nobody there is. A single pod is never too many."""

    plain_rules: NamespaceSelector = NamespaceSelector()
    """Selector of namespaces in which required rules in specs hold during execution as well, not
    only those of the annotation. `{}` is nowhere."""

    lease_namespace: Annotated[str, Meta(min_length=1)] | None = None
    """Namespace of the Lease by which one of several replicas evicts. Unset means that of the pod's
    service account or of the kubeconfig's context, and kube-system if neither names one."""

    lease_name: Annotated[str, Meta(min_length=1)] = "affinity-extender"
    """Name of that Lease, the same for all replicas."""

    @property
    def share(self) -> float:
        """The share of all pods beyond which nobody is evicted; ObjectError when it is none."""
        if PERCENTAGE.fullmatch(self.max_affected) is None:
            path = "requiredDuringExecution.maxAffected"
            raise ObjectError(path, f"{self.max_affected!r} is not a percentage such as 10%")
        return int(self.max_affected.removesuffix("%")) / 100

    @property
    def execution(self) -> Execution:
        """Which rules hold during execution; ObjectError for a selector that cannot be read."""
        if self.plain_rules.empty:
            return Execution()
        return Execution(self.plain_rules.read("requiredDuringExecution.plainRules"))


class PreferredDuringExecution(Block, frozen=True, kw_only=True):
    """Moving pods that sit worse than they have to by preferred rules; modes assist and replace.

    Lease, evictionsPerMinute (half of it) and maxAffected (of all pods, in any hour) are those of
    requiredDuringExecution, which need not be enabled.
    """

    enabled: bool = False
    """True moves a pod where another node suits it better and would take it, with the rights of
    manifests/components/eviction. The default leaves running pods alone."""

    dry_run: bool = True
    """True does all but evict: it is counted and told in an Event, once a day a controller."""

    min_gain: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """Weight that a pod's own preferred terms have to gain by a move, and all terms together."""

    settle_seconds: Annotated[float, Meta(ge=0, le=86400)] = 300
    """Seconds for which a better place has to be there before a pod is moved."""

    rest_seconds: Annotated[float, Meta(ge=1, le=86400)] = 60
    """Seconds for which no further pod of a controller is moved after one whose successor is ready;
    four times as long after each move that missed, up to a day."""
