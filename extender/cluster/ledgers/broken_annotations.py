"""The pods with rules in annotations: those that cannot be read, and those nobody looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from extender.model.keys import namespace_of
from extender.model.objects import Pod
from extender.model.signed import shift


class BrokenAnnotations:
    """The pods whose annotations count and are broken, in the order in which they were found."""

    def __init__(self, covers: Callable[[str], bool]) -> None:
        """Say of namespaces whether rules in annotations count there."""
        self._covers = covers
        self._pods: dict[str, Pod] = {}
        self._annotated: dict[str, int] = {}

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Pod]:
        covers = self._covers
        return (each for each in self._pods.values() if covers(each.pod_class.namespace))

    @property
    def ignored(self) -> Mapping[str, int]:
        """Return how many pods have rules in annotations where these do not count, by namespace."""
        return {
            namespace: pods
            for namespace, pods in self._annotated.items()
            if not self._covers(namespace)
        }


class BrokenAnnotationLedger(BrokenAnnotations):
    """The pods, as they come, change and go."""

    def learn(self, pod: Pod, old: Pod | None) -> None:
        """Take over a pod as it is now, in place of what had its name."""
        if old is not None and old.of_spec is not None:
            self.forget(old)
        if pod.of_spec is not None and not pod.terminal:
            shift(self._annotated, pod.pod_class.namespace, 1)
            if pod.broken_annotation is not None:
                self._pods[pod.key] = pod

    def forget(self, pod: Pod) -> None:
        """Forget a pod that is gone."""
        if pod.of_spec is not None:
            shift(self._annotated, namespace_of(pod.key), -1)
            self._pods.pop(pod.key, None)
