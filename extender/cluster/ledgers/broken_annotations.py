"""The pods with rules in annotations: those that cannot be read, and those nobody looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from extender.model.objects import Pod
from extender.model.signed import shift

_NOBODY: Final[Mapping[str, Pod]] = MappingProxyType({})


class BrokenAnnotations:
    """The pods whose annotations count and are broken, by namespace."""

    def __init__(self, covers: Callable[[str], bool]) -> None:
        """Say of namespaces whether rules in annotations count there."""
        self._covers = covers
        self._broken: dict[str, dict[str, Pod]] = {}
        self._annotated: dict[str, int] = {}
        self._number = 0
        self.ignored = 0
        """Pods with rules in annotations where these do not count."""

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Pod]:
        for namespace, pods in self._broken.items():
            if self._covers(namespace):
                yield from pods.values()

    @property
    def ignored_in(self) -> Iterator[tuple[str, int]]:
        """Yield the namespaces of pods that are ignored, with how many."""
        for namespace, pods in self._annotated.items():
            if not self._covers(namespace):
                yield namespace, pods


class BrokenAnnotationLedger(BrokenAnnotations):
    """The pods, as they come, change and go."""

    def learn(self, pod: Pod, old: Pod | None) -> None:
        """Take over a pod as it is now, in place of what had its name."""
        if old is not None and old.of_spec is not None:
            self.forget(old)
        if pod.of_spec is not None and not pod.terminal:
            if pod.broken_annotation is not None:
                self._broken.setdefault(pod.pod_class.namespace, {})[pod.key] = pod
            self._count(pod, 1)

    def forget(self, pod: Pod) -> None:
        """Forget a pod that is gone."""
        if pod.of_spec is not None:
            broken = self._broken.get(pod.pod_class.namespace, {})
            broken.pop(pod.key, None)
            if not broken:
                self._broken.pop(pod.pod_class.namespace, None)
            self._count(pod, -1)

    def _count(self, pod: Pod, pods: int) -> None:
        namespace = pod.pod_class.namespace
        shift(self._annotated, namespace, pods)
        if not self._covers(namespace):
            self.ignored += pods
        elif pod.broken_annotation is not None:
            self._number += pods

    def count_again(self, namespace: str) -> None:
        """Take over that annotations have begun or ceased to count in a namespace."""
        sign = 1 if self._covers(namespace) else -1
        self._number += sign * len(self._broken.get(namespace, _NOBODY))
        self.ignored -= sign * self._annotated.get(namespace, 0)
