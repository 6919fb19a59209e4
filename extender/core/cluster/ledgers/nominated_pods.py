"""Waiting pods that are nominated to a node, by class and by node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeVar

from extender.core.model import memory
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import Pod, PodClass

MOST_EXPECTED = 1024
"""Nominations that no watch has shown yet, within memory.EXPECTED; the oldest is forgotten first.
It only holds its node for as long as the watch takes."""
PER_POD: Final = 512
"""Bytes of one, beside the pod's rules and labels."""
MOST_HELD_SECONDS: Final = 300.0
"""How long a pod may hold topology domains in all, while an extender evicts for it. Most victims
end within a few minutes; longer, a pod that can never be bound would keep a zone from others."""

K = TypeVar("K")

_NOBODY: Mapping[str, Pod] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Expected:
    """A nomination that has just been made, or is just being made."""

    pod: Pod
    """Nominated to that node."""
    before: str | None
    """What the watch had shown then: as long as it shows that, it is behind."""
    deadline: float
    held: bool = False
    """Whether it counts on once the watch has shown it, and though the watch shows none again."""


@dataclass(slots=True)
class _Hold:
    """What is remembered of a pod that others are evicted for by our rules, as long as it waits.

    All its sets of victims, on whatever nodes and with whatever end, share the time.
    """

    node: str | None
    """Whose topology domains are held, if the pod is nominated to it."""
    over: bool = False
    """Given up on this node: the next event about a victim there begins nothing."""
    seconds: float = 0.0
    """For how long it has held domains."""
    since: float | None = None
    """When it was last looked at, if it held some then."""

    @property
    def holds(self) -> bool:
        """Return whether the pod holds domains once it is nominated to the node."""
        return self.node is not None and not self.over and self.seconds < MOST_HELD_SECONDS


class NominatedPods:
    """The pods that wait for a node of their own, each nominated to one node.

    kube-scheduler's nominator holds the same: what the watch shows, and over it what was nominated
    a moment ago.
    """

    def __init__(self) -> None:
        self._shown: dict[str, Pod] = {}
        self.shown: Final[Collection[Pod]] = self._shown.values()
        """The pods that the watch shows to be nominated."""
        self._nominated: dict[str, Pod] = {}
        self.pods: Final[Collection[Pod]] = self._nominated.values()
        """All nominated pods, each with its node."""
        self._of_class: dict[PodClass, dict[str, Pod]] = {}
        self.classes: Final[Collection[PodClass]] = self._of_class.keys()
        self._on: dict[str, dict[str, Pod]] = {}
        self._preempting: dict[str, Pod] = {}
        self.preempting: Final[Collection[Pod]] = self._preempting.values()
        """Those that pods are evicted for by our rules: each holds every topology domain of its
        node against less important pods. A victim's successor would else take another node of the
        domain, and the preemptor, which the scheduler does not try first, would find it taken."""

    def __len__(self) -> int:
        return len(self._nominated)

    def get(self, uid: str) -> Pod | None:
        return self._nominated.get(uid)

    def of_class(self, pod_class: PodClass) -> Collection[Pod]:
        return self._of_class.get(pod_class, _NOBODY).values()

    def on(self, node: str) -> Collection[Pod]:
        return self._on.get(node, _NOBODY).values()


