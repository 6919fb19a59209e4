"""What rules about workloads look at: a template with its terms, in what is known of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import structs

from affinityctl.commands.lint.near import Names, Vocabulary, said
from affinityctl.reading.rollouts import ONE_POD, Rollout
from affinityctl.scheduler.volumes.ledger import VolumeLedger
from extender.core.config.options import Option
from extender.core.errors import ObjectError
from extender.core.model.labels import Labels, Operator, Requirement, Selector
from extender.core.model.node_resources import KNOWN_SCHEDULERS, Toleration
from extender.core.model.node_selection import NodeRule
from extender.core.model.objects import Node
from extender.core.model.pod_affinity import Term, WrittenTerm
from extender.core.model.workload import OWN, REVISION_LABELS, REVISIONS, revision_labels
from extender.core.wire.manifests import PodAffinityTerm
from extender.core.wire.rules_beside import NONE_BESIDE, RulesBeside

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""Each namespace has it; manifests do not."""

PodLabels: TypeAlias = tuple[str, frozenset[tuple[str, str]]]
"""Namespace and labels of a pod."""

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

_PASSING: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Begins the taints of a cordon and of a node's condition, which go again by themselves."""

OLD, NEW = "0", "1"
"""Values of a revision's label."""

_CONTROLLER_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "StatefulSet": ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
    "Job": (
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/job-completion-index",
        "controller-uid",
        "job-name",
    ),
}


class KnownPods:
    """The pods that there are, and those that templates make, found by their labels."""

    def __init__(self) -> None:
        self._all: set[PodLabels] = set()
        self._by_label: dict[tuple[str, str], list[PodLabels]] = {}
        self.labels = Vocabulary()

    def add(self, namespace: str, labels: Labels) -> None:
        """Take a pod; those with the same labels count once."""
        pod = (namespace, frozenset(labels.items()))
        if pod not in self._all:
            self._all.add(pod)
            for label in pod[1]:
                self._by_label.setdefault(label, []).append(pod)
            self.labels.add(pod[1])

    def candidates(self, term: Term) -> Iterable[PodLabels]:
        """Return pods among which are all that a term can be about; few where it names a label."""
        for each in term.pods.selector.requirements:
            if each.operator is Operator.IN:
                found = (self._by_label.get((each.key, value), ()) for value in each.values)
                return [pod for pods in found for pod in pods]
        return self._all


class NodesFor(NamedTuple):
    """Which nodes the pods of a template may use."""

    required: NodeRule | None = None
    """Their node selector and node affinity."""
    tolerations: tuple[Toleration, ...] = ()

    @property
    def alternatives(self) -> Iterator[list[Requirement]]:
        """Yield what a node's labels have to meet, all of one."""
        if self.required is not None:
            for term, _ in self.required.terms:
                every = (*self.required.common, *term.conditions)
                yield [each for each in every if isinstance(each, Requirement)]

    def judge(self, node: Node) -> bool:
        return (self.required is None or bool(self.required.judge(node.name, node.labels))) and all(
            taint.key.startswith(_PASSING) or any(each.covers(taint) for each in self.tolerations)
            for taint in node.allocatable.taints
        )


