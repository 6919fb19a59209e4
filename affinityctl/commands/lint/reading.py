"""Workloads and pods out of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from affinityctl.commands.lint.template import (
    NEW,
    PREFERRED,
    REQUIRED,
    GateAt,
    NodesFor,
    SpreadAt,
    Surroundings,
    Template,
    TemplateOwner,
    TermAt,
)
from affinityctl.reading.rollouts import ONE_POD
from affinityctl.reading.strategies import RolloutSpec, rollout_of
from extender.core.config import Mode
from extender.core.config.features import features, reads_rules
from extender.core.config.options import Option, once_set_by
from extender.core.errors import ObjectError
from extender.core.model.labels import Labels
from extender.core.wire.affinity import EVERY_GATE_ON, read_affinity, read_selector
from extender.core.wire.decoding import Json, decode
from extender.core.wire.limits import OF_RULES
from extender.core.wire.manifests import (
    ALWAYS,
    EXCLUSIVE_ANNOTATION,
    NULL,
    AffinityManifest,
    LabelSelector,
    PodSpec,
    SchedulingGroup,
)
from extender.core.wire.node_selection import NodeSelectionReader
from extender.core.wire.objects import TERMINAL_PHASES
from extender.core.wire.placement import RequirementsReader
from extender.core.wire.rules_beside import NONE_BESIDE, RulesBeside
from extender.core.wire.topology_spread import HARD
from extender.diagnosis.wire.workloads import WORKLOADS, OwnedMetadata

IGNORE: Final = "affinity-extender.io/lint-ignore"
"""Annotation with the ids of rules, separated by commas, that an object asks to be spared."""

KINDS: Final = frozenset(("Pod", *WORKLOADS))


_SCHEDULER: Final = re.compile(r"(?:^|/)kube-scheduler(?::v1\.(\d{1,3}))?(?![\w-])")
_GATES: Final = re.compile(r"--feature-gates[= ](\S+)")
_MODE: Final = re.compile(rf"--mode[= ]({'|'.join(Mode)})\b")


class _ManifestMetadata(OwnedMetadata):
    annotations: dict[str, str] | None = None
    created: str | None = msgspec.field(default=None, name="creationTimestamp")


class _Port(msgspec.Struct, rename="camel"):
    host_port: int | None = None
    container_port: int | None = None


class _Variable(msgspec.Struct, rename="camel"):
    name: object = None
    value: object = None
    value_from: object = None

    @property
    def setting(self) -> Option | None:
        """Return the setting of the extender that it was once."""
        value = self.value if self.value_from is None else self.value_from
        return once_set_by(str(self.name), "" if value is None else str(value))


class _Container(msgspec.Struct, rename="camel"):
    env: list[_Variable] | None = None
    ports: list[_Port] | None = None
    restart_policy: str | None = None
    image: str | None = None
    command: list[object] | None = None
    args: list[object] | None = None

    @property
    def mode(self) -> Mode | None:
        """Return the mode that it sets, if it is an extender, with a flag."""
        command, *flags = [str(each) for each in self.args or ()] or [""]
        found = _MODE.search(" ".join(flags)) if command == "serve" else None
        return None if found is None else Mode(found[1])

    def gates(self, path: str) -> Iterator[GateAt]:
        """Yield the feature gates that it sets, if it is a kube-scheduler."""
        words = [str(each) for each in (*(self.command or ()), *(self.args or ()))]
        image = _SCHEDULER.search(self.image or "")
        if image is None and not (words and _SCHEDULER.search(words[0])):
            return
        minor = int(image[1]) if image is not None and image[1] else None
        for found in _GATES.findall(" ".join(words)):
            for each in found.split(","):
                yield GateAt(path, each.partition("=")[0], minor)


class _SpreadConstraint(msgspec.Struct, rename="camel"):
    topology_key: str = ""
    when_unsatisfiable: str = HARD
    max_skew: int = 1
    label_selector: LabelSelector | None = None


class _ClaimSource(msgspec.Struct, rename="camel"):
    claim_name: str = ""


class _Volume(msgspec.Struct, rename="camel"):
    persistent_volume_claim: _ClaimSource | None = None


class _OperatingSystem(msgspec.Struct):
    name: str | None = None


_OS = msgspec.json.Decoder(_OperatingSystem | None)
_VOLUMES = msgspec.json.Decoder(list[_Volume] | None)


class _ManifestSpec(RolloutSpec, rename="camel"):
    """Of a pod, a template's pod or a workload; what one kind lacks stays unset."""

    affinity: msgspec.Raw = NULL
    node_selector: msgspec.Raw = NULL
    tolerations: msgspec.Raw = NULL
    topology_spread_constraints: list[_SpreadConstraint] | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    host_network: bool | None = None
    template: msgspec.Raw = NULL
    job_template: msgspec.Raw = NULL
    selector: msgspec.Raw = NULL
    node_name: str | None = None
    scheduler_name: str | None = None
    scheduling_group: SchedulingGroup | None = None
    os: msgspec.Raw = NULL
    volumes: msgspec.Raw = NULL

    @property
    def os_name(self) -> str | None:
        """Return the operating system that its pods are for; None of what is none."""
        try:
            found = decode(_OS, self.os)
        except ObjectError:
            return None
        return None if found is None else found.name

    @property
    def group(self) -> str | None:
        found = self.scheduling_group
        return None if found is None else found.podGroupName or None

    @property
    def mode(self) -> Mode | None:
        """Return the mode of an extender that one of its containers is, if a flag sets it."""
        found = (each.mode for each in (*(self.containers or ()), *(self.init_containers or ())))
        return next(filter(None, found), None)

    def _containers(self) -> Iterator[tuple[str, _Container]]:
        """Yield all containers, with the path of each."""
        for name, containers in (
            ("containers", self.containers),
            ("initContainers", self.init_containers),
        ):
            for index, container in enumerate(containers or ()):
                yield f"{name}[{index}]", container

    def variables_not_read(self) -> Iterator[tuple[str, Option]]:
        """Yield the settings of the extender that are in variables, with the path of each."""
        for path, container in self._containers():
            for number, variable in enumerate(container.env or ()):
                if (option := variable.setting) is not None:
                    yield f"{path}.env[{number}]", option

    def gates(self) -> Iterator[GateAt]:
        """Yield the feature gates of every kube-scheduler."""
        for path, container in self._containers():
            yield from container.gates(path)

    def claims(self) -> Iterator[tuple[str, str]]:
        """Yield the claims that volumes name, with their paths; nothing of what is no volume."""
        try:
            volumes = decode(_VOLUMES, self.volumes)
        except ObjectError:
            return
        for index, each in enumerate(volumes or ()):
            if each.persistent_volume_claim is not None:
                yield f"volumes[{index}]", each.persistent_volume_claim.claim_name

    def host_ports(self) -> Iterator[int]:
        """Yield the ports of its node that a pod holds as long as it runs."""
        sidecars = (each for each in self.init_containers or () if each.restart_policy == ALWAYS)
        for container in (*sidecars, *(self.containers or ())):
            for port in container.ports or ():
                # In the network of its node, the API server makes each port one of the node.
                number = port.host_port or (self.host_network and port.container_port)
                if number:
                    yield number


