"""Judges whom the extender evicts, and for whom, by what the API server has and does.

A preemptor's victims on one node are a *set*. The mark of a victim, its condition DisruptionTarget,
says which pod it goes for. What a process decides is judged when its request leaves it, against
all that it may have known then; that two sets never overlap, when requests are carried out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol

import msgspec

from simulation.apiserver.requests import EVICTS, pod_key
from simulation.apiserver.store import RESTORE, Change, Json, Store, is_live, key_of
from simulation.apiserver.verbs import mark_of
from simulation.invariants.broken import BrokenError
from simulation.invariants.node_terms import allows, wanted_nodes
from simulation.invariants.rooms import is_open
from simulation.invariants.writers import is_extender

REMEMBERED_SECONDS: Final = 600.0
MOST_SETS: Final = 3
"""Of one preemptor, by one life of a process; no more of its victims go for nothing."""
HELD_SECONDS: Final = 280.0
"""For so long at least after an extender first nominated a node for it, the domains of its node are
held, while its victims go: all that was begun for it shares the time."""
TAKEN_SECONDS: Final = 20.0
"""And for so long once they are gone."""
_FOR: Final = "uid "


class Judge(Protocol):
    """Who knows the rules, and what the extender may have known."""

    broken: list[BrokenError]

    @property
    def placed(self) -> Mapping[str, object]: ...

    def known_since(self, resource: str = "pods") -> float:
        """Return since when changes may be unknown to an extender."""

    def why_not(self, pod: Json, node: str, gone: Iterable[str], by: str) -> str | None:
        """Return why a pod may certainly not go to a node without some others, if so."""

    def lacks_quota(self, pod: Json) -> bool:
        """Tell whether a quota has no room for a pod, for so long that an extender knows that."""


@dataclass(slots=True, eq=False)
class VictimSet:
    node: str
    begun: float
    by: str
    leaving: dict[str, str] = field(default_factory=dict)
    """Keys of those that are being deleted and have not gone, by uid."""
    victims: int = 0
    emptied: float = inf
    """Since when none of them is there any more."""

    def holds(self, now: float, since: float, by: str) -> bool:
        """Return whether a process knows, and has for a while, that its domains are held.

        One that began later knows it by the marks of victims that are still there.
        """
        if self.begun >= since:
            return False
        return bool(self.leaving) or (by == self.by and now - self.emptied < TAKEN_SECONDS)


@dataclass(slots=True, eq=False)
class Known:
    pod: Json
    bound: float | None = None
    gone: float | None = None
    marks: list[tuple[float, str]] = field(default_factory=list)
    """Since when it has had each message of its condition DisruptionTarget."""
    sets: list[VictimSet] = field(default_factory=list)
    nominated: tuple[str | None, float] = (None, -inf)
    """Its nomination, and since when."""
    helped: float = inf
    """When an extender first nominated a node for it."""

    @property
    def key(self) -> str:
        return key_of(self.pod)

    def note_mark(self, pod: Json, now: float) -> None:
        """Note what its condition says now, also when it has ended."""
        message = mark_of(pod)
        if message is not None and (not self.marks or self.marks[-1][1] != message):
            self.marks.append((now, message))

    def preemptor_since(self, since: float) -> str | None:
        """Return the uid of the preemptor that the last mark names, or one before.

        A scheduler may evict it for another, and its mark names nobody: an extender may not have
        known that if it came after `since`.
        """
        for at, message in reversed(self.marks):
            _, found, rest = message.partition(_FOR)
            if found:
                return rest.removesuffix(")")
            if at < since:
                break
        return None

    def set_on(self, node: str, now: float, by: str) -> VictimSet:
        """Return the latest set of victims, or one that begins now if that is on another node."""
        if not self.sets or self.sets[-1].node != node:
            self.sets.append(VictimSet(node, now, by))
        return self.sets[-1]


class Preemptions:
    """Follows all pods, and every deletion that an extender asks for."""

    def __init__(self, store: Store, clock: Callable[[], float], judge: Judge) -> None:
        self.counts: Counter[str] = Counter()
        self._pods: dict[str, Known] = {}
        self._over: deque[tuple[float, str]] = deque()
        self._store = store
        self._clock = clock
        self._judge = judge
        self._leaving: dict[str, VictimSet] = {}
        """The sets of the victims that are being deleted, by their uids."""
        self._preemptors: dict[str, Known] = {}
        """Those that wait and have had victims."""
        self._nodes: dict[str, list[tuple[float, Json | None]]] = {}
        """What each node was like, None while it was not there, and until when; not how it is."""
        store.observers.append(self._take)

    def key_of(self, uid: str) -> str:
        return self._pods[uid].key

    def waits_for_bind(self, uid: str, node: str) -> bool:
        """Tell whether all victims that an extender has evicted for a pod on a node are gone."""
        known = self._pods.get(uid)
        if known is None or not known.sets or known.bound is not None or known.gone is not None:
            return False
        last = known.sets[-1]
        return last.node == node and is_extender(last.by) and not last.leaving

    def held(
        self, pod: Json, shown: float, by: str, asked: float
    ) -> Iterator[tuple[Json, str, list[str]]]:
        """Yield the more important preemptors whose domains a process holds against a pod.

        Each with its node and the uids of its victims that are still there. What the process has
        begun itself, it knew when it was asked to bind the pod; else what watches have `shown`.
        """
        for known in self._preemptors.values():
            last = known.sets[-1]
            node, nominated_since = known.nominated
            since = asked if by == last.by else shown
            if (
                is_extender(last.by)
                and node == last.node
                and nominated_since < since
                and self._clock() - min(known.helped, known.sets[0].begun) < HELD_SECONDS
                and last.holds(self._clock(), since, by)
                and _priority(known.pod) > _priority(pod)
            ):
                yield known.pod, node, [*last.leaving]

    def forget(self) -> None:
        """Know of no victims, as etcd is about to be restored: some are back, or not marked yet."""
        for known in self._pods.values():
            known.sets.clear()
        self._leaving.clear()
        self._preemptors.clear()

    # What is sent

    def note_sent(self, by: str, method: str, path: str, body: bytes) -> None:
        """Judge a deletion that leaves an extender."""
        if method != "DELETE":
            return
        options = msgspec.json.decode(body)
        if options.get("dryRun"):
            return
        victim = self._store.all("pods").get(pod_key(path))
        uid = options.get("preconditions", {}).get("uid")
        if victim is None or (uid is not None and victim["metadata"]["uid"] != uid):
            return
        preemptor = self._preemptor_of(victim["metadata"]["uid"], self._judge.known_since())
        if preemptor is None:
            self._break("evicted without a mark", key_of(victim), key_of(victim))
            return
        if self._judge.lacks_quota(preemptor.pod):
            about = f"{key_of(victim)} for {preemptor.key}"
            self._break("evicted for a quota", about, preemptor.key)
        why = self._why_not(preemptor, victim, by)
        if why is not None:
            self._break(
                "evicted in vain", f"{key_of(victim)} for {preemptor.key}: {why}", preemptor.key
            )

    def _why_not(self, preemptor: Known, victim: Json, by: str) -> str | None:
        """Return why a victim must not go for a preemptor, as far as anybody could know."""
        pod, since = preemptor.pod, self._judge.known_since()
        node = victim["spec"].get("nodeName")
        if pod["spec"].get("preemptionPolicy") == "Never":
            return "it evicts nobody"
        if not node:
            return "it is on no node"
        if _priority(victim) >= _priority(pod):
            return "it is as important"
        if preemptor.gone is not None and preemptor.gone < since:
            return f"gone since {preemptor.gone:.3f}"
        if preemptor.bound is not None and preemptor.bound < since:
            return f"bound since {preemptor.bound:.3f}"
        there = {uid: self._pods[uid].pod for uid in self._judge.placed}
        lesser = [
            uid
            for uid, each in there.items()
            if each["spec"]["nodeName"] == node and _priority(each) < _priority(pod)
        ]
        return self._judge.why_not(pod, node, lesser, by)

    # What is carried out

    def note_scheduler(self, by: str, pod: Json, node: str) -> None:
        """Note that a scheduler begins to evict pods of a node for a pod."""
        known = self._pods.get(pod["metadata"]["uid"])
        if known is not None:
            self._begin(known, node, by)

    def _take(self, change: Change) -> None:
        if change.resource == "nodes" and _place(change.old) != _place(change.new):
            self._nodes.setdefault(change.key, []).append((self._clock(), change.old))
        if change.resource == "pods":
            self._take_pod(change)

    def _take_pod(self, change: Change) -> None:
        old, new, now = change.old, change.new, self._clock()
        uid = (new or old or {})["metadata"]["uid"]
        if new is not None and uid in self._pods:
            self._pods[uid].note_mark(new, now)
        if new is None or not is_live(new):
            self._forget(uid, now)
            return
        if change.by == RESTORE:
            self._pods[uid] = Known(new)
            self._pods[uid].note_mark(new, now)
        known = self._pods.setdefault(uid, Known(new))
        was_going = "deletionTimestamp" in known.pod["metadata"]
        known.pod = new
        if is_extender(change.by) and old is not None and _probed(old) != _probed(new):
            self.counts["woken" if known.sets else "woken without a set"] += 1
        if new["spec"].get("nodeName") and known.bound is None:
            known.bound = now
            self._preemptors.pop(uid, None)
        nominated = new["status"].get("nominatedNodeName")
        if nominated != known.nominated[0]:
            known.nominated = nominated, now
            if is_extender(change.by):
                known.helped = min(known.helped, now)
        if "deletionTimestamp" in new["metadata"] and not was_going:
            self._take_deletion(change, new, uid)

    def _take_deletion(self, change: Change, victim: Json, uid: str) -> None:
        if EVICTS in change.by:
            return
        ours = is_extender(change.by)
        # What was marked when the request left may be marked for others when it is carried out.
        preemptor = self._preemptor_of(uid, -inf if ours else inf)
        if ours and preemptor is None:
            self._break("evicted without a mark", change.key, change.key)
        if preemptor is None or not (ours or change.by.endswith("/preempts")):
            return
        node = victim["spec"]["nodeName"]
        begun = self._begin(preemptor, node, change.by)
        begun.victims += 1
        begun.leaving[uid] = change.key
        begun.emptied = inf
        if preemptor.bound is None and preemptor.gone is None:
            self._preemptors[preemptor.pod["metadata"]["uid"]] = preemptor
        self._leaving[uid] = begun
        if ours:
            self.counts["victims"] += 1

    def _begin(self, preemptor: Known, node: str, by: str) -> VictimSet:
        """Return the set of a preemptor on a node; while others leave another node, none begins.

        Unless that node could not take it any more since, as far as anybody knew.
        """
        unknown = self._clock() - self._judge.known_since("nodes")
        others = [each for each in preemptor.sets if each.node != node]
        for other in others:
            if other.leaving and not self._was_lost(preemptor.pod, other, unknown):
                about = (
                    f"{preemptor.key} gets victims on {node} by {by}, and "
                    f"{', '.join(other.leaving.values())} are leaving {other.node} by {other.by}"
                )
                self._break("two sets of victims", about, preemptor.key)
        sets = len(preemptor.sets)
        begun = preemptor.set_on(node, self._clock(), by)
        if len(preemptor.sets) > sets:
            self.counts["sets" if is_extender(by) else "by schedulers"] += 1
            if others:
                self.counts["again"] += 1
            of_this_life = sum(each.by == by and each.victims > 0 for each in preemptor.sets)
            if is_extender(by) and of_this_life >= MOST_SETS:
                about = f"{preemptor.key} gets victims on {node} by {by}, after {of_this_life} sets"
                self._break("too many sets of victims", about, preemptor.key)
        return begun

    def _was_lost(self, pod: Json, victims: VictimSet, unknown: float) -> bool:
        """Tell whether the node of some victims could not take a pod, whoever left it.

        At some moment since they began to leave, or so many seconds before.
        """
        past = [
            node
            for until, node in self._nodes.get(victims.node, ())
            if until >= victims.begun - unknown
        ]
        now = self._store.all("nodes").get(victims.node)
        return any(_refuses(each, pod) for each in (*past, now))

    # The pods

    def _preemptor_of(self, victim: str, since: float) -> Known | None:
        known = self._pods.get(victim)
        uid = None if known is None else known.preemptor_since(since)
        return None if uid is None else self._pods.get(uid)

    def _forget(self, uid: str, now: float) -> None:
        known = self._pods.get(uid)
        if known is not None and known.gone is None:
            known.gone = now
            self._over.append((now, uid))
            self._preemptors.pop(uid, None)
            if (victims := self._leaving.pop(uid, None)) is not None:
                del victims.leaving[uid]
                if not victims.leaving:
                    victims.emptied = now
        while self._over and self._over[0][0] < now - REMEMBERED_SECONDS:
            _, uid = self._over.popleft()
            if (over := self._pods.get(uid)) is not None and over.gone is not None:
                del self._pods[uid]

    def _break(self, name: str, about: str, *words: str) -> None:
        self._judge.broken.append(BrokenError(name, about, words))


def _place(node: Json | None) -> Json | None:
    """Return what of a node decides who may be there."""
    return (
        None if node is None else {"spec": node["spec"], "labels": node["metadata"].get("labels")}
    )


def _refuses(node: Json | None, pod: Json) -> bool:
    """Tell whether a node refuses a pod whoever else is there; here no pod tolerates anything."""
    if node is None or not is_open(node):
        return True
    wanted, labels = wanted_nodes(pod["spec"]), node["metadata"].get("labels", {})
    chosen = pod["spec"].get("nodeSelector", {})
    return not chosen.items() <= labels.items() or (
        wanted is not None and not allows(wanted, node["metadata"]["name"], labels)
    )


def _priority(pod: Json) -> int:
    return int(pod["spec"].get("priority", 0))


def _probed(pod: Json) -> str | None:
    """Return when a pod was looked at last, as its conditions say."""
    conditions = pod["status"].get("conditions", ())
    return next((each["lastProbeTime"] for each in conditions if "lastProbeTime" in each), None)
