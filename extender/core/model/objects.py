"""Pods, nodes and namespaces, reduced to what the rules look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple, TypeVar

from msgspec import Struct, structs

from extender.core.model.carried_rules import CarriedAffinity, digest_after
from extender.core.model.facets import NO_FACETS, Facet, Facets
from extender.core.model.keys import Key
from extender.core.model.labels import NO_LABELS, TEMPLATE_HASH, Labels
from extender.core.model.node_resources import (
    JUST_A_POD,
    NO_REQUIREMENTS,
    NOTHING_ALLOCATABLE,
    Allocatable,
    HostPorts,
    Requests,
    Requirements,
)
from extender.core.model.node_selection import NodeSelection
from extender.core.model.pod_affinity import (
    NO_AFFINITY,
    NO_WRITTEN_AFFINITY,
    Affinity,
    WrittenAffinity,
)
from extender.core.model.workload import (
    WORKLOAD,
    Identity,
    Owner,
    controller_by_name,
)

T = TypeVar("T")

NOT_CREATED = "FailedCreate"
"""What a controller gives as a reason where the API server did not take its pods."""


class Controller(NamedTuple):
    """Who made a pod: no uid counts beyond the namespace of the pod that names it."""

    namespace: str
    uid: str


class PodClass:
    """What all replicas of a workload share: namespace, labels and rules.

    Affinity is decided per class, never per pod, so a class is hashed often: the hash is taken
    once. Treat instances as immutable.
    """

    __slots__ = (
        "__weakref__",
        "_by_annotation",
        "_hash",
        "_of_spec",
        "_otherwise",
        "affinity",
        "annotated",
        "labels",
        "later",
        "namespace",
        "of_annotations",
        "size",
        "written",
    )

    def __init__(
        self,
        namespace: str,
        labels: Labels,
        affinity: Affinity = NO_AFFINITY,
        written: WrittenAffinity = NO_WRITTEN_AFFINITY,
        size: int = 0,
        *,
        annotated: CarriedAffinity | None = None,
        of_spec: PodClass | None = None,
        later: bool = False,
        of_annotations: bool = False,
    ) -> None:
        """`labels` are with marks (`model/workload.py`), by which rules may spare other revisions.

        `size` is about what the class takes in memory, in bytes; who reads it can tell.

        `annotated` tells which of the rules come from an annotation; with it, `affinity` is
        `annotated.all`, and `of_spec` the class without it. `later`: pods were placed by other
        rules than those in their annotation now, which therefore are nothing to others. For
        `of_annotations` see `by_annotation`.
        """
        if WORKLOAD in labels:
            annotated = annotated and annotated.sparing(namespace, labels)
            affinity = (
                affinity.sparing(namespace, labels, of_spec=not of_annotations)
                if annotated is None
                else annotated.all
            )
        self.namespace = namespace
        self.labels = labels
        self.affinity = affinity
        self.written = written
        self.size = size
        self.annotated = annotated
        self.of_annotations = of_annotations
        self._of_spec = of_spec
        self.later = later
        self._otherwise: PodClass | None = None
        self._by_annotation: PodClass | None = None
        self._hash = hash((namespace, frozenset(labels.items()), affinity, of_annotations))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not (
            isinstance(other, PodClass)
            and self._hash == other._hash
            and self.namespace == other.namespace
            and _are_equal(self.labels, other.labels)
            and _are_equal(self.affinity, other.affinity)
            and _are_equal(self.written, other.written)
            and _are_equal(self.annotated, other.annotated)
            and _are_equal(self._of_spec, other._of_spec)
            and self.later is other.later
            and self.of_annotations is other.of_annotations
        ):
            return False
        # Thousands of terms take milliseconds to compare; next time they are the same objects.
        other.labels, other.affinity = self.labels, self.affinity
        other.written, other.annotated = self.written, self.annotated
        other._of_spec = self._of_spec
        return True

    def __repr__(self) -> str:
        return f"PodClass({self.namespace!r}, {self.labels!r}, {self.affinity!r})"

    @property
    def during_execution(self) -> Affinity:
        """Return the required terms that also count while the pod runs, from its annotation.

        They are part of `affinity` as well: scheduling takes them like any other. A pod's node
        affinity has the same: `NodeSelection.during_execution`.
        """
        return NO_AFFINITY if self.annotated is None else self.annotated.during_execution

    @property
    def digest(self) -> str:
        """Return what tells the rules in its annotation from others, "" for none."""
        return "" if self.annotated is None else self.annotated.digest

    @property
    def of_spec(self) -> PodClass:
        return self if self._of_spec is None else self._of_spec

    def placed(self, *, later: bool) -> PodClass:
        """Return the class of a pod that got its place by these rules, or by others."""
        if later is self.later:
            return self
        if self._otherwise is None:
            self._otherwise = PodClass(
                self.namespace,
                self.labels,
                self.affinity,
                self.written,
                self.size,
                annotated=self.annotated,
                of_spec=self._of_spec,
                later=later,
            )
        return self._otherwise

    @property
    def by_annotation(self) -> PodClass:
        """Return the class as if no rules but those in annotations existed, its own and others'.

        It is only ever asked about, never placed: where the scheduler enforces the rules of specs,
        such a class is what is left to be compared with the terms that placed pods have in
        annotations.
        """
        if self.of_annotations:
            return self
        if self._by_annotation is None:
            added = NO_AFFINITY if self.annotated is None else self.annotated.added
            self._by_annotation = PodClass(
                self.namespace, self.labels, added, size=self.size, of_annotations=True
            )
        return self._by_annotation

    def relabelled(self, new: PodClass) -> PodClass:
        """Return the class of a pod of this class after an update to the class `new`.

        Label keys were merged when the pod was created; a later edit of its labels must not
        merge them again. An edit of its annotation brings new rules.
        """
        # An equal hash stands for equal labels and rules, which are expensive to compare.
        if new._hash == self._hash or new.written != self.written or new.affinity == self.affinity:
            return new
        if self.annotated is None or new.annotated is None:
            if self.annotated is not new.annotated:
                return new
            merged = self.affinity.sparing(new.namespace, NO_LABELS, of_spec=True)
            return PodClass(new.namespace, new.labels, merged, self.written, new.size)
        if self.annotated.written != new.annotated.written:
            return new
        digest = digest_after(self.annotated.digest, new.annotated.digest)
        annotated = self.annotated.sparing(new.namespace, NO_LABELS)
        return PodClass(
            new.namespace,
            new.labels,
            annotated.all,
            self.written,
            new.size,
            annotated=replace(annotated, digest=digest),
            of_spec=self.of_spec.relabelled(new.of_spec),
        )


def _are_equal(one: object, other: object) -> bool:
    # Two names of one dictionary are compared item by item otherwise.
    return one is other or one == other


class Unannotated(Struct, frozen=True, gc=False):
    """What the spec of a pod with rules in annotations says by itself, beside its class."""

    node_selection: NodeSelection | None
    broken_rules: tuple[str, str] | None = None


class SharedSpec(Struct, frozen=True, weakref=True):
    """What a pod asks for besides its class; one object for all pods of a workload."""

    priority: int = 0
    """A pod may be evicted for one of higher priority."""
    may_preempt: bool = True
    """False when its preemptionPolicy is Never: no pod is evicted for it."""
    priority_class: str | None = None
    """The PriorityClass that is still to give it a priority, "" for the default one: of a pod in a
    manifest, where that is read. None once its priority is known."""
    requests: Requests = JUST_A_POD
    ports: HostPorts = ()
    """Ports of its node that it takes."""
    group: Key | None = None
    """The pod group that it is placed with, as a whole."""
    owner: Owner | None = None
    """Who would replace it, should it be evicted; None where that is not read."""
    requirements: Requirements = NO_REQUIREMENTS
    """Of a pod that has its node, they are known only where they are wanted."""
    broken_rules: tuple[str, str] | None = None
    """The field with rules that cannot be read, or that are too many, and what is wrong with it.
    Such a pod is not placed. One that is there already counts with the rules of its spec alone, or
    with as many of these as a pod may have."""
    exclusive: str | None = None
    """What its annotation affinity-extender.io/exclusive says, which is no rule."""
    unannotated: Unannotated | None = None
    """What counts where rules in annotations do not; None for a pod that has none."""


class Said(NamedTuple):
    """What a scheduler has said of a pod that it did not place, or a controller that made none."""

    reason: str
    """Unschedulable, or SchedulerError where it could not judge; a controller's is FailedCreate."""
    message: str
    """Bounded, in printable characters; "" where there is none."""
    since: int | None = None
    """When it first said so, in seconds since 1970."""

    @property
    def who(self) -> str:
        return "its controller" if self.reason == NOT_CREATED else "the scheduler"


