"""Kubernetes JSON into values: the same readers for watches, files and callbacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import msgspec
from msgspec import structs

from extender.core.errors import ObjectError
from extender.core.model import memory
from extender.core.model.disruption import Counted, PodDisruptionBudget, preemptor_in
from extender.core.model.exclusive import MOST_LETTERS
from extender.core.model.facets import NO_FACETS, Facet, Facets
from extender.core.model.keys import Key, key_of
from extender.core.model.lru_cache import CountedCache
from extender.core.model.node_resources import NO_REQUIREMENTS, Allocatable, Taint
from extender.core.model.node_selection import NodeSelection
from extender.core.model.objects import (
    Namespace,
    Node,
    Pod,
    PodClass,
    SharedSpec,
    SharedStatus,
    Unannotated,
)
from extender.core.model.pod_affinity import NO_WRITTEN_AFFINITY, WrittenAffinity
from extender.core.model.workload import OWN, REVISIONS, marks_of
from extender.core.wire import manifests
from extender.core.wire.affinity import EVERY_GATE_ON, Gates, read_affinity, read_selector
from extender.core.wire.class_cache import ClassCache, ClassKey, class_size
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import EXCLUSIVE_ANNOTATION
from extender.core.wire.node_selection import ANY_NODE, NodeSelectionReader
from extender.core.wire.placement import (
    OwnerReader,
    RequirementsReader,
    VolumesReader,
    is_ready,
    moment,
    preemption_message,
    read_host_ports,
    recorded_rules,
    scheduler_said,
)
from extender.core.wire.pod_resources import RequestsReader
from extender.core.wire.quantities import read_amounts
from extender.core.wire.resized import is_resized, resized_requests
from extender.core.wire.rules_beside import NONE_BESIDE, ReadRules, RulesBeside

GenerateName: TypeAlias = Callable[[str, str], str]
"""Makes a name of a namespace and a prefix that no other pod has."""

TERMINAL_PHASES = frozenset(("Succeeded", "Failed"))

LONGEST_NAME = 320
"""Characters of a name that is shared: a namespace, a slash and a name are no longer."""
KEEPING_AWAY = frozenset(("NoSchedule", "NoExecute"))

NEVER = "Never"
"""The preemptionPolicy of a pod that evicts no other."""

_ALWAYS_ALLOW: Final = "AlwaysAllow"
"""The unhealthyPodEvictionPolicy by which no budget keeps a pod that is not ready."""
_SYNC_FAILED: Final = "SyncFailed"
"""Why the disruption controller could not count: the pods of a Job, say."""

_OWN: Final = msgspec.json.encode(OWN)

_NO_STATUS = manifests.PodStatus()

_NODE_NAME = re.compile(r"[ !#-\[\]-~]+")
"""Answers have it as it is, without a look at what JSON would escape. API servers take less."""
_NODE = msgspec.json.Decoder(manifests.NodeManifest)
_NAMESPACE = msgspec.json.Decoder(manifests.NamespaceManifest)
_BUDGET = msgspec.json.Decoder(manifests.BudgetManifest)
_TEXT = msgspec.json.Decoder(str)
_LABELS = msgspec.json.Decoder(dict[str, str] | None)
_QUANTITIES = msgspec.json.Decoder(dict[str, str | int | float] | None)
_AFFINITY = msgspec.json.Decoder(manifests.AffinityManifest | None)


class Beyond(NamedTuple):
    """What reads a facet of more than annotations."""

    facet: Facet[Any]
    reader: Callable[[], Callable[[manifests.PodManifest, PodClass], Any]]
    """Makes what reads one pod, or finds None; each PodReader has its own, with its caches."""


ReadFacet: TypeAlias = Facet[Any] | Beyond


@dataclass(eq=False)
class PodReader:
    """Reads pods; those of one workload come out sharing their class."""

    gates: Gates = EVERY_GATE_ON
    _: KW_ONLY
    node_selection: bool = False
    """Say which nodes pods ask for and prefer in their specs; what they say beside them is read in
    any case."""
    waiting: bool = False
    """Say of pods that have no node yet which ones they ask for, who made them and when, even where
    that is not read of others."""
    owners: bool = False
    """Say who would replace a pod, and whether it is ready."""
    facets: tuple[ReadFacet, ...] = ()
    """What features read of pods."""
    requirements: bool = False
    """Say of pods that have a node, too, what else they ask of their placing."""
    read_volumes: VolumesReader | None = None
    """Says what the volumes are of those of which requirements are said."""
    most_entries: int | None = None
    """Longer node affinity is an ObjectError."""
    stored: bool = False
    """All pods come from an API server, so that none has label keys that are still to be merged."""
    classes: bool = False
    """Say which PriorityClass pods of manifests have that no API server has given a priority."""
    rules: ReadRules | None = None
    """Makes what reads the rules that pods carry beside those of their specs; None: none count."""

    def __post_init__(self) -> None:
        annotated = [each for each in self.facets if isinstance(each, Facet)]
        names = {name for each in annotated for name in each.annotations}
        self._rules = None if self.rules is None else self.rules(self.gates)
        ruling = () if self._rules is None else self._rules.annotations
        self._manifests, kept = manifests.keeping(tuple(sorted({*names, *ruling})))
        self._ruling = [kept[name] for name in ruling]
        self._kept = [
            (each, [(name, kept[name]) for name in sorted(each.annotations)]) for each in annotated
        ]
        self._beyond = [
            (each.facet, each.reader()) for each in self.facets if isinstance(each, Beyond)
        ]
        self._classes = ClassCache()
        self._names: CountedCache[str, str] = CountedCache(memory.MOST_NAMES)
        """One string for each node and pod group, not one for each pod. (`sys.intern` would keep
        every name there ever was: in Python 3.12 what it returns lives for ever.)"""
        self._specs: WeakValueDictionary[tuple[object, ...], SharedSpec] = WeakValueDictionary()
        """By `_parts`, for what they are made of takes long to compare; it lives while they do."""
        self._statuses: WeakValueDictionary[tuple[object, ...], SharedStatus] = (
            WeakValueDictionary()
        )
        self._requests = RequestsReader()
        self._node_selection = NodeSelectionReader(self.most_entries)
        self._owners = OwnerReader()
        self._requirements = RequirementsReader(self.read_volumes)

    def another(self) -> PodReader:
        """Return a reader that reads alike and shares nothing, for use in another thread."""
        return replace(self)

    def forgetting(self) -> Iterator[None]:
        """Give up what was not read since this was gone through last, an entry at a step.

        What is alive is shared all the same: classes by the state, the rest here.
        """
        yield from self._classes.forgetting()
        yield from self._node_selection.forgetting()
        if self._rules is not None:
            yield from self._rules.forgetting()

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        """Read a v1.Pod; ObjectError names the field that is broken.

        `generate` makes a name for a pod with a generateName, as the API server would have done.
        """
        pod = decode(self._manifests, raw)
        metadata, spec = pod.metadata, pod.spec
        namespace = metadata.namespace or "default"
        name = metadata.name
        if not name and metadata.generateName and generate is not None:
            name = generate(namespace, metadata.generateName)
        if not name:
            raise ObjectError("metadata.name", "a pod needs a name")
        status = pod.status or _NO_STATUS
        key = key_of(namespace, name)
        node = spec.nodeName
        # An API server has given it a version, so it merged the label keys when it created the pod.
        stored = self.stored or bool(metadata.resourceVersion)
        labels, affinity = bytes(metadata.labels), bytes(spec.affinity)
        beside = NONE_BESIDE
        if self._rules is not None and metadata.annotations is not None:
            beside = self._beside_spec(namespace, affinity, metadata.annotations)
        owner = made_by = None
        waits = not (node or status.phase in TERMINAL_PHASES)
        told = self.waiting and waits
        if self._rules is not None or self.owners or told:
            owner = self._owners.read(metadata.ownerReferences)
        if self._rules is not None and owner is not None:
            made_by = (owner.kind, owner.name, beside.own_revisions)
        pod_class = self._class((namespace, labels, affinity, stored, made_by, beside.key), beside)
        node_selector = bytes(spec.nodeSelector)
        too_many = pod_class.of_spec.written.fault
        of_nodes = self.node_selection or told
        asked = SharedSpec(
            priority=spec.priority or 0,
            may_preempt=spec.preemptionPolicy != NEVER,
            priority_class=(
                self._name(spec.priorityClassName or "")
                if self.classes and spec.priority is None
                else None
            ),
            requests=(
                resized_requests(raw, spec)
                if is_resized(bytes(status.conditions))
                else self._requests.read(spec)
            ),
            ports=read_host_ports(spec),
            group=self._group(spec, namespace),
            owner=owner if self.owners or told else None,
            requirements=(
                self._requirements.read(spec, metadata.annotations)
                if waits or self.requirements
                else NO_REQUIREMENTS
            ),
            broken_rules=beside.fault or too_many,
            exclusive=self._exclusive(metadata.annotations),
            unannotated=(
                None
                if beside is NONE_BESIDE
                else Unannotated(
                    self._nodes(affinity, node_selector, NONE_BESIDE, spec=of_nodes), too_many
                )
            ),
        )
        return Pod(
            key=key,
            # Manifests have no uid; the key is as good where nothing is ever re-created.
            uid=metadata.uid or key,
            node=(self._names.peek(node) or self._name(node)) if node else None,
            pod_class=pod_class,
            # Those that wait are few, and soon something else.
            spec=asked if waits else self._specs.setdefault(_parts(asked), asked),
            status=self._status(pod, pod_class, stored=stored, waits=waits),
            node_selection=self._nodes(affinity, node_selector, beside, spec=of_nodes),
            started=moment(status.startTime),
        )

    def _beside_spec(
        self, namespace: str, affinity: bytes, found: manifests.PodAnnotations
    ) -> RulesBeside:
        raw = [getattr(found, field) for field in self._ruling]
        if self._rules is None or all(each is manifests.NULL for each in raw):
            return NONE_BESIDE
        beside = self._rules.read(namespace, tuple(map(bytes, raw)))
        return beside if beside.pods is None else beside.beside(self._written(namespace, affinity))

    def _exclusive(self, found: manifests.PodAnnotations | None) -> str | None:
        if found is None or found.exclusive is manifests.NULL:
            return None
        text = decode(_TEXT, found.exclusive, f"metadata.annotations[{EXCLUSIVE_ANNOTATION}]")
        return self._name(text[:MOST_LETTERS])

    def _status(
        self, pod: manifests.PodManifest, pod_class: PodClass, *, stored: bool, waits: bool
    ) -> SharedStatus:
        metadata, status = pod.metadata, pod.status or _NO_STATUS
        conditions = bytes(status.conditions)
        mark = preemption_message(conditions)
        deleting = metadata.deletionTimestamp is not None
        found = SharedStatus(
            terminal=status.phase in TERMINAL_PHASES,
            deleting=deleting,
            preempted=deleting and mark is not None,
            victim_of=None if mark is None else preemptor_in(mark),
            # Of a pod that has its node the nomination is history.
            nominated=None if pod.spec.nodeName else status.nominatedNodeName or None,
            facets=self._read_facets(pod, pod_class) if self.facets else NO_FACETS,
            ready=self.owners and not waits and is_ready(conditions),
            record=recorded_rules(conditions) if stored else None,
            created=moment(metadata.creationTimestamp) if waits and self.waiting else None,
            said=(
                scheduler_said(conditions)
                if waits and (self.waiting or self.requirements)
                else None
            ),
        )
        return found if waits else self._statuses.setdefault(structs.astuple(found), found)

    def _read_facets(self, pod: manifests.PodManifest, pod_class: PodClass) -> Facets:
        read, found = NO_FACETS, pod.metadata.annotations
        for facet, reader in self._beyond:
            if (value := reader(pod, pod_class)) is not None:
                read = (*read, (facet, value))
        for facet, fields in self._kept if found is not None else ():
            kept = {
                name: bytes(raw)
                for name, field in fields
                if (raw := getattr(found, field)) is not manifests.NULL
            }
            if kept and (value := facet.read(kept)) is not None:
                read = (*read, (facet, value))
        return read

    def _nodes(
        self, affinity: bytes, node_selector: bytes, beside: RulesBeside, *, spec: bool
    ) -> NodeSelection | None:
        """Return which nodes a pod asks for; from its `spec` only where that is wanted."""
        asks = (affinity, node_selector) if spec else ANY_NODE
        return self._node_selection.read(*asks, beside.nodes)

    def _class(self, key: ClassKey, beside: RulesBeside) -> PodClass:
        known = self._classes.find(key)
        if known is not None:
            return known
        _, labels, affinity, stored, made_by, _ = key
        namespace = self._name(key[0])
        found = decode(_LABELS, labels, "metadata.labels") or {}
        written = self._written(namespace, affinity)
        rules = written.as_stored() if stored else written.merged(found)
        annotated = of_spec = None
        if beside.pods is not None:
            annotated = beside.pods.merged(rules, found, beside.digest(found))
            of_spec = self._class((*key[:-1], b""), NONE_BESIDE)
            rules, written = annotated.all, beside.pods.besides(written)
        if made_by is not None:
            kind, name, own = made_by
            found = {**found, **marks_of(namespace, kind, name, found, own=own)}
        pod_class = PodClass(
            namespace,
            found,
            rules,
            written,
            class_size(key, written),
            annotated=annotated,
            of_spec=of_spec,
        )
        return self._classes.keep(key, pod_class)

    def _written(self, namespace: str, affinity: bytes) -> WrittenAffinity:
        return self._classes.affinity(
            namespace, affinity, lambda raw: self._affinity(namespace, raw)
        )

    def _affinity(self, namespace: str, raw: bytes) -> WrittenAffinity:
        manifest = decode(_AFFINITY, raw, "spec.affinity")
        if manifest is None:
            return NO_WRITTEN_AFFINITY
        self.gates.drop_disabled(manifest)
        return read_affinity(manifest, namespace)

    def _group(self, spec: manifests.PodSpec, namespace: str) -> Key | None:
        """Return the pod group of a pod; the field needs the gate GenericWorkload."""
        group = spec.schedulingGroup
        if group is None or not group.podGroupName:
            return None
        return Key(self._name(key_of(namespace, group.podGroupName)))

    def _name(self, name: str) -> str:
        known = self._names.peek(name)
        if known is not None:
            return known
        if len(name) <= LONGEST_NAME:
            self._names.put(name, name)
        return name


_NONE_YET: Final = b'{"pods": "0"}'
"""What a node has for pods whose kubelet has not reported it: the scheduler puts none there."""


class NodeReader:
    """Reads nodes; those of one kind come out sharing what is allocatable."""

    def __init__(self) -> None:
        self._allocatable: WeakValueDictionary[
            tuple[bytes, tuple[Taint, ...], bool], Allocatable
        ] = WeakValueDictionary()

    def read(self, raw: Json) -> Node:
        """Read a v1.Node; ObjectError names the field that is broken."""
        node = decode(_NODE, raw)
        metadata, spec, status = node.metadata, node.spec, node.status
        if not _NODE_NAME.fullmatch(metadata.name):
            raise ObjectError("metadata.name", "no node can have such a name")
        allocatable = b"null" if status is None else bytes(status.allocatable)
        if status is not None and allocatable == b"null" and bytes(status.conditions) != b"null":
            allocatable = _NONE_YET
        taints = () if spec is None else _taints(spec)
        key = allocatable, taints, spec is not None and bool(spec.unschedulable)
        found = self._allocatable.get(key)
        if found is None:
            quantities = decode(_QUANTITIES, allocatable, "status.allocatable")
            found = Allocatable(read_amounts(quantities, "status.allocatable"), *key[1:])
            self._allocatable[key] = found
        return Node(metadata.name, metadata.labels or {}, found)


def _parts(spec: SharedSpec) -> tuple[object, ...]:
    """Return what a spec is made of: the identities of what is shared by those who read it."""
    parts = structs.astuple(spec)
    if spec.unannotated is not None:
        parts = parts[:-1] + structs.astuple(spec.unannotated)
    plain = spec.priority, spec.may_preempt, spec.priority_class, spec.ports, id(spec.requests)
    return *plain, *map(id, parts[5:])


def read_namespace(raw: Json) -> Namespace:
    """Read a v1.Namespace; ObjectError names the field that is broken."""
    metadata = decode(_NAMESPACE, raw).metadata
    labels, annotations = metadata.labels or {}, metadata.annotations
    # Others do not count, as no namespace can be refused for it.
    own = annotations is not None and bytes(annotations.revisions) == _OWN
    return Namespace(metadata.name, {**labels, REVISIONS: OWN} if own else labels)


def read_budget(raw: Json) -> PodDisruptionBudget:
    """Read a policy/v1 PodDisruptionBudget; ObjectError names the field that is broken."""
    budget = decode(_BUDGET, raw)
    metadata = budget.metadata
    key = key_of(metadata.namespace or "default", metadata.name)
    spec, status = budget.spec or manifests.BudgetSpec(), budget.status or manifests.BudgetStatus()
    counted = None
    if status.desiredHealthy is not None:
        counted = Counted(status.currentHealthy, status.desiredHealthy, status.expectedPods)
    return PodDisruptionBudget(
        key=key,
        uid=metadata.uid or key,
        selector=read_selector(spec.selector, "spec.selector"),
        # Without a status, as in a manifest, nobody has found out that any may go.
        allowed=status.disruptionsAllowed,
        disrupted=frozenset(status.disruptedPods or ()),
        min_available=spec.minAvailable,
        max_unavailable=spec.maxUnavailable,
        evicts_unready=spec.unhealthyPodEvictionPolicy == _ALWAYS_ALLOW,
        counted=counted,
        is_current=budget.status is not None and status.observedGeneration >= metadata.generation,
        failed=any(each.reason == _SYNC_FAILED for each in status.conditions or ()),
    )


def _taints(spec: manifests.NodeSpec) -> tuple[Taint, ...]:
    found = (
        Taint(taint.key, taint.value or "", taint.effect)
        for taint in spec.taints or ()
        if taint.effect in KEEPING_AWAY
    )
    return tuple(dict.fromkeys(found))
