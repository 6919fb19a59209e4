"""Judges every bind and every preemption in the API server's own order.

Nobody can know what has not been told yet. So a rule counts as broken only if it was broken in each
picture that the extender may have had: those of the labels and pods of the last moments, from as
long before the request as its watches had been silent.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Final

import msgspec

from simulation.apiserver.store import RESTORE, Change, Json, Store, is_live, key_of
from simulation.invariants import quotas
from simulation.invariants.annotated import (
    MOST,
    annotation_of,
    edited,
    has_record,
    is_broken,
    unannotated,
    unnamed,
)
from simulation.invariants.broken import BrokenError
from simulation.invariants.contention import Contention
from simulation.invariants.hints import Hints
from simulation.invariants.history import REMEMBERED_SECONDS, History
from simulation.invariants.kinds import Kind, Kinds, Spaces
from simulation.invariants.limits import is_exceeded, lets_in, limits_of
from simulation.invariants.preemptions import Preemptions
from simulation.invariants.quotas import Limits
from simulation.invariants.rules import Labels, has_rules, speaks_of
from simulation.invariants.writers import is_extender, process_of

SLACK_SECONDS: Final = 6.0
"""A bind is decided up to 4 s before it is sent, and events take their time."""

UNCLEAR_SECONDS: Final = 200.0
"""For so long, a bind that was asked for may reserve a place."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    key: str
    kind: Kind
    node: str
    ours: bool
    """Bound by the extender that was alive then."""
    by: str
    """Whom it was bound by, whichever of its lives that was."""
    since: float
    until: float | None = None
    undone: bool = False
    """Gone because etcd was restored."""