class SharedStatus(Struct, frozen=True, weakref=True):
    """What has become of a pod; one object for nearly all, for most pods just run."""

    terminal: bool = False
    """Succeeded or Failed: it no longer occupies its domain."""
    deleting: bool = False
    """On its way out; it counts until it is gone."""
    preempted: bool = False
    """On its way out for the sake of a more important pod."""
    victim_of: str | None = None
    """The uid of the pod for which an extender has marked it, to delete it next; None when no such
    mark tells."""
    nominated: str | None = None
    """The node that the scheduler tries first, and holds for it while it waits: one where others
    are evicted for it, or one that we proposed."""
    facets: Facets = NO_FACETS
    """What features read of it."""
    ready: bool = False
    """Whether its condition Ready is true; False where that is not read."""
    starting: bool = False
    """Whether it has a node and is still in phase Pending; False where that is not read."""
    record: str | None = None
    """The digest of its annotation that its status has on record, "" for none; None where objects
    have no history, as manifests: what those have in annotations was there all the time."""
    judged: str | None = None
    """The digest of its annotation when it got its place, by the record or as we have seen it. The
    state alone knows that."""
    created: int | None = None
    """When a pod that waits was created, in seconds since 1970, where that is read."""
    said: Said | None = None
    """What its scheduler has said of a pod that waits, where that is read."""


