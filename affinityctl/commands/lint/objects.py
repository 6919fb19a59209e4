"""The objects that are looked at, out of files or a live cluster, by what rules are about."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from affinityctl.commands.lint.budgets import Budget, Made, WrittenBudget, budget_of, read_budget
from affinityctl.commands.lint.checking import Fault
from affinityctl.commands.lint.config_maps import KIND as CONFIG_MAP
from affinityctl.commands.lint.config_maps import configurations as configurations_in
from affinityctl.commands.lint.fields import KINDS
from affinityctl.commands.lint.finding import Place
from affinityctl.commands.lint.reading import Manifest, owner_of, read_manifest
from affinityctl.commands.lint.rights import (
    BINDINGS,
    ROLES,
    Binding,
    RbacRole,
    read_binding,
    read_role,
)
from affinityctl.commands.lint.template import NAME_LABEL, KnownPods, Surroundings, TemplateOwner
from affinityctl.commands.lint.written import Written, is_stored, look_at
from affinityctl.reading.api_server import api_server
from affinityctl.reading.sources import Raw, with_template
from affinityctl.scheduler.default_spread.selectors import is_selector_alone
from affinityctl.scheduler.file import KIND as SCHEDULER_KIND
from affinityctl.scheduler.file import SchedulerFile, read_scheduler_file
from affinityctl.scheduler.volumes.ledger import CLAIM, VOLUME, VolumeLedger
from affinityctl.scheduler.volumes.ledger import KINDS as KINDS_OF_VOLUMES
from affinityctl.scheduler.volumes.manifests import (
    read_claim,
    read_csi_driver,
    read_storage_class,
    read_volume,
)
from affinityctl.scheduler.volumes.objects import VolumeObject
from extender.core.cluster.state import ClusterState
from extender.core.config import KIND as OUR_KIND
from extender.core.config import Config, Mode
from extender.core.config.checks import faults
from extender.core.config.document import decode_all
from extender.core.config.features import leaving
from extender.core.errors import ApiError, ConfigError, ConfigFaultsError, ObjectError
from extender.core.model.labels import Labels
from extender.core.model.objects import Node
from extender.core.resources import BUDGETS, NAMESPACES, NODES, PODS, WatchedResource
from extender.core.wire.decoding import Json, decode, whole_number
from extender.core.wire.objects import NodeReader, PodReader, read_namespace
from extender.diagnosis.wire.workloads import OwnedMetadata


class LintedWorkload(NamedTuple):
    place: Place
    manifest: Manifest
    owner: TemplateOwner
    template: Manifest
    """A pod is its own."""


@dataclass(frozen=True, slots=True)
class Configured:
    place: Place
    config: Config


@dataclass(slots=True)
class Objects:
    """All objects of a run, of the kinds that some rule looks at."""

    schedulers: list[tuple[Place, SchedulerFile]] = field(default_factory=list)
    given_configs: list[tuple[Place, msgspec.Raw]] = field(default_factory=list)
    """Configurations of extenders."""
    mapped_configs: list[tuple[Place, msgspec.Raw]] = field(default_factory=list)
    """Likewise, in ConfigMaps."""
    roles: dict[str, tuple[Place, RbacRole]] = field(default_factory=dict)
    """By kind/name."""
    bindings: list[tuple[Place, Binding]] = field(default_factory=list)
    workloads: list[LintedWorkload] = field(default_factory=list)
    budgets: list[tuple[Place, WrittenBudget]] = field(default_factory=list)
    volumes: VolumeLedger = field(default_factory=VolumeLedger)
    nodes: list[Node] = field(default_factory=list)
    namespaces: dict[str, Labels] = field(default_factory=dict)
    written: list[tuple[Place, Written]] = field(default_factory=list)
    """What fields of objects without a resourceVersion are like, and what cannot be read."""
    patches: int = 0
    """Of them, those that are no whole objects."""
    writes_exclusive: bool = False
    """The policy is there that writes what the annotation about exclusive domains stands for."""
    chooses_profile: bool = False
    """The policy is there that has the pods of groups choose a profile for them."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Objects of other kinds, custom resources say."""
    not_judged: list[str] = field(default_factory=list)
    """Those of them with a template for pods."""

    def __len__(self) -> int:
        """Return the number of objects that rules look at."""
        found = len(self.schedulers) + len(self.configs) + len(self.workloads)
        found += len(self.roles) + len(self.bindings) + len(self.budgets)
        known = {place for place, *_ in (*self.workloads, *self.budgets)}
        return found + sum(place not in known for place, _ in self.written)

    @property
    def configs(self) -> list[tuple[Place, msgspec.Raw]]:
        """Return the configurations of extenders; a file of its own goes before a ConfigMap."""
        return self.given_configs or self.mapped_configs

    @property
    def mode(self) -> Mode | None:
        """Return the mode that the flags of the extender's container set, if one does."""
        found = {each.template.spec.mode for each in self.workloads} - {None}
        (mode, *more) = found or (None,)
        return None if more else mode

    @property
    def is_empty(self) -> bool:
        """Return whether there is no object at all, of whatever kind."""
        return not (len(self) or self.nodes or self.namespaces or self.skipped or self.not_judged)

    def take(self, raws: Iterable[Raw], *, lenient: bool = False) -> None:
        """Add objects; ObjectError names what is broken.

        If `lenient`, that is `written` down instead, but for a configuration.
        """
        read_node = NodeReader().read
        for raw in raws:
            try:
                match raw.kind:
                    case "Node":
                        self.nodes.append(read_node(raw.content))
                    case "Namespace":
                        found = read_namespace(raw.content)
                        self.namespaces[found.name] = {NAME_LABEL: found.name, **found.labels}
                    case kind if kind in VOLUMES:
                        self.volumes.put(VOLUMES[kind](raw.content))
                    case _:
                        self._take_other(raw)
            except ObjectError as error:
                if lenient and raw.kind not in _CONFIGURATIONS:
                    self._note(_place(raw, _name_of(raw)), error)
                    continue
                where = f"{raw.file}: object {raw.number} ({raw.kind})"
                raise ObjectError(f"{where}: {error.path}".rstrip(": "), error.message) from error

    def _note(self, place: Place, error: ObjectError) -> None:
        self.written.append((place, Written((Fault(error.path, error.message),))))

    def around(
        self, *, whole: bool, minor: int | None, applied: Objects | None = None
    ) -> Surroundings:
        """Return what is known of the cluster; `whole` when these objects are all that there are.

        Manifests name some namespaces and few pods: that others are missing there means nothing.
        What is `applied` together is there for each other.
        """
        parts = [self] if applied is None else [self, applied]
        known = KnownPods() if whole and self.workloads else None
        if known is not None:
            for namespace, labels in chain.from_iterable(part.pod_labels() for part in parts):
                known.add(namespace, labels)
        every = {name: labels for part in parts for name, labels in part.namespaces.items()}
        namespaces = every if whole and self.namespaces else None
        volumes = VolumeLedger()
        for each in chain.from_iterable(part.volumes.objects() for part in parts):
            volumes.put(each)
        return Surroundings(
            self.nodes or None,
            namespaces,
            known,
            minor,
            writes_exclusive=any(part.writes_exclusive for part in parts),
            chooses_profile=any(part.chooses_profile for part in parts),
            placed=self._placed(parts),
            volumes=volumes,
        )

    def _placed(self, parts: Iterable[Objects]) -> KnownPods:
        found = KnownPods()
        for part in parts:
            # Of manifests that are held against a cluster, all that this has is there before.
            before = part is self and any(other.workloads for other in parts if other is not self)
            for _, manifest, owner, template in part.workloads:
                if not manifest.ended and (before or manifest.spec.node_name):
                    found.add(owner.namespace, template.metadata.labels or {})
        return found

    def known_budgets(self) -> Iterator[tuple[Place, Budget]]:
        """Yield each budget with the workloads here that it is about."""
        made: dict[str, list[Made]] = {}
        for place, manifest, owner, template in self.workloads if self.budgets else ():
            is_part = manifest.metadata.controller is not None and owner.kind in {
                "Pod",
                "ReplicaSet",
            }
            if not is_part and not manifest.ended:
                labels, replicas = template.metadata.labels or {}, manifest.spec.replicas
                made.setdefault(owner.namespace, []).append(
                    Made(owner.kind, place.object, labels, replicas)
                )
        before: dict[str, list[str]] = {}
        for place, budget in self.budgets:
            found = budget_of(budget, made.get(budget.namespace, ()))
            shared = {each: before[each] for each in found.workloads if each in before}
            yield place, found._replace(shared=shared)
            for each in found.workloads:
                before[each] = [*before.get(each, ()), budget.name]

    def pod_labels(self) -> Iterator[tuple[str, Labels]]:
        """Yield namespace and labels of pods, and of those that templates make."""
        for _, manifest, owner, template in self.workloads:
            if not manifest.ended:
                yield owner.namespace, template.metadata.labels or {}

    def _take_other(self, raw: Raw) -> None:
        kind, content = raw.kind, raw.content
        if kind == SCHEDULER_KIND:
            self.schedulers.append((_place(raw, ""), read_scheduler_file(content)))
        elif kind == OUR_KIND:
            self.given_configs.append((_place(raw, ""), content))
        elif kind == CONFIG_MAP:
            self._take_config_map(raw)
        elif kind in ROLES:
            role = read_role(content)
            name = role.metadata.name
            self.roles[f"{kind}/{name}"] = (_place(raw, name), role)
        elif kind in BINDINGS:
            binding = read_binding(content)
            self.bindings.append((_place(raw, binding.metadata.name), binding))
        elif kind in KINDS:
            self._take_written(raw)
        elif kind == POLICIES.kind:
            name = decode(_NAMED, content).metadata.name
            self.writes_exclusive |= name.endswith(EXCLUSIVE_POLICY)
            by = leaving()
            self.chooses_profile |= by is not None and name.endswith(by.policy)
        elif (unknown := with_template(raw)) is not None:
            self.not_judged.append(unknown)
        else:
            self.skipped[kind] += 1

    def _take_written(self, raw: Raw) -> None:
        """Take a workload, a pod or a budget; the API server may refuse a part of it."""
        if is_stored(raw.kind, raw.content):
            self._take_readable(raw)
            return
        looked = look_at(raw.kind, raw.content, raw.file, raw.number)
        self.written.append((_place(raw, looked.name), looked.written))
        self.patches += not looked.whole
        if looked.whole:
            try:
                faulty = bool(looked.written.faults)
                self._take_readable(raw._replace(content=looked.readable), faulty=faulty)
            except ObjectError:
                if not looked.written.faults:
                    self.written.pop()
                    raise

    def _take_readable(self, raw: Raw, *, faulty: bool = False) -> None:
        kind, content = raw.kind, raw.content
        if kind == BUDGETS.kind:
            budget = read_budget(content)
            place = _place(raw, f"{budget.namespace}/{budget.name}")
            self.budgets.append((place, budget))
            return
        manifest = read_manifest(content)
        if is_selector_alone(kind, manifest.spec.template):
            return
        name = manifest.metadata.name or f"{manifest.metadata.generateName or ''}*"
        place = _place(raw, f"{manifest.metadata.space}/{name}")
        self.workloads.append(
            LintedWorkload(place, manifest, *owner_of(kind, manifest, faulty=faulty))
        )

    def _take_config_map(self, raw: Raw) -> None:
        configurations = list(configurations_in(raw.content))
        for name, kind, content in configurations:
            place = _place(raw, name)
            if kind == OUR_KIND:
                self.mapped_configs.append((place, content))
            else:
                self.schedulers.append((place, read_scheduler_file(content)))
        if not configurations:
            self.skipped[raw.kind] += 1