class Referee:
    """Sees each write in order."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        alive: Callable[[], str | None],
        unknown_since: Callable[[str, float], float],
    ) -> None:
        """`unknown_since` says from when on changes of a resource may be unknown at a moment."""
        self.binds: Counter[str] = Counter()
        self.broken: list[BrokenError] = []
        self.kinds = Kinds()
        self.contention = Contention(self.kinds, clock)
        self.nodes = History()
        self.spaces = History()
        self.quotas = History()
        """Their hard limits."""
        self.placed: dict[str, Placed] = {}
        self._by_kind: dict[Kind, dict[str, Placed]] = {}
        self.sent: dict[tuple[str, str], float] = {}
        """When the oldest bind of a pod to a node was sent that may still be under way."""
        self.asked: dict[tuple[str, str], float] = {}
        """When schedulers have asked last to bind a pod to a node, by uid and node."""
        self._filtered: dict[str, float] = {}
        """When a filter call about a pod came last, by uid."""
        self.hints: dict[str, tuple[str, str, float]] = {}
        """Key, by whom and when, of the nominations that an extender has set, by uid."""
        self.judges_hints: Hints | None = None
        self.assisted = False
        """Whether schedulers bind, and the extender enforces rules in annotations at filter."""
        self.limited = False
        """Whether a pod in the scope of quotas needs one."""
        self._gone: deque[tuple[str, Placed]] = deque()
        """Uids and pods."""
        self._clock = clock
        self._alive = alive
        self._unknown_since = unknown_since
        store.observers.append(self.take)
        self.preemptions = Preemptions(store, clock, self)

    def note_sent(self, by: str, method: str, path: str, body: bytes) -> None:
        """Note when a bind leaves an extender, and judge whom it has deleted."""
        self.preemptions.note_sent(by, method, path, body)
        if method == "POST" and path.endswith("/binding"):
            binding = msgspec.json.decode(body)
            sent = (binding["metadata"].get("uid", ""), binding["target"]["name"])
            self.sent.setdefault(sent, self._clock())

    def note_asked(self, process: str, verb: str, body: bytes) -> None:
        """Note which pod a scheduler has asked to bind, and to which node; in assist, which."""
        if self.judges_hints is not None:
            self.judges_hints.note_asked(process, verb, body)
        if verb == "bind":
            asked = msgspec.json.decode(body)
            self.asked[asked["PodUID"], asked["Node"]] = self._clock()
        elif verb == "filter" and self.assisted:
            self._filtered[msgspec.json.decode(body)["Pod"]["metadata"]["uid"]] = self._clock()

    def note_answered(self, body: bytes, answer: bytes) -> None:
        """See that the refusal of a pod with a broken annotation names it, as an event has it."""
        pod, said = msgspec.json.decode(body)["Pod"], msgspec.json.decode(answer)
        refusals = (said.get(each) or {} for each in ("FailedNodes", "FailedAndUnresolvableNodes"))
        texts = (
            [said["Error"]] if said.get("Error") else chain(*(each.values() for each in refusals))
        )
        about = unnamed(pod, texts)
        if about is not None:
            self.broken.append(BrokenError("event without the field", about, (key_of(pod),)))

    def note_cycle(self, pod: Json) -> None:
        self.contention.begin(pod["metadata"]["uid"], self.kinds.of(pod))

    def take(self, change: Change) -> None:
        labels = None if change.new is None else change.new["metadata"].get("labels", {})
        match change.resource:
            case "nodes":
                self.nodes.set(change.key, labels, self._clock())
            case "namespaces":
                self.spaces.set(change.key, labels, self._clock())
            case "resourcequotas":
                hard = None if change.new is None else quotas.limits_of(change.new)
                self.quotas.set(change.key, hard, self._clock())
            case "pods":
                self._take_pod(change)

    def _take_pod(self, change: Change) -> None:
        old, new, now = change.old, change.new, self._clock()
        uid = (new or old or {})["metadata"]["uid"]
        self._note_hint(change, uid)
        if new is None or not is_live(new):
            placed = self._displace(uid)
            if placed is not None:
                undone = change.by == RESTORE
                self._gone.append((uid, replace(placed, until=now, undone=undone)))
            while self._gone and (self._gone[0][1].until or 0.0) < now - REMEMBERED_SECONDS:
                self._gone.popleft()
            return
        if change.by == RESTORE:
            self._restore(change.key, uid, new)
            return
        node = new["spec"].get("nodeName")
        if node and uid not in self.placed:
            self._take_bind(change, uid, new, node)
        elif node and old is not None and edited(new) and not edited(old):
            self._take_rules(uid, self.kinds.of(new))
        elif self.assisted and old is not None and has_record(new) and not has_record(old):
            self._take_rules(uid, self.kinds.of(new), self._clock())

    def forget(self) -> None:
        """Know of nothing under way, as etcd is about to be restored: that is never carried out."""
        self.sent.clear()
        self.preemptions.forget()

    def _restore(self, key: str, uid: str, new: Json) -> None:
        """Take a pod as a backup has it; who has bound it knows that, as no bind is decided before.

        For that the extender asks the server where it stands once a connection broke.
        """
        node = new["spec"].get("nodeName")
        if node:
            gone = (each for other, each in reversed(self._gone) if other == uid)
            kind = self.kinds.of(new if not self.assisted or has_record(new) else unannotated(new))
            found = next(gone, None) or Placed(
                key, kind, node, ours=False, by="", since=self._clock()
            )
            self._place(uid, replace(found, kind=kind, node=node, until=None, undone=False))

    def _take_rules(self, uid: str, kind: Kind, since: float | None = None) -> None:
        """Let a placed pod keep others away as its kind says, whatever it did before."""
        placed = self._displace(uid)
        if placed is not None:
            self._place(uid, replace(placed, kind=kind, since=since or placed.since))

    def _place(self, uid: str, placed: Placed) -> None:
        self.placed[uid] = placed
        self._by_kind.setdefault(placed.kind, {})[uid] = placed

    def _take_bind(self, change: Change, uid: str, new: Json, node: str) -> None:
        now = self._clock()
        if is_extender(change.by) and (uid, node) not in self.asked:
            about = f"{change.key} on {node}: nobody has asked for that"
            self.broken.append(BrokenError("bound by mistake", about, (change.key,)))
        filtered = self._filtered.pop(uid, None) if change.old is not None else None
        if (is_extender(change.by) or filtered is not None) and is_broken(new):
            about = f"{change.key} on {node}: {annotation_of(new)}"
            self.broken.append(BrokenError("placed with a broken annotation", about, (change.key,)))
        ours = is_extender(change.by) and change.by == self._alive()
        if is_extender(change.by) and not ours:
            self.binds["after death"] += 1
        placed = Placed(change.key, self.kinds.of(new), node, ours, process_of(change.by), now)
        sent = self.sent.pop((uid, node), now)
        if ours:
            self._count(uid, placed, sent)
        self.contention.end(uid)
        self._place(uid, placed)
        if ours:
            self._judge(uid, placed, sent)
            self._judge_held(change.by, placed, sent, new)
        elif self.assisted:
            if filtered is not None:
                # It has judged the pod then, by what watches had shown, and reserved nothing.
                placed = replace(placed, ours=True, by=uid)
                self._judge(uid, placed, filtered)
            self._displace(uid)
            self._place(uid, replace(placed, kind=self.kinds.of(unannotated(new))))

    def _judge(self, uid: str, placed: Placed, sent: float) -> None:
        """See that rules allow a bind that is carried out now."""
        why = self._refusal(placed, sent, (uid,))
        if why is not None:
            back = f"{self._clock() - self.known_since(at=sent):.1f} s looked back"
            about = f"{placed.key} on {placed.node}{why[1]}, {back}"
            self.broken.append(BrokenError(why[0], about, (placed.key, *why[2])))

    def _judge_held(self, by: str, placed: Placed, sent: float, new: Json) -> None:
        """See that a pod takes no domain from a more important one that others were evicted for."""
        uid = new["metadata"]["uid"]
        since, asked = self.known_since(at=sent), self.asked.get((uid, placed.node), sent)
        for pod, node, leaving in self.preemptions.held(new, since, by, asked):
            kind, preemptor = self.kinds.of(pod), pod["metadata"]["uid"]
            there = replace(placed, key=key_of(pod), kind=kind, node=node)
            if not self._always_excludes(placed, there, sent):
                continue
            # One that is being bound somewhere, perhaps, counts there.
            bound_yet = any(
                pod_uid == preemptor and sent - at < UNCLEAR_SECONDS
                for (pod_uid, _), at in self.asked.items()
            )
            if not bound_yet and self._refusal(there, sent, (preemptor, uid, *leaving)) is None:
                about = f"{placed.key} on {placed.node}, of {there.key}, nominated to {node}"
                words = (placed.key, there.key)
                self.broken.append(BrokenError("held domain taken", about, words))

    def _note_hint(self, change: Change, uid: str) -> None:
        before = None if change.old is None else change.old["status"].get("nominatedNodeName")
        after = None if change.new is None else change.new["status"].get("nominatedNodeName")
        if before == after:
            return
        self.hints.pop(uid, None)
        if after is not None and is_extender(change.by):
            self.hints[uid] = change.key, change.by, self._clock()

    def judge_preemption(self, by: str, pod: Json, node: str, victims: tuple[str, ...]) -> None:
        """See that a scheduler is to evict victims from a node for a pod: it must be of use."""
        why = self.why_not(pod, node, victims, self._alive() or "")
        if why is not None:
            about = f"{key_of(pod)} cannot go to {node} then: {why}"
            self.broken.append(BrokenError("evicted in vain", about, (key_of(pod),)))
        self.preemptions.note_scheduler(by, pod, node)
        if self.judges_hints is not None:
            self.judges_hints.note_preemption(pod["metadata"]["uid"], node)

    def known_since(self, resource: str = "pods", at: float | None = None) -> float:
        """Return since when changes may be unknown to an extender, now or at some moment."""
        return self._unknown_since(resource, self._clock() if at is None else at) - SLACK_SECONDS

    def why_not(self, pod: Json, node: str, gone: Iterable[str], by: str) -> str | None:
        """Return why a pod may certainly not go to a node without some others, if so."""
        here = Placed(key_of(pod), self.kinds.of(pod), node, True, process_of(by), self._clock())  # noqa: FBT003
        why = self._refusal(here, here.since, (pod["metadata"]["uid"], *gone))
        return None if why is None else f"{why[0]}{why[1]}"

    def has_place(self, pod: Json, node: str) -> bool:
        """Tell whether the rules allow a pod on a node as things are, whoever placed the others."""
        spaces, nodes = (self.spaces.number, self.spaces.now), self.nodes.now
        one = kind, here = self.kinds.of(pod), nodes.get(node)
        if is_broken(pod):
            return False
        repelled = [other for other in self._by_kind if self.kinds.repels(kind, other, spaces)]
        others = ((other, each) for other in repelled for each in self._by_kind[other].values())
        if any(
            self.kinds.exclude(one, (other, nodes.get(each.node)), spaces) for other, each in others
        ):
            return False
        if self._is_over_quota(kind, self.placed.values(), [self.quotas.now]):
            return False
        known = [(each.kind, nodes.get(each.node, {})) for each in self.placed.values()]
        if not lets_in((kind, here or {}), known, self.spaces.now):
            return False
        there = ((each.kind, nodes.get(each.node)) for each in self.placed.values())
        return self.kinds.has_company((kind, here), there, spaces)

    def lacks_quota(self, pod: Json) -> bool:
        """Tell whether a quota has no room for a pod, for so long that an extender knows that."""
        kind, since = self.kinds.of(pod), self.known_since()
        there = [each for each in self.placed.values() if each.since < since]
        hard = (each for _, each in self.quotas.pictures(self.known_since("resourcequotas")))
        return self._is_over_quota(kind, there, hard)

    def _count(self, uid: str, placed: Placed, sent: float) -> None:
        """Count a bind that is carried out now."""
        spaces = self.spaces.number, self.spaces.now
        contest = self.contention.of(uid, placed.kind, sent, self._by_kind, spaces)
        self.binds["with rules" if has_rules(placed.kind.pod) else "plain"] += 1
        self.binds[contest.value] += 1

    def _displace(self, uid: str) -> Placed | None:
        placed = self.placed.pop(uid, None)
        if placed is not None:
            alike = self._by_kind[placed.kind]
            del alike[uid]
            if not alike:
                del self._by_kind[placed.kind]
        return placed

    def _refusal(
        self, placed: Placed, at: float, without: tuple[str, ...]
    ) -> tuple[str, str, tuple[str, ...]] | None:
        for other in self._adversaries(placed, at, without):
            if self._always_excludes(placed, other, at):
                return "excluding pods met", f" with {other.key} on {other.node}", (other.key,)
        if placed.kind.needs and not self._may_have_company(placed, at, without):
            return "required affinity not met", "", ()
        limited = any(limits_of(kind.pod) for kind in (placed.kind, *self._by_kind))
        known = self._known(placed, at, without) if limited or placed.kind.crosses else []
        for owner in (placed, *(each for each in known if each.ours)) if limited else ():
            for term in limits_of(owner.kind.pod):
                if self._always_exceeds(term, owner, placed, known, at):
                    about = f", of {term[MOST]} by {term['topologyKey']} of {owner.key}"
                    return "limit exceeded", about, (owner.key,)
        if placed.kind.crosses:
            pictures = self.quotas.pictures(self.known_since("resourcequotas", at))
            if self._is_over_quota(placed.kind, known, (each for _, each in pictures)):
                return "quota exceeded", "", ()
        return None

    def _always_excludes(self, placed: Placed, other: Placed, at: float) -> bool:
        """Tell whether two pods exclude each other in each picture that the extender may have had.

        It binds to no node that it does not know. So it had none from before there were both.
        """
        both = max(self.nodes.first(placed.node), self.nodes.first(other.node))
        return all(
            self.kinds.exclude(
                (placed.kind, nodes.get(placed.node)), (other.kind, nodes.get(other.node)), spaces
            )
            for number, nodes in self._nodes(at)
            if number >= both
            for spaces in self._spaces(at)
        )

    def _always_exceeds(
        self, term: Json, owner: Placed, placed: Placed, known: list[Placed], at: float
    ) -> bool:
        """Tell whether a limit is exceeded in each picture that the extender may have had.

        That of a placed pod keeps those away that it speaks of, from the domain that it is in.
        """
        since, key = self.nodes.first(placed.node), term["topologyKey"]
        return all(
            (
                owner is placed
                or nodes.get(owner.node, {}).get(key) == nodes.get(placed.node, {}).get(key)
            )
            and (owner is placed or speaks_of(term, owner.kind.pod, placed.kind.pod, spaces))
            and is_exceeded(
                term,
                owner.kind,
                (placed.kind, nodes.get(placed.node, {})),
                ((each.kind, nodes.get(each.node, {})) for each in known),
                spaces,
            )
            for number, nodes in self._nodes(at)
            if number >= since
            for _, spaces in self._spaces(at)
        )

    def _known(self, placed: Placed, at: float, without: tuple[str, ...]) -> list[Placed]:
        """Return the pods on nodes that the extender knew of when it placed one.

        Those that others placed, and that just came, may not be known yet.
        """
        since = self.known_since(at=at)
        return [
            each
            for uid, each in self.placed.items()
            if uid not in without and ((each.ours and each.by == placed.by) or each.since < since)
        ]

    def _is_over_quota(
        self, kind: Kind, others: Iterable[Placed], limits: Iterable[Limits]
    ) -> bool:
        """Return whether one more pod in scope is more than its namespace may have."""
        if not kind.crosses:
            return False
        space = kind.pod["metadata"]["namespace"]
        there = [each.kind.pod for each in others if each.kind.crosses]
        pods = [kind.pod, *(each for each in there if each["metadata"]["namespace"] == space)]
        return quotas.refuse(pods, space, limits, limited=self.limited)

    def _adversaries(self, placed: Placed, at: float, without: tuple[str, ...]) -> Iterator[Placed]:
        """Yield the pods that we placed and that may not share some domain with a pod.

        What another extender has bound is known when the watch shows it.
        """
        pictures, since = self._spaces(at), self.known_since(at=at)
        for other, alike in self._by_kind.items():
            if all(self.kinds.repels(placed.kind, other, spaces) for spaces in pictures):
                yield from (
                    each
                    for uid, each in alike.items()
                    if uid not in without
                    and each.ours
                    and (each.by == placed.by or each.since < since)
                )

    def _may_have_company(self, placed: Placed, at: float, without: tuple[str, ...]) -> bool:
        there = [each for uid, each in self.placed.items() if uid not in without]
        since = self.known_since(at=at)
        left = [each for _, each in self._gone if (each.until or 0.0) >= since and not each.undone]
        known = self._known(placed, at, without)
        sure = [each for each in known if each.until is None]
        return any(
            self.kinds.has_company(
                (placed.kind, nodes.get(placed.node)),
                [(each.kind, nodes.get(each.node)) for each in some],
                spaces,
            )
            for nodes, spaces in self._pictures(at)
            for some in (sure, [*there, *left], [each for each in sure if each.ours])
        )

    def _pictures(self, at: float) -> list[tuple[Mapping[str, Labels], Spaces]]:
        nodes = [labels for _, labels in self._nodes(at)]
        return [*product(nodes, self._spaces(at))]

    def _nodes(self, at: float) -> list[Spaces]:
        return self.nodes.pictures(self.known_since("nodes", at))

    def _spaces(self, at: float) -> list[Spaces]:
        return self.spaces.pictures(self.known_since("namespaces", at))