class Pod(Struct, frozen=True, gc=False):
    """One pod; it is in no circle, and the collector would take half a second for a million.

    There may be as many, so it has only what is its own: another field would take 16 bytes of each.
    """

    key: Key
    uid: str
    node: str | None
    """The node that it is bound to, None while it waits."""
    pod_class: PodClass
    spec: SharedSpec = SharedSpec()
    status: SharedStatus = SharedStatus()
    node_selection: NodeSelection | None = None
    """Which nodes it asks for and prefers; None when any will do, or where that is not read. Not
    shared: each pod of a DaemonSet asks for another node."""
    started: int | None = None
    """When its kubelet took it up, in seconds since 1970; no news for whoever only counts it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pod) and _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash(_compared(self))

    @property
    def without_annotations(self) -> Pod:
        plain = self.spec.unannotated
        if plain is None:
            return self
        return structs.replace(
            self.with_spec(broken_rules=plain.broken_rules, unannotated=None),
            pod_class=self.pod_class.of_spec,
            node_selection=plain.node_selection,
        )

    def with_spec(self, **fields: object) -> Pod:
        return structs.replace(self, spec=structs.replace(self.spec, **fields))

    def with_status(self, **fields: object) -> Pod:
        return structs.replace(self, status=structs.replace(self.status, **fields))

    def facet(self, kind: Facet[T]) -> T | None:
        """Return what a feature has read of it; None where there is nothing, or it is off."""
        for facet, value in self.status.facets:
            if facet is kind:
                found: T = value
                return found
        return None

    def with_facet(self, kind: Facet[T], value: T) -> Pod:
        """Return the pod as if that had been read of it."""
        others = (each for each in self.status.facets if each[0] is not kind)
        return self.with_status(facets=(*others, (kind, value)))

    def judged_by(self, digest: str | None) -> Pod:
        """Return the pod with what is known of its annotation when it got its place.

        None: it was there all the time. Rules that it did not have then are nothing to others.
        """
        now = self.pod_class.digest
        pod_class = self.pod_class.placed(later=bool(now) and digest not in {None, now})
        if pod_class is self.pod_class and digest == self.status.judged:
            return self
        return structs.replace(self.with_status(judged=digest), pod_class=pod_class)

    def is_but_for_running(self, other: Pod) -> bool:
        """Return whether it is as another, save for when it started, and for what runs and said.

        No counter of places has to do with whether it is ready and what a scheduler has said.
        """
        ready, said = other.status.ready, other.status.said
        same = self.status.ready is ready and self.status.said == said
        return (self if same else self.with_status(ready=ready, said=said)) == other

    @property
    def size(self) -> int:
        """Return about how many bytes its rules, labels and tolerations take."""
        affinity = self.node_selection
        nodes = 0 if affinity is None else affinity.size
        return self.pod_class.size + nodes + self.spec.requirements.size

    @property
    def controller(self) -> Controller | None:
        """Return who made it and would replace it; None if none would, or if that is not read."""
        owner = self.spec.owner
        return None if owner is None else Controller(self.pod_class.namespace, owner.uid)

    @property
    def workload(self) -> Identity | None:
        """Return what it is a replica of, as names tell; None where none would replace it."""
        owner = self.spec.owner
        if owner is None:
            return None
        direct = Identity(self.pod_class.namespace, owner.kind, owner.name)
        template_hash = self.pod_class.labels.get(TEMPLATE_HASH, "")
        return controller_by_name(direct, template_hash) or direct

    def after(self, old: Pod) -> Pod:
        """Return the pod as an update of an older one, with what no update changes left as it was.

        A bound pod stays bound: an object that says otherwise comes from an older list. Once a pod
        is being deleted, `victim_of` is final: a later mark, by the scheduler for a pod of its own
        or by a request that was long under way, changes nothing.
        """
        pod_class = old.pod_class.relabelled(self.pod_class)
        node = self.node if self.node is not None else old.node
        marked = old.status.deleting and old.status.victim_of
        kept = marked and marked != self.status.victim_of
        pod = self.with_status(victim_of=marked) if kept else self
        if pod_class is pod.pod_class and node is pod.node:
            return pod
        return structs.replace(pod, pod_class=pod_class, node=node)


_compared = attrgetter(*(each for each in Pod.__struct_fields__ if each != "started"))


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod as the API server had it."""

    pod: Pod
    version: str = ""
    """The resourceVersion at which a read showed it; "" when the watch has shown it."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    labels: Labels
    allocatable: Allocatable = NOTHING_ALLOCATABLE


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    labels: Labels