def _place(raw: Raw, name: str) -> Place:
    return Place(raw.file, f"{raw.kind} {name}".rstrip(), raw.number)


_CONFIGURATIONS: Final = frozenset((SCHEDULER_KIND, OUR_KIND, CONFIG_MAP))
"""Kinds that end the run if they cannot be read: what they are for would not start."""


def _name_of(raw: Raw) -> str:
    try:
        metadata = decode(_NAMED, raw.content).metadata
    except ObjectError:
        return ""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def read_configs(found: Iterable[tuple[Place, msgspec.Raw]]) -> list[Configured]:
    """Read configurations; ConfigError says all that is wrong with one."""
    return [Configured(place, _read(place, msgspec.json.decode(raw))) for place, raw in found]


def _read(place: Place, document: Any) -> Config:
    config, wrong = decode_all(document)
    if config is not None and not wrong:
        wrong = list(faults(config))
    if config is None or wrong:
        raise ConfigFaultsError.of(
            [ConfigError(each.path, each.message, _source(place)) for each in wrong]
        )
    return config


def _source(place: Place) -> str:
    return f"{place.file}: {place.object}" if place.object.startswith(CONFIG_MAP) else place.file


class _Version(msgspec.Struct):
    """What the API server says of its version, in part."""

    minor: str = ""


