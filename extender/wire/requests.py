"""What a pod requests of a node, rounded as the scheduler counts it."""

from __future__ import annotations

from collections.abc import Mapping

from extender.model import memory
from extender.model.lru_cache import LruCache, Pool
from extender.model.node_resources import JUST_A_POD, PODS, Requests
from extender.wire.manifests import PodSpec
from extender.wire.pod_resources import (
    ResourcesKey,
    key_size,
    read_pod_resources,
    resources_key,
)
from extender.wire.quantities import rounded


class RequestsReader:
    """Reads requests; pods of one workload share theirs, recognised by their bytes."""

    def __init__(self) -> None:
        self._known: LruCache[ResourcesKey, Requests] = LruCache(memory.REQUESTS)
        self._distinct: Pool[Requests] = Pool(memory.NUMBERS)

    def read(self, spec: PodSpec) -> Requests:
        """Return what a pod with this spec requests."""
        key = resources_key(spec)
        known = self._known.peek(key)
        if known is None:
            size = key_size(key)
            requests = _requests(read_pod_resources(spec).requests())
            # Most pods that are read anew differ in something else: their limits, or nothing.
            known = JUST_A_POD if requests == JUST_A_POD else self._distinct.shared(requests, size)
            self._known.put(key, known, size)
        return known


def _requests(amounts: Mapping[str, int]) -> Requests:
    return tuple(sorted((rounded(amounts) | {PODS: 1}).items()))