class Surroundings:
    """Nodes, namespaces and pods; None for what is unknown."""

    def __init__(
        self,
        nodes: list[Node] | None = None,
        namespaces: Mapping[str, Labels] | None = None,
        pods: KnownPods | None = None,
        scheduler_minor: int | None = None,
        *,
        writes_exclusive: bool = False,
        chooses_profile: bool = False,
        placed: KnownPods | None = None,
        volumes: VolumeLedger | None = None,
    ) -> None:
        """`scheduler_minor` is 37 of 1.37; for policies see `Objects`.

        `placed` are pods that do not wait for any that is looked at.
        """
        self.nodes = nodes
        self.namespaces = namespaces
        self.pods = pods
        self.scheduler_minor = scheduler_minor
        self.writes_exclusive = writes_exclusive
        self.chooses_profile = chooses_profile
        self.placed = KnownPods() if placed is None else placed
        self.volumes = VolumeLedger() if volumes is None else volumes
        self.left: frozenset[str] | None = None
        """The profiles that are left to the scheduler; None where it is not known whether there are
        others."""
        self.callers: Collection[str] = KNOWN_SCHEDULERS
        """The profiles of the schedulers that call the extender."""
        self._matching: dict[NodesFor, list[Labels]] = {}
        self._counts: dict[tuple[NodesFor, str], tuple[int, int | None]] = {}
        self.circle_of: Callable[[Template], Sequence[str]] = lambda _: ()
        """Names the objects that pods of a template wait for in a circle, it itself the last."""

    def nodes_for(self, pods: NodesFor) -> list[Labels]:
        found = self._matching.get(pods)
        if found is None:
            chosen = filter(pods.judge, self.nodes or ())
            found = self._matching[pods] = [node.labels for node in chosen]
        return found

    def nodes_without(self, pods: NodesFor, key: str) -> int:
        return self._counted(pods, key)[0]

    def domains_for(self, pods: NodesFor, key: str) -> int | None:
        """Return how many domains of a topology key there are for pods.

        None where nothing limits them: no node is known, or one without the key takes any number.
        """
        return self._counted(pods, key)[1]

    def _counted(self, pods: NodesFor, key: str) -> tuple[int, int | None]:
        found = self._counts.get((pods, key))
        if found is None:
            nodes = self.nodes_for(pods)
            without = sum(key not in labels for labels in nodes)
            domains = len({each[key] for each in nodes}) if nodes and not without else None
            found = self._counts[pods, key] = without, domains
        return found

    @cached_property
    def namespace_names(self) -> Names:
        return Names(self.namespaces or ())

    def namespace_labels(self, name: str) -> Labels:
        """Return the labels of a namespace; of one that is not known, those that each has."""
        return (self.namespaces or {}).get(name) or {NAME_LABEL: name}

    def has_key(self, key: str) -> bool:
        return key in self.node_labels

    @cached_property
    def node_labels(self) -> Vocabulary:
        found = Vocabulary()
        for node in self.nodes or ():
            found.add(node.labels.items())
        return found

    def some_pod_meets(self, terms: Iterable[Term]) -> bool:
        """Return whether some pod that is known is what all the terms are about."""
        every = list(terms)
        return self.pods is None or not every or self.some_meets(self.pods, every)

    def some_meets(self, known: KnownPods, terms: list[Term]) -> bool:
        return any(self._meets(pod, terms) for pod in known.candidates(terms[0]))

    def meant(self, term: Term, known: KnownPods) -> str | None:
        """Return the label that a term without a pod was probably to ask for: app=web."""
        chosen = term.pods.selector.requirements
        for each in chosen:
            others = [other for other in chosen if other is not each]
            for changed in known.labels.changes(each):
                pods = structs.replace(term.pods, selector=Selector.of((*others, changed)))
                if self.some_meets(known, [structs.replace(term, pods=pods)]):
                    return said(changed)
        return None

    def _meets(self, pod: PodLabels, terms: list[Term]) -> bool:
        namespace, labels = pod[0], dict(pod[1])
        of_namespace = self.namespace_labels(namespace)
        return all(term.pods.matches(namespace, of_namespace, labels) for term in terms)


@dataclass(frozen=True, slots=True)
class TermAt:
    """One term, required or preferred, for or against other pods."""

    path: str
    written: PodAffinityTerm
    term: Term
    """As it takes effect: label keys merged, the owner's namespace filled in."""
    unmerged: WrittenTerm
    against: bool
    weight: int | None = None
    """None for a required one."""

    @property
    def required(self) -> bool:
        return self.weight is None

    @property
    def if_unmet(self) -> str:
        """Say what comes of it where it is about no pod, or in no domain."""
        never = self.required and not self.against
        return "no node will do" if never else "the term has no effect"

    @property
    def has_label_keys(self) -> bool:
        """Return whether the owner's labels narrow it."""
        return bool(self.written.matchLabelKeys or self.written.mismatchLabelKeys)


class SpreadAt(NamedTuple):
    path: str
    selector: Selector
    """The pods that it counts, whose label keys make them no others of one revision."""
    topology_key: str
    hard: bool
    max_skew: int = 1

    @property
    def if_unmet(self) -> str:
        """Say what comes of it where no node has its key."""
        return "no node will do" if self.hard else "the constraint has no effect"


class GateAt(NamedTuple):
    """A feature gate that a container of kube-scheduler sets."""

    path: str
    name: str
    minor: int | None
    """Of the scheduler: 38 of 1.38; None where its image does not say."""