class _ManifestStatus(msgspec.Struct):
    phase: str | None = None


class Manifest(msgspec.Struct, rename="camel"):
    """A pod, a workload, or the template in one."""

    given_metadata: _ManifestMetadata | None = msgspec.field(default=None, name="metadata")
    given_spec: _ManifestSpec | None = msgspec.field(default=None, name="spec")
    status: _ManifestStatus | None = None

    @property
    def metadata(self) -> _ManifestMetadata:
        """Return the metadata; a key without anything below it is null in YAML."""
        return self.given_metadata or _ManifestMetadata()

    @property
    def spec(self) -> _ManifestSpec:
        return self.given_spec or _ManifestSpec()

    @property
    def ended(self) -> bool:
        return self.status is not None and self.status.phase in TERMINAL_PHASES


_MANIFEST = msgspec.json.Decoder(Manifest)
_AFFINITY = msgspec.json.Decoder(AffinityManifest | None)
_FIELDS = msgspec.json.Decoder(dict[str, object] | None)


def read_manifest(raw: Json) -> Manifest:
    """Read a pod or workload; ObjectError names the field that is broken."""
    return decode(_MANIFEST, raw)


def owner_of(
    kind: str, manifest: Manifest, *, faulty: bool = False
) -> tuple[TemplateOwner, Manifest]:
    """Return whose template an object has, and the template; a pod is its own."""
    path, template = "spec", manifest
    if kind == "CronJob":
        path, template = f"{path}.jobTemplate.spec", _inner(manifest.spec.job_template)
    if kind != "Pod":
        path, template = f"{path}.template.spec", _inner(template.spec.template)
    metadata = manifest.metadata
    annotations = {**(template.metadata.annotations or {}), **(metadata.annotations or {})}
    return TemplateOwner(
        kind,
        metadata.space,
        metadata.name or metadata.generateName or "",
        path,
        ONE_POD if kind == "Pod" else rollout_of(kind, manifest.spec),
        selector=_selector(kind, manifest.spec),
        stored=kind == "Pod" and metadata.resourceVersion is not None,
        ignored=spared_by(annotations),
        faulty=faulty,
        misplaced=() if kind == "Pod" else _misplaced(metadata),
    ), template


def spared_by(annotations: Mapping[str, str]) -> frozenset[str]:
    return frozenset(annotations.get(IGNORE, "").replace(",", " ").split())