class ListedResource(NamedTuple):
    """What is listed, and no state has a place for."""

    kind: str
    group: str
    name: str
    query: Mapping[str, str] = MappingProxyType({})

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/v1/{self.name}" if self.group else f"/api/v1/{self.name}"


LISTED_WORKLOADS: Final = (
    ListedResource("Deployment", "apps", "deployments"),
    ListedResource("StatefulSet", "apps", "statefulsets"),
    ListedResource("DaemonSet", "apps", "daemonsets"),
    ListedResource("CronJob", "batch", "cronjobs"),
    ListedResource("Job", "batch", "jobs"),
)
"""ReplicaSets repeat the templates of Deployments, and are many."""
POLICIES: Final = ListedResource(
    "MutatingAdmissionPolicy", "admissionregistration.k8s.io", "mutatingadmissionpolicies"
)
"""Not there before Kubernetes 1.36, and none is needed."""
VOLUMES: Final[Mapping[str, Callable[[Json], VolumeObject]]] = {
    CLAIM: read_claim,
    VOLUME: read_volume,
    "StorageClass": read_storage_class,
    "CSIDriver": read_csi_driver,
}
"""What says which volumes one node has at a time, and how it is read."""
OF_STORAGE: Final = "storage.k8s.io"
OF_VOLUMES: Final = tuple(
    ListedResource(kind, "" if kind in {CLAIM, VOLUME} else OF_STORAGE, KINDS_OF_VOLUMES[kind])
    for kind in VOLUMES
)
EXCLUSIVE_POLICY: Final = "affinity-extender-exclusive"
"""Its name, in manifests/components/exclusive; charts begin it with the name of the release."""


