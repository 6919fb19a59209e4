"""What a pod takes of its node while its resources are changed in place.

The scheduler then counts the most of what the spec wants, the kubelet has admitted and the kubelet
has set, each summed up over containers; what can never be admitted does not count.
(AggregateContainerRequests of k8s.io/component-helpers/resource, with UseStatusResources.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

import msgspec

from extender.core.model.node_resources import Requests
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import PodSpec
from extender.core.wire.pod_resources import (
    Amounts,
    Resources,
    read_pod_resources,
    rounded_requests,
)
from extender.core.wire.quantities import read_exact_amounts

RESIZE_PENDING: Final = "PodResizePending"
RESIZING: Final = frozenset((RESIZE_PENDING, "PodResizeInProgress"))
"""Conditions of a pod whose spec and whose kubelet say different things."""
_INFEASIBLE: Final = "Infeasible"
_MENTION: Final = b'"PodResize'
_STATUSES: Final = "status.containerStatuses"

_Quantities: TypeAlias = dict[str, str | int | float]


class _Named(msgspec.Struct):
    name: str = ""


class _Names(msgspec.Struct):
    containers: list[_Named] | None = None
    initContainers: list[_Named] | None = None


class _Set(msgspec.Struct):
    requests: _Quantities | None = None


class _Told(msgspec.Struct):
    """What a kubelet says of a container, or of the pod as a whole."""

    allocatedResources: _Quantities | None = None
    resources: _Set | None = None


class _ContainerStatus(_Told):
    name: str = ""


class _Condition(msgspec.Struct):
    type: str = ""
    reason: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None
    allocatedResources: _Quantities | None = None
    resources: _Set | None = None
    containerStatuses: list[_ContainerStatus] | None = None
    initContainerStatuses: list[_ContainerStatus] | None = None


class ResizedPod(msgspec.Struct):
    """What a v1.Pod has beside its usual fields."""

    spec: _Names = msgspec.field(default_factory=_Names)
    status: _Status = msgspec.field(default_factory=_Status)


_POD: Final = msgspec.json.Decoder(ResizedPod)
_Choose: TypeAlias = Callable[[Mapping[str, int], _Told | None], Mapping[str, int]]


def is_resized(conditions: bytes) -> bool:
    return _MENTION in conditions


def resized_requests(raw: Json, spec: PodSpec) -> Requests:
    """Return what a pod takes that `is_resized`; ObjectError names the field that is broken."""
    pod, found = decode(_POD, raw), read_pod_resources(spec)
    names, status = pod.spec, pod.status
    pending = next((e for e in status.conditions or () if e.type == RESIZE_PENDING), None)
    infeasible = pending is not None and pending.reason == _INFEASIBLE
    told: dict[str, _Told] = {}
    for each in (*(status.containerStatuses or ()), *(status.initContainerStatuses or ())):
        told.setdefault(each.name, each)

    def admitted(wanted: Mapping[str, int], said: _Told | None) -> Mapping[str, int]:
        if said is not None and said.allocatedResources is not None:
            return read_exact_amounts(said.allocatedResources, _STATUSES)
        return {} if infeasible else wanted

    def in_place(wanted: Mapping[str, int], said: _Told | None) -> Mapping[str, int]:
        if said is not None and said.resources is not None and said.resources.requests is not None:
            return read_exact_amounts(said.resources.requests, _STATUSES)
        return admitted(wanted, said)

    def each_by(
        choose: _Choose, containers: Iterable[_Named] | None, read: Iterable[Resources]
    ) -> tuple[Resources, ...]:
        pairs = zip(containers or (), read, strict=True)
        return tuple(replace(r, requests=choose(r.requests, told.get(c.name))) for c, r in pairs)

    whole = found.whole
    if whole is not None and status.resources is not None:
        of_pod = _Told(status.allocatedResources, status.resources)
        wanted = {} if infeasible else whole.requests
        each = (wanted, admitted(wanted, of_pod), in_place(wanted, of_pod))
        whole = replace(whole, requests=_most(each))
    sums = [] if infeasible else [replace(found, whole=whole).requests()]
    for choose in (admitted, in_place):
        chosen = replace(
            found,
            containers=each_by(choose, names.containers, found.containers),
            init_containers=each_by(choose, names.initContainers, found.init_containers),
            whole=whole,
        )
        sums.append(chosen.requests())
    return rounded_requests(_most(sums))


def _most(every: Iterable[Mapping[str, int]]) -> Amounts:
    found: Amounts = {}
    for amounts in every:
        for resource, amount in amounts.items():
            found[resource] = max(found.get(resource, 0), amount)
    return found