class NominationLedger(NominatedPods):
    """The nominations as watch and callbacks change them; each tells whether anything changed."""

    def __init__(self) -> None:
        super().__init__()
        self._expected: LruCache[str, Expected] = LruCache(
            memory.EXPECTED, most=MOST_EXPECTED, share=1, dropped=self._drop
        )
        self._dropped: list[str] = []
        """The uids of those that had to make room and have not been settled."""
        self._holds: dict[str, _Hold] = {}
        """By uid, until the pod is placed or gone."""

    @property
    def is_empty(self) -> bool:
        return not (self._nominated or self._holds)

    def learn(self, pod: Pod) -> bool:
        """Take over what the watch shows of a waiting pod."""
        expected = self._expected.get(pod.uid)
        if expected is not None and pod.status.nominated not in {None, expected.before}:
            self._expected.pop(pod.uid)
            if expected.held and pod.status.nominated == expected.pod.status.nominated:
                self._remember(replace(expected, pod=pod, before=None))
        if pod.status.nominated is None:
            self._shown.pop(pod.uid, None)
        else:
            self._shown[pod.uid] = pod
        return self._settle(pod.uid)

    def forget(self, uid: str) -> bool:
        self._shown.pop(uid, None)
        self._expected.pop(uid)
        self._holds.pop(uid, None)
        return self._settle(uid)

    def note_victim(self, preemptor: str, node: str) -> bool:
        """Note that a pod on a node is marked as an extender's victim for another, by its uid.

        By this all replicas know for whom domains are held, and one that has just started. It is
        nothing about a pod that is not known to wait, or not nominated to this node.
        """
        nominated = self._nominated.get(preemptor)
        known = preemptor in self._shown or preemptor in self._holds
        if nominated is None or nominated.status.nominated != node or not known:
            return False
        hold = self._holds.setdefault(preemptor, _Hold(None))
        if hold.node is None:
            hold.node, hold.over = node, False
        return self._settle_hold(preemptor)

    def expect(
        self,
        pod: Pod,
        node: str,
        deadline: float,
        *,
        held: bool = False,
        holds_domains: bool = False,
    ) -> bool:
        """Count a nomination before the watch shows it; one that is `held`, until it is given up.

        So long, the domains of its node are held as well. With `holds_domains` alone, they are for
        as long as it counts. Another node that the watch shows ends all of that. The watch has to
        have shown a pod whose nomination is held.
        """
        shown = self._shown.get(pod.uid)
        before = None if shown is None else shown.status.nominated
        if held or holds_domains:
            hold = self._holds.setdefault(pod.uid, _Hold(node))
            hold.node, hold.over = node, False
        self._remember(Expected(pod.with_status(nominated=node), before, deadline, held))
        touched, self._dropped = [pod.uid, *self._dropped], []
        return sum(map(self._settle, touched)) > 0

    def give_up(self, uid: str) -> bool:
        """Stop counting a nomination that no watch shows."""
        self._expected.pop(uid)
        if uid in self._holds:
            self._holds[uid].over = True
        return self._settle(uid)

    def expire(self, now: float) -> bool:
        """Give up what no watch has shown in time, and what holds domains for too long."""
        over = [each.pod.uid for each in self._expected.values() if each.deadline <= now]
        changed = sum(map(self.give_up, over))
        for uid, hold in self._holds.items():
            if hold.since is not None:
                hold.seconds += now - hold.since
            hold.since = now if uid in self._preempting else None
            changed += self._settle_hold(uid)
        return changed > 0

    def _remember(self, expected: Expected) -> None:
        self._expected.put(expected.pod.uid, expected, PER_POD + expected.pod.size)

    def _drop(self, expected: Expected) -> None:
        self._dropped.append(expected.pod.uid)

    def _settle(self, uid: str) -> bool:
        old, expected = self._nominated.get(uid), self._expected.get(uid)
        new = self._shown.get(uid) if expected is None else expected.pod
        if old is new:
            return self._settle_hold(uid)
        if old is not None:
            del self._nominated[uid]
            _remove(self._of_class, old.pod_class, uid)
            _remove(self._on, str(old.status.nominated), uid)
        if new is not None:
            self._nominated[uid] = new
            self._of_class.setdefault(new.pod_class, {})[uid] = new
            self._on.setdefault(str(new.status.nominated), {})[uid] = new
        held = self._settle_hold(uid)
        return held or old is None or new is None or _matters(old) != _matters(new)

    def _settle_hold(self, uid: str) -> bool:
        if not (self._holds or self._preempting):
            return False
        hold, nominated = self._holds.get(uid), self._nominated.get(uid)
        if hold is not None and nominated is not None and nominated.status.nominated != hold.node:
            hold.node = None
        was_held = self._preempting.pop(uid, None) is not None
        # One that is being deleted is never bound; finalizers may make that last.
        if nominated is None or nominated.status.deleting or hold is None or not hold.holds:
            return was_held
        self._preempting[uid] = nominated
        return not was_held


def _matters(pod: Pod) -> tuple[object, ...]:
    return pod.pod_class, pod.status.nominated, pod.spec.priority


def _remove(index: dict[K, dict[str, Pod]], key: K, uid: str) -> None:
    pods = index[key]
    del pods[uid]
    if not pods:
        del index[key]
