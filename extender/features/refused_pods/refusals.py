"""Pods refused on every node, as they are remembered, and which were looked at in vain."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from math import inf

from extender.core.cluster.state import ClusterState
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import Pod
from extender.core.timing import LONGEST_PAUSE_SECONDS, Pause
from extender.core.verbs.nominating import Observed
from extender.core.verbs.plugins import Refused

PER_POD = 1024
"""Bytes of a refused pod, beside what it shares with others."""
PER_NAME = 8
"""Bytes of a place in a list."""
SETTLING_SECONDS = 0.03
"""After a refusal. The scheduler comes back once or twice within some 10 ms, and may find a node by
itself or preempt; and when it ends an attempt, it wipes out a nomination that came during it."""
GONE_SECONDS = 5.0
"""After the last refusal of a pod that the watch shows no more; a list may have come too early."""
LOOKS_PER_AGE = 8
"""Between two looks whether the watch shows a pod, a part of the time since its refusal."""

WHOLE_SEARCH = 100
"""The scheduler never stops looking before it has found as many nodes that pass its own plugins."""

TRIED = 8
"""Nodes remembered that a pod was nominated for in vain."""


def is_whole_search(refused: Refused) -> bool:
    """Return whether these are all nodes that pass the scheduler's own plugins."""
    return sum(len(names) for _, names in refused) < WHOLE_SEARCH


@dataclass(slots=True, eq=False)
class Refusal:
    """A pod that was refused, as the last request had it, and what was tried for it since."""

    pod: Pod
    heard: float
    """When it was refused last."""
    pause: Pause = field(default_factory=lambda: Pause(0.0))
    """Until it may be helped again."""
    refused: Refused | None = None
    """By which nodes, where that is of use; until the pod is looked at."""
    passed: frozenset[str] | None = None
    """The nodes that the scheduler's own plugins let through, None when unknown."""
    unschedulable: bool = False
    """Whether no eviction would have helped, when it was looked at last."""
    tried: tuple[str, ...] = ()
    """The nodes that it was pointed to in vain."""
    towards: str | None = None
    """The node to nominate, for a pod that was not refused elsewhere; None to choose one."""
    outlook: Hashable = None
    """What its chances hung on when a node was chosen that the scheduler then refused."""
    _held_until: float = 0.0
    _ended: float = -inf
    _is_news: bool = False
    _shown: bool = False
    """Whether the watch has shown it since it was refused first."""

    @property
    def settled_at(self) -> float:
        """Return when the scheduler has ended its attempt, for all we know."""
        latest = self._ended > self.heard - SETTLING_SECONDS
        return self._ended if latest else self.heard + SETTLING_SECONDS

    @property
    def size(self) -> int:
        """Return about what it takes with the names of nodes, in bytes."""
        names = sum(len(names) for _, names in self.refused or ()) + len(self.passed or ())
        return PER_POD + self.pod.size + PER_NAME * names

    def hear(self, pod: Pod, refused: Refused | None, now: float) -> None:
        self.pod, self.refused, self.heard, self.towards = pod, refused, now, None
        self._is_news = True

    def note_end(self, now: float) -> None:
        """Note that the watch has shown the pod: the scheduler writes to it as its attempt ends.

        That wakes the pod, so one more refusal that comes at once is nothing new.
        """
        self._ended = now

    def has_news(self, now: float) -> bool:
        """Return whether the latest request is settled news, and from now on it is not."""
        if self.settled_at > now:
            return False
        is_news, self._is_news = self._is_news, False
        return is_news

    def is_elses(self, seen: Observed, ours: Collection[str], *, news: bool) -> bool:
        """Return whether the pod is nominated for a node by another writer."""
        shown = {seen.nominated, self.pod.status.nominated if news else None}
        return not shown <= {None, *ours}

    def take_up(self) -> None:
        """Keep of the nodes that refused the pod what a search for victims needs."""
        refused, self.refused = self.refused, None
        if refused is None:
            return
        if is_whole_search(refused) or not self.pod.spec.requirements.is_plain:
            self.passed = frozenset(name for _, names in refused for name in names)
        else:
            self.passed = None

    def wait_for_watch(self, now: float, *, known: bool) -> float | None:
        """Return after how many seconds to look for the pod again, None if there is no need to.

        `known` says that the watch shows it. A pod that is not shown in time is taken to be gone.
        """
        # An API server that lags still sends bookmarks, so that nobody notices: what was never
        # shown is remembered until the scheduler comes back with it by itself.
        self._shown |= known
        age, longest = now - self.heard, GONE_SECONDS if self._shown else LONGEST_PAUSE_SECONDS
        return None if known or age >= longest else age / LOOKS_PER_AGE

    def fail(self, node: str, now: float) -> None:
        """Note that a nomination for a node was of no use."""
        self.tried = (*self.tried, node)[-TRIED:]
        self.pause.begin(now)

    def hold(self, outlook: Hashable, now: float) -> None:
        """Note that the scheduler refused a node that was chosen with this outlook.

        For reasons that we do not see. So all nodes have to wait for another outlook: an autoscaler
        takes a nominated pod for one that has its place. Or until the scheduler, too, tries again
        what nothing wakes.
        """
        self.outlook, self._held_until = outlook, now + LONGEST_PAUSE_SECONDS

    def held(self, outlook: Hashable, now: float) -> float | None:
        """Return for how many seconds to point the pod nowhere, None when it may be."""
        if self._held_until <= now or self.outlook != outlook:
            self.outlook, self._held_until = None, 0.0
            return None
        return self._held_until - now


def prospects(pod: Pod) -> Hashable:
    """Return what is the same for all pods with the same prospects, such as replicas."""
    return pod.pod_class, wishes(pod)


def wishes(pod: Pod) -> Hashable:
    """Return what a pod asks of nodes and of others beside the rules of its class."""
    spec = pod.spec
    of_node = pod.node_selection, spec.ports, spec.requests, spec.requirements.tolerations
    return *of_node, spec.priority, pod.status.facets


def changes_for(state: ClusterState, pod: Pod) -> Hashable:
    """Count the changes that may help a pod, its own apart.

    Another pod that takes a place helps those alone who want company.
    """
    if state.class_in_force(pod.pod_class).affinity.required:
        # A pair, for no count of the other kind is ever equal to it: annotations count or not.
        return state.version, state.arrivals
    return state.version - state.arrivals


class UnschedulableCache:
    """Keys that nothing was found for, each with the changes until then; bounded in bytes."""

    def __init__(self, budget: int) -> None:
        self._known: LruCache[Hashable, Hashable] = LruCache(budget)

    def knows(self, key: Hashable, changes: Hashable) -> bool:
        """Return whether nothing was found for a key, and nothing has changed since."""
        return self._known.get(key) == changes

    def note(self, key: Hashable, changes: Hashable, size: int) -> None:
        """Note that nothing was found, by a search that began at this state of `changes`."""
        self._known.put(key, changes, size)

    def forgetting(self) -> Iterator[None]:
        """Give up what was not asked for since this was gone through last, an entry at a step."""
        return self._known.forgetting()
