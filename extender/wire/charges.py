"""What quotas see of a pod, as in k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go.

Usage follows the spec. While a container is being resized in place, the API server takes the
larger of what is wanted and what is there; here it is what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from extender.model.quota import BILLIONTHS, Charge
from extender.wire.manifests import PodSpec
from extender.wire.pod_resources import (
    PodResources,
    Resources,
    ResourcesKey,
    read_pod_resources,
    resources_key,
)

CPU, MEMORY = "cpu", "memory"
COMPUTE = (CPU, MEMORY, "ephemeral-storage")
OF_THE_POD = ("pods", "count/pods")

HUGE_PAGES = "hugepages-"


class ChargeReader:
    """Reads charges; pods of one workload share theirs, recognised by their bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[ResourcesKey, str, bool], Charge] = {}
        self._distinct: dict[Charge, Charge] = {}

    def read(self, spec: PodSpec) -> Charge:
        """Return what a pod with this spec is charged for."""
        deadline = spec.activeDeadlineSeconds
        terminating = deadline is not None and deadline >= 0
        key = (resources_key(spec), spec.priorityClassName or "", terminating)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
                self._distinct.clear()
            resources = read_pod_resources(spec)
            charge = Charge(
                tuple(sorted(_usage(resources))),
                frozenset(_unset(resources)),
                terminating,
                _best_effort(resources),
                spec.priorityClassName or None,
            )
            known = self._known[key] = self._distinct.setdefault(charge, charge)
        return known


def _usage(resources: PodResources) -> Iterator[tuple[str, int]]:
    for name in OF_THE_POD:
        yield name, BILLIONTHS
    requests, limits = resources.requests(), resources.limits()
    for name in COMPUTE:
        if requests.get(name):
            # The short name means the request.
            yield name, requests[name]
            yield f"requests.{name}", requests[name]
        if limits.get(name):
            yield f"limits.{name}", limits[name]


def _unset(resources: PodResources) -> Iterator[str]:
    """Yield the names of amounts that a quota wants every container to say, and one does not.

    Kubernetes calls that rule a mistake and keeps it for cpu and memory, and for pods without
    resources of their own as a whole.
    """
    if resources.whole is not None and any(map(_for_whole_pods, _names(resources.whole))):
        return
    for container in (*resources.containers, *resources.init_containers):
        for name in (CPU, MEMORY):
            if name not in container.requests:
                yield name
                yield f"requests.{name}"
            if name not in container.limits:
                yield f"limits.{name}"


def _best_effort(resources: PodResources) -> bool:
    """Tell the quality-of-service class; what is said for the whole pod decides it alone."""
    some = resources.containers + resources.init_containers
    if resources.whole is not None:
        some = (resources.whole,)
    return not any(_asks_for_some(each.requests) or _asks_for_some(each.limits) for each in some)


def _asks_for_some(amounts: Mapping[str, int]) -> bool:
    return any(amounts.get(name, 0) > 0 for name in (CPU, MEMORY))


def _names(resources: Resources) -> Iterator[str]:
    yield from resources.requests
    yield from resources.limits


def _for_whole_pods(name: str) -> bool:
    return name in {CPU, MEMORY} or name.startswith(HUGE_PAGES)
