"""What a pod requests of a node: its containers' requests put together as the scheduler does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from extender.errors import ObjectError
from extender.model.room import JUST_A_POD, PODS, Requests
from extender.wire.manifests import PodSpec
from extender.wire.quantities import read_amounts

_ALWAYS = "Always"

Amounts: TypeAlias = dict[str, int]
_Key: TypeAlias = tuple[bytes | bool, ...]


class _Resources(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None


_RESOURCES = msgspec.json.Decoder(_Resources | None)
_OVERHEAD = msgspec.json.Decoder(dict[str, str | int | float] | None)


class RequestsReader:
    """Reads requests; pods of one workload share theirs, recognised by their bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[_Key, Requests] = {}
        self._distinct: dict[Requests, Requests] = {JUST_A_POD: JUST_A_POD}

    def read(self, spec: PodSpec) -> Requests:
        """Return what a pod with this spec requests."""
        key = _key(spec)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
                self._distinct.clear()
            requests = tuple(sorted(_total(spec).items()))
            known = self._known[key] = self._distinct.setdefault(requests, requests)
        return known


def _key(spec: PodSpec) -> _Key:
    key: list[bytes | bool] = [bytes(each.resources) for each in spec.containers or ()]
    for each in spec.initContainers or ():
        # The order of regular and init containers matters, so a flag stands between them.
        key += (each.restartPolicy == _ALWAYS, bytes(each.resources))
    key += (bytes(spec.overhead), bytes(spec.resources))
    return tuple(key)


def _total(spec: PodSpec) -> Amounts:
    total: Amounts = {}
    for index, container in enumerate(spec.containers or ()):
        _add(total, _requests(container.resources, f"spec.containers[{index}]"))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for index, container in enumerate(spec.initContainers or ()):
        requests = _requests(container.resources, f"spec.initContainers[{index}]")
        if container.restartPolicy == _ALWAYS:
            _add(sidecars, requests)
            _raise(peak, sidecars)
        else:
            # Sidecars that come later in the list do not run beside it.
            _add(requests, sidecars)
            _raise(peak, requests)
    _add(total, sidecars)
    _raise(total, peak)
    # What is requested for the pod as a whole stands in for its containers' sum.
    total.update(_requests(spec.resources, "spec"))
    _add(total, _decoded(_OVERHEAD, spec.overhead, "spec.overhead"))
    total[PODS] = 1
    return total


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for resource, amount in more.items():
        total[resource] = total.get(resource, 0) + amount


def _raise(total: Amounts, least: Mapping[str, int]) -> None:
    for resource, amount in least.items():
        total[resource] = max(total.get(resource, 0), amount)


def _requests(raw: msgspec.Raw, path: str) -> Amounts:
    try:
        resources = _RESOURCES.decode(raw)
    except msgspec.DecodeError as error:
        raise ObjectError(f"{path}.resources", str(error)) from error
    return read_amounts(resources and resources.requests, f"{path}.resources.requests")


def _decoded(
    decoder: msgspec.json.Decoder[dict[str, str | int | float] | None], raw: msgspec.Raw, path: str
) -> Amounts:
    try:
        return read_amounts(decoder.decode(raw), path)
    except msgspec.DecodeError as error:
        raise ObjectError(path, str(error)) from error
