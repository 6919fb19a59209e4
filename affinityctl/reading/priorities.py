"""The priorities that pods in manifests get by their PriorityClass, as admission gives them."""

from __future__ import annotations

from typing import Final

import msgspec

from affinityctl.scheduler.listed_once import listed_once
from extender.core.model.objects import Pod
from extender.core.resources import WatchedResource
from extender.core.wire.decoding import Int32, Json, decode
from extender.core.wire.manifests import LabelledMetadata
from extender.core.wire.objects import NEVER

KIND: Final = "PriorityClass"
WITHOUT: Final = "the priority that a priorityClassName stands for is not known"


class PriorityClass(msgspec.Struct, rename="camel"):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: LabelledMetadata
    value: Int32 = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


_CLASS = msgspec.json.Decoder(PriorityClass)
_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def _read(raw: Json) -> PriorityClass:
    return decode(_CLASS, raw)


class PriorityClasses:
    """Those that are known; the two of Kubernetes' own are in every cluster."""

    def __init__(self) -> None:
        system = (PriorityClass(LabelledMetadata(name), value) for name, value in _SYSTEM.items())
        self._known = {each.metadata.name: each for each in system}

    def put(self, found: PriorityClass) -> None:
        self._known[found.metadata.name] = found

    @property
    def _default(self) -> PriorityClass | None:
        """Return the lowest default: two changes at once may leave several."""
        every = (each for each in self._known.values() if each.global_default)
        return min(every, key=lambda each: each.value, default=None)

    def admitted(self, pod: Pod) -> Pod:
        """Return a pod of a manifest as it is stored; as it is, where its class is not known."""
        name = pod.spec.priority_class
        if name is None:
            return pod
        found = self._known.get(name) if name else self._default
        if found is None:
            return pod
        may = pod.spec.may_preempt and found.preemption_policy != NEVER
        return pod.with_spec(priority=found.value, may_preempt=may, priority_class=None)


def priority_classes(known: PriorityClasses) -> WatchedResource[PriorityClass]:
    return listed_once(
        "priorityclasses",
        KIND,
        _read,
        lambda _, each: known.put(each),
        group="scheduling.k8s.io",
        without=WITHOUT,
    )


PRIORITY_CLASSES: Final = priority_classes(PriorityClasses())
"""As a dump lists them."""
