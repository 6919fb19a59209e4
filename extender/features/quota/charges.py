"""What quotas see of a pod, as in k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go.

Usage follows the spec. While a container is being resized in place, the API server takes the
larger of what is wanted and what is there; here it is what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from extender.core.model import memory
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import PodClass
from extender.core.wire.class_cache import Alive
from extender.core.wire.manifests import PodManifest, PodSpec
from extender.core.wire.pod_resources import (
    HUGE_PAGES,
    PodResources,
    Resources,
    ResourcesKey,
    key_size,
    read_pod_resources,
    resources_key,
)
from extender.core.wire.quantities import BILLIONTHS
from extender.features.quota.quotas import BEST_EFFORT, Charge

CPU, MEMORY = "cpu", "memory"
COMPUTE = (CPU, MEMORY, "ephemeral-storage")
OF_THE_POD = ("pods", "count/pods")
REQUESTS, LIMITS = "requests.", "limits."

DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
"""Devices asked for by their class, as if that were an extended resource (1.34 and later)."""

_NATIVE = "kubernetes.io/"

_ALWAYS_COUNTED = frozenset(
    (*OF_THE_POD, *(f"{prefix}{name}" for prefix in ("", REQUESTS, LIMITS) for name in COMPUTE))
)


_Key: TypeAlias = tuple[ResourcesKey, str, bool, bool, bool | None]


class ChargeReader:
    """Reads charges; pods of one workload share theirs, recognised by their bytes."""

    def __init__(self) -> None:
        self._known: LruCache[_Key, Charge] = LruCache(memory.CHARGES)
        self._distinct: Alive[Charge] = Alive()

    def of(self, pod: PodManifest, pod_class: PodClass) -> Charge | None:
        """Return what a pod is charged for; None where it has no affinity across namespaces."""
        if not pod_class.written.crosses_namespaces:
            return None
        by_annotation = not pod_class.of_spec.written.crosses_namespaces
        qos_class = None if pod.status is None else pod.status.qosClass or None
        return self.read(pod.spec, qos_class, by_annotation=by_annotation)

    def read(self, spec: PodSpec, qos_class: str | None, *, by_annotation: bool = False) -> Charge:
        """Return what a pod with this spec is charged for.

        `qos_class` is what the API server wrote into its status when it was created. What that is
        for `resources: {}` of the whole pod changed in 1.37; None is taken for 1.37.
        """
        best_effort = None if qos_class is None else qos_class == BEST_EFFORT
        deadline = spec.activeDeadlineSeconds
        terminating = deadline is not None and deadline >= 0
        priority_class = spec.priorityClassName or ""
        key = (resources_key(spec), priority_class, terminating, by_annotation, best_effort)
        known = self._known.peek(key)
        if known is None:
            resources = read_pod_resources(spec)
            charge = Charge(
                tuple(sorted(_usage(resources))),
                frozenset(_unset(resources)),
                terminating,
                _best_effort(resources) if best_effort is None else best_effort,
                priority_class or None,
                by_annotation,
            )
            known = self._distinct.shared(charge)
            self._known.put(key, known, key_size(key[0]) + 2 * len(key[1]))
        return known


def is_counted(resource: str) -> bool:
    if resource in _ALWAYS_COUNTED or resource.startswith(HUGE_PAGES):
        return True
    name = resource.removeprefix(REQUESTS)
    return name != resource and (name.startswith(HUGE_PAGES) or _is_extended(name))


def _is_extended(name: str) -> bool:
    """Return whether a resource has a domain of its own, such as nvidia.com/gpu."""
    if name.startswith(DEVICE_CLASS):
        return True
    return "/" in name and _NATIVE not in name and not name.startswith(REQUESTS)


def _usage(resources: PodResources) -> Iterator[tuple[str, int]]:
    for name in OF_THE_POD:
        yield name, BILLIONTHS
    for name, amount in resources.requests().items():
        short = name in COMPUTE or name.startswith(HUGE_PAGES)
        if amount and short:
            # The short name means the request.
            yield name, amount
        if amount and (short or _is_extended(name)):
            yield f"{REQUESTS}{name}", amount
    for name, amount in resources.limits().items():
        if amount and name in COMPUTE:
            yield f"{LIMITS}{name}", amount


def _unset(resources: PodResources) -> Iterator[str]:
    """Yield the names of amounts that a quota wants every container to say, and one does not.

    Kubernetes calls that rule a mistake and keeps it for cpu and memory, and for pods without
    resources of their own as a whole.
    """
    if _is_for_whole_pod(resources.whole):
        return
    for container in (*resources.containers, *resources.init_containers):
        for name in (CPU, MEMORY):
            if name not in container.requests:
                yield name
                yield f"{REQUESTS}{name}"
            if name not in container.limits:
                yield f"{LIMITS}{name}"


def _best_effort(resources: PodResources) -> bool:
    """Tell the quality-of-service class; what is said for the whole pod decides it alone."""
    some = resources.containers + resources.init_containers
    if resources.whole is not None and _is_for_whole_pod(resources.whole):
        some = (resources.whole,)
    return not any(_asks_for_some(each.requests) or _asks_for_some(each.limits) for each in some)


def _asks_for_some(amounts: Mapping[str, int]) -> bool:
    return any(amounts.get(name, 0) > 0 for name in (CPU, MEMORY))


def _names(resources: Resources) -> Iterator[str]:
    yield from resources.requests
    yield from resources.limits


def _is_for_whole_pod(whole: Resources | None) -> bool:
    """Return whether anything is said for the whole pod (IsPodLevelResourcesSet)."""
    return whole is not None and any(
        name in {CPU, MEMORY} or name.startswith(HUGE_PAGES) for name in _names(whole)
    )
