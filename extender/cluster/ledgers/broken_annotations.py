"""The pods with rules in annotations that cannot be read: those rules count for nobody."""

from __future__ import annotations

from collections.abc import Iterator

from extender.model.objects import Pod


class BrokenAnnotations:
    """These pods, in the order in which they were found to be broken."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())


class BrokenAnnotationLedger(BrokenAnnotations):
    """The pods, as they come, change and go."""

    def learn(self, pod: Pod) -> None:
        """Take over a pod as it is now."""
        if pod.broken_annotation is None or pod.terminal:
            self.forget(pod.key)
        else:
            self._pods[pod.key] = pod

    def forget(self, key: str) -> None:
        """Forget a pod that is gone."""
        self._pods.pop(key, None)
