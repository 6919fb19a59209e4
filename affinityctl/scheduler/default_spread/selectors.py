"""What tells which pods a pod is one of: the services and the controller that select it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec

from affinityctl.scheduler.listed_once import listed_once
from extender.core.model.labels import (
    EVERYTHING,
    NO_LABELS,
    TEMPLATE_HASH,
    Labels,
    Operator,
    Requirement,
    Selector,
)
from extender.core.model.objects import Pod, PodClass
from extender.core.model.workload import STATEFUL_SET, Identity, Owner
from extender.core.resources import WatchedResource
from extender.core.wire.affinity import read_selector
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import NULL, LabelSelector

SERVICE: Final = "Service"
_CONTROLLER: Final = "ReplicationController"
_DEPLOYMENT: Final = "Deployment"
VERSIONS: Final[Mapping[str, str]] = {
    SERVICE: "v1",
    _CONTROLLER: "v1",
    "ReplicaSet": "apps/v1",
    STATEFUL_SET: "apps/v1",
}
"""What the scheduler looks at; others may have kinds of the same names."""
SELECTING: Final = frozenset((*VERSIONS, _DEPLOYMENT))
"""Kinds that are read here: of a Deployment, pods may be asked about that it has not made yet."""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    generate_name: str | None = None
    namespace: str | None = None


class _Spec(msgspec.Struct):
    selector: msgspec.Raw = NULL


class SelectingManifest(msgspec.Struct):
    """A service or a controller, as far as it selects pods."""

    metadata: _Metadata
    spec: _Spec | None = None


_MANIFEST = msgspec.json.Decoder(SelectingManifest)
_LABELS = msgspec.json.Decoder(dict[str, str] | None)
_SELECTOR = msgspec.json.Decoder(LabelSelector | None)


@dataclass(frozen=True, slots=True)
class Selecting:
    identity: Identity
    labels: Labels = field(default_factory=dict)
    """Those that a service or a ReplicationController selects."""
    selector: Selector = EVERYTHING
    """That of others."""


def read_selecting(kind: str, raw: Json) -> Selecting:
    """Read one of the kinds that select pods; ObjectError names the field that is broken."""
    found = decode(_MANIFEST, raw)
    metadata, spec = found.metadata, found.spec or _Spec()
    name = metadata.name or metadata.generate_name or ""
    identity, path = Identity(metadata.namespace or "default", kind, name), "spec.selector"
    if VERSIONS.get(kind) == "v1":
        return Selecting(identity, labels=decode(_LABELS, spec.selector, path) or NO_LABELS)
    return Selecting(identity, selector=read_selector(decode(_SELECTOR, spec.selector, path), path))


class Selectors:
    def __init__(self) -> None:
        self.known: set[str] = set()
        """The kinds whose objects were all looked up."""
        self._services: dict[str, dict[Identity, Labels]] = {}
        self._controllers: dict[Identity, Selecting] = {}
        self._found: dict[tuple[PodClass, Owner | None], Selector] = {}

    def put(self, each: Selecting) -> None:
        self._found.clear()
        if each.identity.kind == SERVICE:
            self._services.setdefault(each.identity.namespace, {})[each.identity] = each.labels
        else:
            self._controllers[each.identity] = each

    def take(self, kind: str, raw: Json) -> bool:
        """Add a manifest if it is of a kind that selects pods, and return whether it is."""
        if kind in SELECTING:
            self.put(read_selecting(kind, raw))
        return kind in SELECTING

    def of(self, pod: Pod) -> Selector:
        """Return what selects a pod and those like it, as helper.DefaultSelector."""
        key = pod.pod_class, pod.spec.owner
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._of(pod)
        return found

    def _of(self, pod: Pod) -> Selector:
        own, labels = pod.pod_class.labels, dict[str, str]()
        for each in self._services.get(pod.pod_class.namespace, {}).values():
            if each.items() <= own.items():
                labels.update(each)
        identity = controller_of(pod)
        controller = None if identity is None else self._controllers.get(identity)
        further: tuple[Requirement, ...] = ()
        if controller is not None:
            labels.update(controller.labels)
            further = controller.selector.requirements
            if controller.identity.kind == _DEPLOYMENT:
                labels[TEMPLATE_HASH] = own[TEMPLATE_HASH]
        alike = (Requirement(key, Operator.IN, frozenset((labels[key],))) for key in labels)
        return Selector.of((*alike, *further))

    def lacking(self, pod: Pod) -> list[str]:
        """Return what is to be known about a pod, and is not."""
        found = [] if SERVICE in self.known else ["services"]
        identity = controller_of(pod)
        if identity is None:
            return found
        if identity.kind == _DEPLOYMENT:
            # The ReplicaSet that it is going to be of is not there yet.
            if identity not in self._controllers:
                found.append("deployments")
            elif TEMPLATE_HASH not in pod.pod_class.labels:
                found.append(f"its {TEMPLATE_HASH}")
        elif identity.kind not in self.known:
            found.append(f"{identity.kind.lower()}s")
        return found


def is_selector_alone(kind: str, template: object) -> bool:
    """Return whether `dump` has left of a controller what selects its pods, and no template."""
    return kind in VERSIONS and template in (None, NULL)


def controller_of(pod: Pod) -> Identity | None:
    """Return the controller whose selector counts; None for a pod without one."""
    owner = pod.spec.owner
    if owner is None or owner.kind not in SELECTING:
        return None
    # A pod that is made of a template has none, nor have dumps of former releases.
    if owner.api_version not in {"", VERSIONS.get(owner.kind)}:
        return None
    return Identity(pod.pod_class.namespace, owner.kind, owner.name)


def selecting_resources(selectors: Selectors) -> list[WatchedResource[Selecting]]:
    """Return what is listed of an API server, once, for the scheduler's kinds."""

    def listed(kind: str, version: str) -> WatchedResource[Selecting]:
        return listed_once(
            f"{kind.lower()}s",
            kind,
            partial(read_selecting, kind),
            lambda _, each: selectors.put(each),
            group=version.rpartition("/")[0],
        )

    return [listed(*each) for each in VERSIONS.items()]
