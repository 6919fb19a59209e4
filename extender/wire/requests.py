"""What a pod requests of a node, rounded as the scheduler counts it."""

from __future__ import annotations

from collections.abc import Mapping

from extender.model.room import JUST_A_POD, PODS, Requests
from extender.wire.manifests import PodSpec
from extender.wire.pod_resources import ResourcesKey, read_pod_resources, resources_key
from extender.wire.quantities import rounded


class RequestsReader:
    """Reads requests; pods of one workload share theirs, recognised by their bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[ResourcesKey, Requests] = {}
        self._distinct: dict[Requests, Requests] = {JUST_A_POD: JUST_A_POD}

    def read(self, spec: PodSpec) -> Requests:
        """Return what a pod with this spec requests."""
        key = resources_key(spec)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
                self._distinct.clear()
            requests = _requests(read_pod_resources(spec).requests())
            known = self._known[key] = self._distinct.setdefault(requests, requests)
        return known


def _requests(amounts: Mapping[str, int]) -> Requests:
    return tuple(sorted((rounded(amounts) | {PODS: 1}).items()))
