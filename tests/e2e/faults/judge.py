"""Which rules were broken, from the API server's objects alone.

This shares nothing with the extender or the scheduler, and sees what a watch sees that no failing
hop is on: each object in the order in which the API server has stored it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e.api import key_of
from tests.e2e.checker import selects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.e2e.objects import JSON

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREEMPTOR = re.compile(r"\(uid ([^)]+)\)$")

DELAY_S = 45.0
"""How old a decision may be when the API server carries it out: failing hops and a server that
stands still hold requests back, and the original is as late."""
GRACE_SLACK_S = 1.0
"""By which a watch may shorten the time for which a rule was seen broken."""
STUCK_S = 150.0
"""How long a pod may be pending after the last fault although there is a place for it. A watch that
a proxy has silenced is given up after 75 s, and a restored etcd is noticed within 121 s."""


@dataclass
class _Life:
    """What is known of one pod, by its uid."""

    pod: JSON
    created: float
    bound: float | None = None
    gone: float | None = None
    ending: float | None = None
    mark: str | None = None
    """The preemptor that it is marked for."""
    broken: list[tuple[float, bool]] = field(default_factory=list)
    """When its rule stopped holding on its node, or held again."""
    place_since: float | None = None
    """Since when there has been a place for it, while it is pending and no fault is on."""

    @property
    def node(self) -> str:
        return str(self.pod["spec"].get("nodeName") or "")

    @property
    def live(self) -> bool:
        phase = (self.pod.get("status") or {}).get("phase")
        return self.gone is None and phase not in {"Succeeded", "Failed"}


class Judge:
    """Hears of each change; keeps what was wrong, and counts what was done."""

    def __init__(self, grace: float) -> None:
        self.wrong: list[tuple[str, str]] = []
        """The rule and what happened."""
        self.counts = Counter[str]()
        self.waited = 0.0
        """The longest that a pod was pending beside a place after the faults, in seconds."""
        self.waiter = "no pod"
        """The pod that was pending so long."""
        self._grace = grace
        self._lives: dict[str, _Life] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._earlier: dict[str, list[tuple[float, dict[str, str]]]] = defaultdict(list)
        """Labels that nodes had, and until when."""
        self._ours: set[str] = set()
        self._victims: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """By preemptor and node, the victims that were made to go."""
        self._stuck: set[str] = set()

    # What is heard

    def deletes(self, uid: str) -> None:
        """Hear that a user is about to delete a pod: no cause is asked for."""
        self._ours.add(uid)

    def restored(self) -> None:
        """Hear that the store goes back in time: what comes next is no change that anyone made."""
        self._lives.clear()
        self._victims.clear()

    def node(self, thing: JSON, at: float) -> None:
        name = thing["metadata"]["name"]
        before, now = self._labels.get(name), dict(thing["metadata"].get("labels") or {})
        self._labels[name] = now
        if before is not None and before != now:
            self._earlier[name].append((at, before))
            for each in self._placed():
                self._look_whether_broken(each, at)

    def pod(self, thing: JSON, at: float, *, gone: bool = False, listed: bool = False) -> None:
        """Take a pod; `listed` says that it is as it was found, so that no act is judged."""
        uid = thing["metadata"]["uid"]
        life = self._lives.get(uid)
        if life is None:
            life = self._lives[uid] = _Life(thing, at)
            if not listed:
                self.counts["created"] += 1
        before, life.pod = life.node, thing
        if before and life.node != before and not listed:
            self._say("bound twice", f"{key_of(thing)} was on {before} and is on {life.node}")
        if life.node and life.bound is None:
            life.bound = at
            self._look_whether_broken(life, at)
            if not gone:
                self._bound(life, at, judged=not listed)
        self._ends(life, at, gone=gone, listed=listed)

    def look(self, at: float) -> None:
        """Look at the pods that are pending while no fault is on."""
        placed = [*self._placed()]
        for life in self._lives.values():
            if life.node or life.gone is not None or life.ending is not None:
                continue
            if not self._has_place(life, placed):
                life.place_since = None
                continue
            if life.place_since is None:
                life.place_since = at
            waited = at - life.place_since
            if waited > self.waited:
                self.waited, self.waiter = waited, key_of(life.pod)
            uid = life.pod["metadata"]["uid"]
            if waited > STUCK_S and uid not in self._stuck:
                self._stuck.add(uid)
                self._say("pod stuck", f"{key_of(life.pod)} is pending, and there is a place")

    def faults_begin(self) -> None:
        """Forget who has waited: pods may wait while there are faults."""
        for life in self._lives.values():
            life.place_since = None

    @property
    def waiting(self) -> list[str]:
        """The pods that are pending although there is a place."""
        return [
            key_of(each.pod)
            for each in self._lives.values()
            if each.place_since is not None and each.live and not each.node
        ]

    # Binds

    def _bound(self, life: _Life, at: float, *, judged: bool) -> None:
        others = [each for each in self._placed() if each is not life]
        for other in others:
            key = self._excludes(life, other, life.node) or self._excludes(other, life, life.node)
            if key:
                told = f"{_told(life)} and {_told(other)} are in one {key}"
                self._say("exclusive pods met", told)
        if not judged:
            return
        self.counts["binds"] += 1
        self.counts["contested binds"] += self._contested(life, others)
        if not self._near(life, life.node, others):
            self._say("affinity not held", f"{_told(life)} is near no pod that it needs")
        if not any(self._node_matches(life.pod, each) for each in self._lately(life.node, at)):
            self._say("node affinity not held", f"{_told(life)}: {self._labels.get(life.node)}")

    def _contested(self, life: _Life, placed: Iterable[_Life]) -> bool:
        """Return whether a bind could have gone wrong.

        That is, whether a pod was pending or on a node that excludes it, or that it has to be near.
        """
        pending = (e for e in self._lives.values() if e.live and not e.node and e is not life)
        return any(
            self._concerns(life.pod, each.pod) for group in (pending, placed) for each in group
        )

    def _concerns(self, one: JSON, other: JSON) -> bool:
        return (
            any(_matches(term, one, other) for term in _terms(one, "podAntiAffinity"))
            or any(_matches(term, other, one) for term in _terms(other, "podAntiAffinity"))
            or any(_matches(term, one, other) for term in _terms(one, "podAffinity"))
        )

    def _excludes(self, owner: _Life, other: _Life, node: str) -> str | None:
        """Return the topology key by which a pod excludes one; one of them would be on `node`."""
        mine, theirs = owner.node or node, other.node or node
        for term in _terms(owner.pod, "podAntiAffinity"):
            key = term["topologyKey"]
            value = self._labels.get(mine, {}).get(key)
            if value is None or value != self._labels.get(theirs, {}).get(key):
                continue
            if _matches(term, owner.pod, other.pod):
                return str(key)
        return None

    def _near(self, life: _Life, node: str, others: Iterable[_Life]) -> bool:
        terms = _terms(life.pod, "podAffinity")
        if not terms:
            return True
        matched = [
            each for each in others if all(_matches(term, life.pod, each.pod) for term in terms)
        ]
        labels = self._labels.get(node, {})
        if any(term["topologyKey"] not in labels for term in terms):
            return False
        if not matched:
            return all(_matches(term, life.pod, life.pod) for term in terms)
        return all(
            any(
                self._labels.get(each.node, {}).get(term["topologyKey"])
                == labels[term["topologyKey"]]
                for each in matched
            )
            for term in terms
        )

    def _lately(self, node: str, at: float) -> Iterator[dict[str, str]]:
        """Yield the labels that a node has and has had not long ago."""
        yield self._labels.get(node, {})
        for until, labels in self._earlier[node]:
            if until >= at - DELAY_S:
                yield labels

    @staticmethod
    def _node_matches(pod: JSON, labels: dict[str, str]) -> bool:
        spec = pod["spec"]
        if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
            return False
        rule = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
        return rule is None or any(
            selects({"matchExpressions": term["matchExpressions"]}, labels)
            for term in rule["nodeSelectorTerms"]
        )

    def _has_place(self, life: _Life, placed: list[_Life]) -> bool:
        """Return whether there is a place once less important pods have given way."""
        own = _priority(life.pod)
        rivals = [
            each
            for each in placed
            if _priority(each.pod) >= own and self._concerns(life.pod, each.pod)
        ]
        return any(
            self._node_matches(life.pod, labels)
            and self._near(life, node, placed)
            and not any(
                self._excludes(life, each, node) or self._excludes(each, life, node)
                for each in rivals
            )
            for node, labels in self._labels.items()
        )

    # Ends

    def _ends(self, life: _Life, at: float, *, gone: bool, listed: bool) -> None:
        metadata, status = life.pod["metadata"], life.pod.get("status") or {}
        reason, message = _disruption(status)
        found = _PREEMPTOR.search(message) if reason == "PreemptionByScheduler" else None
        life.mark = found[1] if found else None
        if gone:
            life.gone = at
        if life.ending is not None or not (gone or metadata.get("deletionTimestamp")):
            return
        life.ending = at
        if metadata["uid"] in self._ours or listed:
            return
        if reason == "PreemptionByScheduler":
            self._preempted(life, at)
        elif reason == "EvictionByEvictionAPI":
            self._evicted(life, at)
        else:
            self.counts["deleted by controllers"] += 1

    def _preempted(self, victim: _Life, at: float) -> None:
        self.counts["victims"] += 1
        preemptor = self._lives.get(victim.mark or "")
        if preemptor is None:
            self._say("preempted without a cause", f"{_told(victim)}: no preemptor is known")
            return
        uid, node = preemptor.pod["metadata"]["uid"], victim.node
        sets = self._victims[uid]
        if not sets[node]:
            self.counts["preemptions"] += 1
        for where, victims in sets.items():
            if where != node and any(self._still(each) for each in victims):
                told = f"{key_of(preemptor.pod)} has victims on {where} and on {node}"
                self._say("two sets of victims", told)
        sets[node].add(victim.pod["metadata"]["uid"])
        why = self._why_not_preempted(victim, preemptor, at)
        if why:
            self._say("preempted without a cause", f"{_told(victim)}: {why}")

    def _still(self, uid: str) -> bool:
        life = self._lives.get(uid)
        return life is not None and life.gone is None

    def _why_not_preempted(self, victim: _Life, preemptor: _Life, at: float) -> str | None:
        name = key_of(preemptor.pod)
        if _priority(preemptor.pod) <= _priority(victim.pod):
            return f"{name} is no more important"
        for what, since in (("gone", preemptor.gone), ("bound", preemptor.bound)):
            if since is not None and since < at - DELAY_S:
                return f"{name} was {what} {at - since:.0f} s before"
        alone = _Life({**preemptor.pod, "spec": {**preemptor.pod["spec"], "nodeName": ""}}, at)
        if not (
            self._excludes(alone, victim, victim.node) or self._excludes(victim, alone, victim.node)
        ):
            return f"{name} could be beside it"
        return None

    def _evicted(self, life: _Life, at: float) -> None:
        self.counts["evictions"] += 1
        if not self._was_broken(life, at):
            self._say("evicted without a cause", f"{_told(life)}: {life.broken}, {at:.1f}")

    def _was_broken(self, life: _Life, at: float) -> bool:
        """Return whether a rule was broken for the grace period, and lately."""
        since: float | None = None
        for when, broken in [*life.broken, (at, False)]:
            if broken:
                since = when if since is None else since
            elif since is not None:
                if when - since >= self._grace - GRACE_SLACK_S and when >= at - DELAY_S:
                    return True
                since = None
        return False

    def _look_whether_broken(self, life: _Life, at: float) -> None:
        others = [each for each in self._placed() if each is not life]
        broken = not (
            self._node_matches(life.pod, self._labels.get(life.node, {}))
            and self._near(life, life.node, others)
        )
        if broken != (bool(life.broken) and life.broken[-1][1]):
            life.broken.append((at, broken))

    def _placed(self) -> Iterator[_Life]:
        return (each for each in self._lives.values() if each.node and each.live)

    def forget(self, before: float) -> None:
        """Forget pods that have been gone for so long that nothing refers to them."""
        for uid in [u for u, e in self._lives.items() if e.gone is not None and e.gone < before]:
            del self._lives[uid]
            self._victims.pop(uid, None)
            self._ours.discard(uid)

    def _say(self, rule: str, what: str) -> None:
        self.wrong.append((rule, what))


def _terms(pod: JSON, kind: str) -> list[Any]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    terms: list[Any] = affinity.get(_REQUIRED) or []
    return terms


def _matches(term: JSON, owner: JSON, other: JSON) -> bool:
    """Apply a term, which is about namespaces by name alone here."""
    spaces = term.get("namespaces") or [owner["metadata"]["namespace"]]
    labels: dict[str, str] = other["metadata"].get("labels") or {}
    return other["metadata"]["namespace"] in spaces and selects(term.get("labelSelector"), labels)


def _disruption(status: JSON) -> tuple[str, str]:
    """Return reason and message of the condition that says why a pod goes."""
    for each in status.get("conditions") or ():
        if each["type"] == "DisruptionTarget" and each["status"] == "True":
            return str(each.get("reason")), str(each.get("message"))
    return "", ""


def _priority(pod: JSON) -> int:
    return int(pod["spec"].get("priority") or 0)


def _told(life: _Life) -> str:
    return f"{key_of(life.pod)} on {life.node}"
