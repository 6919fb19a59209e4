"""Rules beside specs: what pods were judged by. And of all, which are broken, which ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from extender.core.cluster.ledgers.reservations import Reservations
from extender.core.model import memory
from extender.core.model.lru_cache import CountedCache
from extender.core.model.objects import Pod
from extender.core.model.signed import shift

_NOBODY: Final[Mapping[str, Pod]] = MappingProxyType({})


class JudgedRules:
    """The digests of the rules beside their specs that pods are judged by until it is on record.

    A placed pod has it in its status. Until the watch shows that, it is what was reserved for the
    pod, or what somebody asked about last. Where none of these tells, as of pods that were placed
    before this process began and have no record, it was judged by its spec alone.
    """

    def __init__(self, reservations: Reservations) -> None:
        self._reservations = reservations
        self._asked: CountedCache[str, tuple[str, bool]] = CountedCache(memory.MOST_ASKED)
        """By the uid of a waiting pod, the digest with which it was asked about last, and whether
        it was admitted to any node then."""

    def note_asked(self, uid: str, digest: str, *, admitted: bool) -> None:
        """Remember which rules beside its spec a waiting pod is judged by, "" for none.

        They count for others once it is nominated or, if it was `admitted` to a node, placed.
        """
        if digest:
            self._asked.put(uid, (digest, admitted))
        else:
            self._asked.pop(uid)

    def forget(self, uid: str) -> None:
        self._asked.pop(uid)

    def applied(self, pod: Pod, old: Pod | None) -> Pod:
        """Return a pod as it stands by what was judged, after what it was before, if known.

        One that waits stands as it is, whatever place is held for it; see `Pod.judged_by`.
        """
        judged = None if pod.status.record is None else self._judged(pod, pod.status.record, old)
        if pod.node is not None:
            return pod.judged_by(judged)
        return pod if judged == pod.status.judged else pod.with_status(judged=judged)

    def _judged(self, pod: Pod, record: str, old: Pod | None) -> str:
        """Return the digest; "" for none, and where it is unknown."""
        if pod.node is None:
            if pod.status.nominated is None:
                return ""
            held = old is not None and old.status.nominated == pod.status.nominated
        elif record:
            return record
        else:
            held = old is not None and old.node is not None
        if held and old is not None:
            return old.status.judged or ""
        for reservation in self._reservations.of(pod.key, pod.uid):
            if reservation.pod.node == pod.node:
                return reservation.pod.pod_class.digest
        digest, admitted = self._asked.get(pod.uid) or ("", False)
        # One that was refused everywhere was placed by the word of another replica, or of none.
        return digest if admitted or pod.node is None else ""


class BrokenRules:
    """The pods with broken rules, by namespace: carried where these count, or too many.

    The terms of a pod's spec that are too many count nowhere, wherever others do.
    """

    def __init__(self, covers: Callable[[str], bool]) -> None:
        """Say of namespaces whether rules beside those of specs count there."""
        self._covers = covers
        self._broken: dict[str, dict[str, Pod]] = {}
        self._carrying: dict[str, int] = {}
        self._number = 0
        self.ignored = 0
        """Pods with rules beside those of their specs where these do not count."""

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Pod]:
        for namespace, pods in self._broken.items():
            covers = self._covers(namespace)
            yield from (pod for pod in pods.values() if covers or _is_broken_itself(pod))

    @property
    def ignored_in(self) -> Iterator[tuple[str, int]]:
        """Yield the namespaces of pods that are ignored, with how many."""
        for namespace, pods in self._carrying.items():
            if not self._covers(namespace):
                yield namespace, pods


class BrokenRuleLedger(BrokenRules):
    def learn(self, pod: Pod, old: Pod | None) -> None:
        if old is not None:
            self.forget(old)
        if _is_noted(pod) and not pod.status.terminal:
            if pod.spec.broken_rules is not None:
                self._broken.setdefault(pod.pod_class.namespace, {})[pod.key] = pod
            self._count(pod, 1)

    def forget(self, pod: Pod) -> None:
        if _is_noted(pod):
            broken = self._broken.get(pod.pod_class.namespace, {})
            broken.pop(pod.key, None)
            if not broken:
                self._broken.pop(pod.pod_class.namespace, None)
            self._count(pod, -1)

    def _count(self, pod: Pod, pods: int) -> None:
        namespace, carries = pod.pod_class.namespace, pod.spec.unannotated is not None
        covers = self._covers(namespace)
        if carries:
            shift(self._carrying, namespace, pods)
            self.ignored += 0 if covers else pods
        if _is_broken_itself(pod) or (covers and pod.spec.broken_rules is not None):
            self._number += pods

    def count_again(self, namespace: str) -> None:
        sign = 1 if self._covers(namespace) else -1
        broken = self._broken.get(namespace, _NOBODY).values()
        self._number += sign * sum(not _is_broken_itself(pod) for pod in broken)
        self.ignored -= sign * self._carrying.get(namespace, 0)


def _is_noted(pod: Pod) -> bool:
    return pod.spec.unannotated is not None or pod.spec.broken_rules is not None


def _is_broken_itself(pod: Pod) -> bool:
    """Return whether the rules of its spec are broken."""
    plain = pod.spec.unannotated
    return (pod.spec if plain is None else plain).broken_rules is not None