class TemplateReader:
    """Reads templates; equal node affinity is read once."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._nodes = NodeSelectionReader()
        read = reads_rules(features())
        self._beside = None if read is None else read(EVERY_GATE_ON)
        self._requirements = RequirementsReader()

    def read(self, owner: TemplateOwner, template: Manifest) -> Template:
        """Read a template's rules; those that cannot be read are a fault, and it has no terms."""
        spec, labels = template.spec, template.metadata.labels or {}
        terms: tuple[TermAt, ...] = ()
        spread: tuple[SpreadAt, ...] = ()
        nodes, fault, too_many = NodesFor(), None, None
        raw: dict[str, object] | None = None
        try:
            raw = decode(_FIELDS, spec.affinity, "spec.affinity")
            written = decode(_AFFINITY, spec.affinity, "spec.affinity") or AffinityManifest()
            too_many = OF_RULES.fault(*written.size)
            terms = tuple(_terms(written, owner, labels))
            nodes = self._nodes_for(spec)
            spread = tuple(_spread(spec, owner))
        except ObjectError as error:
            fault = ObjectError(error.path.replace("spec", owner.path, 1), error.message)
        found = template.metadata.annotations or {}
        return Template(
            owner,
            labels,
            terms,
            raw or {},
            nodes,
            self._around,
            spread,
            frozenset(spec.host_ports()),
            fault,
            too_many,
            self._read_beside(owner.namespace, template.metadata),
            found.get(EXCLUSIVE_ANNOTATION),
            tuple(spec.variables_not_read()),
            spec.scheduler_name,
            spec.group,
            tuple(spec.gates()),
            tuple((f"{owner.path}.{path}", name) for path, name in spec.claims()),
            frozenset(found),
            spec.os_name,
        )

    def _read_beside(self, namespace: str, metadata: _ManifestMetadata) -> RulesBeside:
        found = _beside(metadata)
        if self._beside is None or not found:
            return NONE_BESIDE
        raw = [msgspec.json.encode(found.get(each)) for each in self._beside.annotations]
        return self._beside.read(namespace, tuple(raw))

    def _nodes_for(self, spec: _ManifestSpec) -> NodesFor:
        affinity = self._nodes.read(bytes(spec.affinity), bytes(spec.node_selector))
        asked = self._requirements.read(PodSpec(tolerations=spec.tolerations), None)
        return NodesFor(None if affinity is None else affinity.required, asked.tolerations)


def _selector(kind: str, spec: _ManifestSpec) -> dict[str, object] | None:
    found = decode(_FIELDS, spec.selector, "spec.selector")
    return {"matchLabels": found} if found and kind == "ReplicationController" else found


def _inner(raw: msgspec.Raw) -> Manifest:
    empty = bytes(raw) == bytes(NULL)
    return Manifest() if empty else decode(_MANIFEST, raw, "spec.template")


def _beside(metadata: _ManifestMetadata) -> dict[str, str]:
    """Return the annotations with rules beside the spec."""
    read, found = reads_rules(features()), metadata.annotations or {}
    names = () if read is None else read.annotations
    return {name: found[name] for name in names if name in found}


def _misplaced(metadata: _ManifestMetadata) -> tuple[str, ...]:
    there = metadata.annotations or {}
    return (*_beside(metadata), *(each for each in (EXCLUSIVE_ANNOTATION,) if each in there))


def _spread(spec: _ManifestSpec, owner: TemplateOwner) -> Iterator[SpreadAt]:
    for index, each in enumerate(spec.topology_spread_constraints or ()):
        path = f"topologySpreadConstraints[{index}]"
        selector = read_selector(each.label_selector, f"spec.{path}.labelSelector")
        hard = each.when_unsatisfiable == HARD
        yield SpreadAt(f"{owner.path}.{path}", selector, each.topology_key, hard, each.max_skew)


def _terms(written: AffinityManifest, owner: TemplateOwner, labels: Labels) -> Iterator[TermAt]:
    read = read_affinity(written, owner.namespace)
    merged_with = {} if owner.stored else {**labels, **owner.revision_labels(NEW)}
    preferred = iter(read.preferred)
    sides = (
        ("podAffinity", written.podAffinity, read.required),
        ("podAntiAffinity", written.podAntiAffinity, read.required_anti),
    )
    for side, found, hard in sides:
        if found is None:
            continue
        against = side == "podAntiAffinity"
        for index, (term, model) in enumerate(zip(found.required or (), hard, strict=True)):
            path = f"{owner.list_of(side, REQUIRED)}[{index}]"
            yield TermAt(path, term, model.merged(merged_with), model, against)
        for index, each in enumerate(found.preferred or ()):
            model, _ = next(preferred)
            effective = model.merged(merged_with)
            path = f"{owner.list_of(side, PREFERRED)}[{index}].podAffinityTerm"
            yield TermAt(path, each.podAffinityTerm, effective, model, against, each.weight)