@dataclass(frozen=True, slots=True)
class TemplateOwner:
    kind: str
    namespace: str
    name: str
    path: str = "spec"
    """Of the pods' spec: spec.template.spec; that of a pod is spec."""
    rollout: Rollout = ONE_POD
    stored: bool = False
    """A pod that an API server has: its label keys are merged."""
    selector: Mapping[str, Any] | None = None
    """By which it knows its pods."""
    ignored: frozenset[str] = frozenset()
    """Rules that it asks to be spared."""
    faulty: bool = False
    """The API server refuses one of its fields, or drops it."""
    misplaced: tuple[str, ...] = ()
    """Annotations with rules that a workload has itself, and not its template."""

    def list_of(self, side: str, strength: str) -> str:
        """Return the path of a list of terms: of a side, REQUIRED or PREFERRED ones."""
        return f"{self.path}.affinity.{side}.{strength}"

    def revision_labels(self, value: str) -> dict[str, str]:
        """Return the labels that tell the pods of one revision from those of another."""
        return revision_labels(self.kind, value)

    @property
    def given_labels(self) -> tuple[str, ...]:
        """Return the labels that its controller adds to each pod."""
        return (*REVISION_LABELS.get(self.kind, ()), *_CONTROLLER_LABELS.get(self.kind, ()))


@dataclass(frozen=True, slots=True)
class Template:
    """The pods that a workload makes, or one pod."""

    owner: TemplateOwner
    labels: Labels
    terms: tuple[TermAt, ...]
    raw: dict[str, Any]
    """The affinity as it is written."""
    nodes: NodesFor
    around: Surroundings
    spread: tuple[SpreadAt, ...] = ()
    ports: frozenset[int] = frozenset()
    """Of its node, that each pod takes."""
    fault: ObjectError | None = None
    """What makes its affinity unreadable."""
    too_many: str | None = None
    """Why its affinity is more than a pod may have; then `terms` has the first terms alone."""
    annotation: RulesBeside = NONE_BESIDE
    """The rules in its annotations, or what is wrong with them."""
    exclusive: str | None = None
    """What its annotation about exclusive domains says."""
    variables_not_read: tuple[tuple[str, Option], ...] = ()
    """Settings of the extender in environment variables, with their paths below the spec."""
    scheduler: str | None = None
    group: str | None = None
    """The pod group that its pods are in."""
    gates: tuple[GateAt, ...] = ()
    claims: tuple[tuple[str, str], ...] = ()
    """The claims that all pods share, each by the path of its volume and its name."""
    annotations: frozenset[str] = frozenset()
    """The names of all."""
    os: str | None = None
    """The operating system that its pods are for."""

    @property
    def own_selector(self) -> Mapping[str, Any]:
        """Return a label selector for the pods of this template."""
        return self.owner.selector or {"matchLabels": self.labels}

    def of(self, *, against: bool, required: bool = True) -> Iterator[TermAt]:
        for each in self.terms:
            if each.against is against and each.required is required:
                yield each

    def matches_itself(self, term: Term) -> bool:
        """Return whether a term of this template is about pods of this template."""
        labels = self.around.namespace_labels(self.owner.namespace)
        return term.pods.matches(self.owner.namespace, labels, self.revision(NEW))

    def holds_within(self, narrow: TermAt, wide: TermAt) -> bool:
        """Return whether the nodes that are known have the wider term's topology key.

        The others are in no domain of it, so it says nothing there. Where no node is known, all are
        taken to have it.
        """
        key = wide.term.topology_key
        return key == narrow.term.topology_key or not self.eligible_nodes_without(key)

    def holds_old_pods_off(self, at: TermAt) -> bool:
        """Return whether the term of a new revision's pod is about the pods of the old one."""
        term = at.unmerged.merged(self.revision(NEW))
        labels = self.around.namespace_labels(self.owner.namespace)
        if self.annotation.own_revisions or labels.get(REVISIONS) == OWN:
            return False
        return term.pods.matches(self.owner.namespace, labels, self.revision(OLD))

    def revision(self, value: str) -> Labels:
        return {**self.labels, **self.owner.revision_labels(value)}

    def eligible_domains(self, key: str) -> int | None:
        return self.around.domains_for(self.nodes, key)

    def eligible_nodes(self) -> list[Labels]:
        return self.around.nodes_for(self.nodes)

    def eligible_nodes_without(self, key: str) -> int:
        return self.around.nodes_without(self.nodes, key)