_DISPENSABLE: Final = (POLICIES, *OF_VOLUMES)
"""Without the right to list them, less is said."""


class NamedManifest(msgspec.Struct):
    """What has a name that tells all."""

    metadata: OwnedMetadata = msgspec.field(default_factory=OwnedMetadata)


_NAMED = msgspec.json.Decoder(NamedManifest)


async def list_cluster(
    flags: argparse.Namespace,
    objects: Objects,
    state: ClusterState | None = None,
    pods: PodReader | None = None,
) -> int | None:
    """Add a cluster's nodes, namespaces, pods and workloads; return its minor version.

    Those that a state has are put into it as well: a cluster may be large, and is listed once.
    """
    # 40 MB of models come along.
    from affinityctl.reading.listing import list_raw  # noqa: PLC0415
    from extender.core.kube.frames import read_answer  # noqa: PLC0415

    pods = pods or PodReader()
    listed: tuple[WatchedResource[Any] | ListedResource, ...]
    listed = (NODES, NAMESPACES, *LISTED_WORKLOADS, BUDGETS, *_DISPENSABLE, PODS)
    async with api_server(flags) as client:
        for each in listed:
            try:
                raws = await list_raw(client, each.name, each.path, each.query)
            except ApiError as error:
                lacking = error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
                if not lacking or each not in _DISPENSABLE:
                    raise
                continue
            objects.take(Raw("", index, each.kind, raw) for index, raw in enumerate(raws))
            if state is not None and isinstance(each, WatchedResource):
                store = each.storing(state, pods)
                for raw in raws:
                    store(raw)
        version = read_answer(await client.get("/version", {}), _Version)
        return whole_number(version.minor.removesuffix("+"))
