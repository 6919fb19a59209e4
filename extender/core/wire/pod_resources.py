"""What the containers of a pod request and are limited to, put together as Kubernetes does.

The API server fills in requests from limits when a pod is created; manifests and templates of
workloads lack that, so it is done here as well. What is filled in already stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from extender.core.model import memory
from extender.core.model.lru_cache import LruCache
from extender.core.model.node_resources import PODS, Requests
from extender.core.wire.class_cache import decoded_size
from extender.core.wire.decoding import decode
from extender.core.wire.limits import PER
from extender.core.wire.manifests import ALWAYS, NULL, Container, PodSpec
from extender.core.wire.quantities import read_exact_amounts, rounded

Amounts: TypeAlias = dict[str, int]
"""Billionths of a unit by resource."""

ResourcesKey: TypeAlias = tuple[bytes | bool, ...]

HUGE_PAGES = "hugepages-"

_NULL = bytes(NULL)


class _Manifest(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


_RESOURCES = msgspec.json.Decoder(_Manifest | None)
_OVERHEAD = msgspec.json.Decoder(dict[str, str | int | float] | None)


@dataclass(frozen=True, slots=True)
class Resources:
    """What a container, or the pod as a whole, requests and is limited to."""

    requests: Mapping[str, int]
    limits: Mapping[str, int]
    sidecar: bool = False
    """An init container that goes on running beside those that come after it."""


@dataclass(frozen=True, slots=True)
class PodResources:
    containers: tuple[Resources, ...]
    init_containers: tuple[Resources, ...]
    whole: Resources | None
    """For the pod as a whole, where it is given."""
    overhead: Mapping[str, int]

    def requests(self) -> Amounts:
        """Return what the pod requests (PodRequests of k8s.io/component-helpers/resource)."""
        sums = _together(
            [each.requests for each in self.containers],
            [(each.requests, each.sidecar) for each in self.init_containers],
        )
        if self.whole is not None:
            sums.update(self._limits_for_requests(self.whole, sums))
            sums.update(self.whole.requests)
        _add(sums, self.overhead)
        return sums

    def limits(self) -> Amounts:
        """Return what the pod is limited to (PodLimits there): overhead only adds to a limit."""
        sums = _together(
            [each.limits for each in self.containers],
            [(each.limits, each.sidecar) for each in self.init_containers],
        )
        if self.whole is not None:
            sums.update(self.whole.limits)
        _add(sums, {name: more for name, more in self.overhead.items() if sums.get(name)})
        return sums

    @staticmethod
    def _limits_for_requests(whole: Resources, containers: Mapping[str, int]) -> Amounts:
        """Return the limits that stand for requests: of what no container requests.

        There is no overcommitting huge pages, so that for them the limit counts in any case.
        """
        return {
            name: amount
            for name, amount in whole.limits.items()
            if name not in containers or name.startswith(HUGE_PAGES)
        }


def resources_key(spec: PodSpec) -> ResourcesKey:
    key: list[bytes | bool] = [bytes(each.resources) for each in spec.containers or ()]
    for each in spec.initContainers or ():
        # The order of regular and init containers matters, so a flag stands between them.
        key += (each.restartPolicy == ALWAYS, bytes(each.resources))
    key += (bytes(spec.overhead), bytes(spec.resources))
    return tuple(key)


def key_size(key: ResourcesKey) -> int:
    """Estimate what such a key and what is read from it take, in bytes."""
    return sum(PER.key_part + decoded_size(part) for part in key if isinstance(part, bytes))


def read_pod_resources(spec: PodSpec) -> PodResources:
    """Read the resources of a pod; ObjectError names the field that is broken."""
    return PodResources(
        tuple(_containers(spec.containers, "spec.containers")),
        tuple(_containers(spec.initContainers, "spec.initContainers")),
        None if bytes(spec.resources) == _NULL else _read(spec.resources, "spec.resources"),
        read_exact_amounts(decode(_OVERHEAD, spec.overhead, "spec.overhead"), "spec.overhead"),
    )


def _containers(found: Iterable[Container] | None, path: str) -> Iterator[Resources]:
    for index, container in enumerate(found or ()):
        said = _read(container.resources, f"{path}[{index}].resources")
        # A container with a limit requests as much, unless it says otherwise.
        requests = {**said.limits, **said.requests}
        yield Resources(requests, said.limits, container.restartPolicy == ALWAYS)


def _read(raw: msgspec.Raw, path: str) -> Resources:
    found = decode(_RESOURCES, raw, path) or _Manifest()
    return Resources(
        read_exact_amounts(found.requests, f"{path}.requests"),
        read_exact_amounts(found.limits, f"{path}.limits"),
    )


def _together(
    running: Iterable[Mapping[str, int]], starting: Iterable[tuple[Mapping[str, int], bool]]
) -> Amounts:
    """Put together what containers need side by side, and what init containers need before.

    In one pass over all amounts: sidecars only become more, so that at no time they need more than
    in the end, and only what a container itself needs is added to those that run beside it.
    """
    sums: Amounts = {}
    for amounts in running:
        _add(sums, amounts)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for amounts, sidecar in starting:
        if sidecar:
            _add(sidecars, amounts)
        else:
            # Sidecars that come later in the list do not run beside it.
            _raise(peak, {name: more + sidecars.get(name, 0) for name, more in amounts.items()})
    _add(sums, sidecars)
    _raise(sums, peak)
    return sums


def _add(sums: Amounts, more: Mapping[str, int]) -> None:
    for resource, amount in more.items():
        sums[resource] = sums.get(resource, 0) + amount


def _raise(sums: Amounts, least: Mapping[str, int]) -> None:
    for resource, amount in least.items():
        sums[resource] = max(sums.get(resource, 0), amount)


class RequestsReader:
    """Reads requests; pods of one workload share theirs, recognised by their bytes."""

    def __init__(self) -> None:
        self._known: LruCache[ResourcesKey, Requests] = LruCache(memory.REQUESTS)

    def read(self, spec: PodSpec) -> Requests:
        key = resources_key(spec)
        known = self._known.peek(key)
        if known is None:
            known = rounded_requests(read_pod_resources(spec).requests())
            self._known.put(key, known, key_size(key))
        return known


def rounded_requests(amounts: Mapping[str, int]) -> Requests:
    return tuple(sorted((rounded(amounts) | {PODS: 1}).items()))
