"""Judges costs for scale-downs, by what docs/scale-down.md promises and the API server has stored.

What is written is judged at each write, the order of costs when nothing of a namespace has changed
for longer than it may take to put them in order.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, permutations
from typing import Any, Final, TypeAlias

from simulation.apiserver.patches import COST
from simulation.apiserver.requests import pod_key
from simulation.apiserver.store import Change, Json, Store, is_live, key_of
from simulation.invariants.broken import BrokenError
from simulation.invariants.evictions import WAITED_SECONDS, leads
from simulation.invariants.execution import AFFINITY
from simulation.invariants.owners import owner_of
from simulation.invariants.rules import anti_terms, speaks_of, weighted_terms
from simulation.invariants.writers import is_extender
from simulation.scaling_plan import Scaling
from simulation.templates import HOST

GIVEN: Final = "affinity-extender.io/deletion-cost"
RECORD: Final = "affinity-extender.io/RulesAtPlacement"
LOOKING: Final = {"ReplicaSet", "ReplicationController", "CloneSet"}
"""Kinds of controllers that look at costs."""
MINUTE: Final = 60.0
SLACK_SECONDS: Final = 60.0
"""For retries and a change of the leader, beside settling and what the limit of patches takes."""

Costs: TypeAlias = tuple[str | None, str | None]
"""A pod's cost, and the extender's mark beside it."""
Domains: TypeAlias = Mapping[str, int]
"""Pods by topology domain."""


class CostJudge:
    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        settings: Scaling,
        known_since: Callable[[str, float], float],
        undisturbed: Callable[[], float],
    ) -> None:
        """`known_since` is as for the referee; `undisturbed` says since when nothing was wrong."""
        self.counts: Counter[str] = Counter()
        self.broken: list[BrokenError] = []
        self._store = store
        self._clock = clock
        self._settings = settings
        self._known_since = known_since
        self._undisturbed = undisturbed
        self._holder: str | None = None
        self._led_since = 0.0
        self._changed: dict[str, float] = {}
        """When something was changed last that the costs of a namespace depend on."""
        self._edited: dict[str, float] = {}
        """When anything but the extender has last changed the costs of a pod, by uid."""
        self._sent: dict[tuple[str, str], float] = {}
        """When a replica has sent the last patch or Binding of a pod."""
        self._patches: deque[tuple[float, str, str]] = deque()
        """When patches of the last minute were sent, by whom, and in which namespace."""
        self._judged: dict[str, float] = {}
        """Since when a namespace was unchanged whose costs have been judged."""
        store.observers.append(self._take)

    def look(self) -> None:
        """Raise what was broken; judge the order of costs where that is settled."""
        for space in sorted(self._changed):
            since = self._since(space)
            if self._judged.get(space) != since and self._clock() >= self._settled_at(space):
                self._judged[space] = since
                for owner, pods in self._owners(space):
                    self._judge_order(owner, pods)
        if self.broken:
            raise self.broken[0]

    def note_begun(self, by: str, method: str, path: str, body: bytes) -> None:
        del body
        if method == "PATCH" or path.endswith("/binding"):
            self._sent[by, pod_key(path)] = self._clock()

    # What is written

    def _take(self, change: Change) -> None:
        old, new, now = change.old, change.new, self._clock()
        match change.resource:
            case "leases" if new is not None and leads(change):
                holder = change.by if new["spec"]["holderIdentity"] else None
                if holder != self._holder:
                    self._holder, self._led_since = holder, now
            case "nodes" | "namespaces":
                if old is None or new is None or _labels(old) != _labels(new):
                    for space in self._store.all("namespaces"):
                        self._changed[space] = now
            case "pods":
                self._take_pod(change)

    def _take_pod(self, change: Change) -> None:
        old, new, now = change.old, change.new, self._clock()
        some: Json = new or old or {}
        space, uid = some["metadata"]["namespace"], some["metadata"]["uid"]
        ours = is_extender(change.by.partition("/")[0])
        if old is None or new is None or _matters(old) != _matters(new):
            self._changed[space] = now
        if ours and (new is None or _is_going(new) > (old is not None and _is_going(old))):
            self._break("deleted for a scale-down", change.key)
        if new is None:
            return
        before = (None, None) if old is None else costs_of(old)
        if ours and old is not None:
            self._judge_write(change, old, new)
        elif before != costs_of(new):
            self._edited[uid] = self._changed[space] = now
            self.counts["costs of users"] += 1

    def _judge_write(self, change: Change, old: Json, new: Json) -> None:
        key, placed = change.key, not old["spec"].get("nodeName") and new["spec"].get("nodeName")
        if _beside(old) != _beside(new):
            self._break("more than costs written", key)
        if costs_of(old) == costs_of(new):
            return
        cost, mark = costs_of(new)
        if cost != mark:
            self._break("more than costs written", f"{key}: cost {cost}, marked as {mark}")
        if _is_of_user(old) and not (placed and self._is_news(change)):
            self._break("cost of a user changed", f"{key}: from {costs_of(old)} to {cost}")
        if cost is not None and not self._is_due(new):
            self._break("cost where none is due", f"{key}: {cost}")
        self.counts["costs with Bindings" if placed else "patches"] += 1
        if not placed:
            self._judge_patch(change)

    def _is_news(self, change: Change) -> bool:
        """Tell whether the user's cost came in the very moment of the bind."""
        uid = (change.new or {})["metadata"]["uid"]
        sent = self._sent.get((change.by, change.key), self._clock())
        lost = self._edited.get(uid, 0.0) >= self._known_since("pods", sent)
        self.counts["lost to a Binding"] += lost
        return lost

    def _judge_patch(self, change: Change) -> None:
        """See who sends a patch, how many there were in its minute, and that one was needed."""
        now, key = self._clock(), change.key
        sent = self._sent.get((change.by, key), now)
        if now - sent > WAITED_SECONDS:
            self.counts["late"] += 1
            return
        space, most = key.partition("/")[0], self._settings.per_minute
        if self._holder != change.by:
            self._break("two replicas patch", f"{key} by {change.by}, {self._holder} leads")
        self._patches.append((sent, change.by, space))
        while self._patches[0][0] <= sent - MINUTE:
            self._patches.popleft()
        # A new leader knows of none of its predecessor's, but it settles first.
        settles = self._settings.settle >= MINUTE
        recent = [
            each
            for at, by, each in self._patches
            if sent - MINUTE < at <= sent and (settles or by == change.by)
        ]
        if len(recent) > most or 2 * recent.count(space) > most:
            about = f"{key} is number {len(recent)}, {recent.count(space)} of its namespace"
            self._break("too many patches in a minute", f"{about}, of {most}")
        if sent > self._settled_at(space):
            self._break("patches without end", f"{key} after {sent - self._since(space):.0f} s")

    def _is_due(self, pod: Json) -> bool:
        owners = [each for each in pod["metadata"].get("ownerReferences", ()) if each["controller"]]
        spaces = {key: _labels(each) for key, each in self._store.all("namespaces").items()}
        # The record of an annotation may be written a while later.
        found = topologies(pod, spaces, recorded=False)
        return any(each["kind"] in LOOKING for each in owners) and bool(found)

    def _break(self, name: str, about: str) -> None:
        self.broken.append(BrokenError(name, about, (about.partition(":")[0].partition(" ")[0],)))

    # The order

    def _since(self, space: str) -> float:
        since: float = max(self._changed.get(space, 0.0), self._undisturbed(), self._led_since)
        return since

    def _settled_at(self, space: str) -> float:
        """Return when the costs of a namespace have to be in order, if nothing else happens."""
        pods = [each for each in self._store.all("pods").values() if is_live(each)]
        own = sum(each["metadata"]["namespace"] == space for each in pods)
        most = self._settings.per_minute
        minutes = max(own // max(most // 2, 1), len(pods) // most) + 1
        settled: float = self._settings.settle + minutes * MINUTE + SLACK_SECONDS
        return self._since(space) + settled

    def _owners(self, space: str) -> Iterator[tuple[str, Sequence[Json]]]:
        owned: defaultdict[str, list[Json]] = defaultdict(list)
        for each in self._store.all("pods").values():
            owner = owner_of(each)
            if owner is not None and is_live(each) and each["metadata"]["namespace"] == space:
                owned[owner].append(each)
        yield from sorted(owned.items())

    def _judge_order(self, owner: str, pods: Sequence[Json]) -> None:
        """Take down a scale-down that would take a pod of the wrong domain."""
        if not all(_is_ready(each) and self._is_due(each) for each in pods):
            return
        if any(_is_of_user(each) for each in pods):
            self.counts["orders with costs of users"] += 1
            return
        nodes, key = self._store.all("nodes"), self._first_topology(pods)
        if key is None or any(each["spec"]["nodeName"] not in nodes for each in pods):
            return
        self.counts["orders"] += 1
        self.counts["pods in order"] += len(pods)
        together = Counter(each["spec"]["nodeName"] for each in pods)
        ranks = {
            key_of(each): (int(costs_of(each)[0] or 0), -together[each["spec"]["nodeName"]])
            for each in pods
        }
        domains = {
            key_of(each): _labels(nodes[each["spec"]["nodeName"]]).get(key, "") for each in pods
        }
        why = wrongly_taken(ranks, domains)
        if why is not None:
            costs = ", ".join(
                f"{name} {domains[name]} {rank[0]}" for name, rank in sorted(ranks.items())
            )
            self._break("scaled down out of order", f"{owner}: {why}, by {key}: {costs}")

    def _first_topology(self, pods: Iterable[Json]) -> str | None:
        """Return by which topology pods are spread first, None if that is not said."""
        spaces = {key: _labels(each) for key, each in self._store.all("namespaces").items()}
        found = {frozenset(topologies(each, spaces)) for each in pods}
        if len(found) != 1:
            return None
        keys = next(iter(found))
        first = keys - {HOST} or keys
        return next(iter(first)) if len(first) == 1 else None


def wrongly_taken(ranks: Mapping[str, tuple[int, int]], domains: Mapping[str, str]) -> str | None:
    """Say how a scale-down, of some number, may leave domains uneven that need not be.

    Pods go by rank, the lowest first, and equal ones in any order. A domain may have fewer pods
    than another less one only if none of its own were taken. Pods without a domain do not count.
    """
    whole = Counter(each for each in domains.values() if each)
    left: Counter[str] = Counter(whole)
    for _, group in groupby(sorted(ranks, key=lambda name: ranks[name]), key=ranks.__getitem__):
        tied = Counter(domains[name] for name in group)
        size = tied.total()
        for rich, poor in permutations(whole, 2):
            for taken in range(1, size + 1):
                from_poor = min(taken, tied[poor])
                from_rich = max(taken - from_poor - (size - tied[poor] - tied[rich]), 0)
                here, there = left[rich] - from_rich, left[poor] - from_poor
                if from_poor and here > there + 1 and there < whole[poor]:
                    return f"{there} left of {whole[poor]} in {poor}, and {here} in {rich}"
        left -= tied
    return None


def topologies(
    pod: Json, spaces: Mapping[str, Mapping[str, str]], *, recorded: bool = True
) -> set[str]:
    """Return the topology keys of a pod's anti-affinity that is about the pod itself.

    That of its annotation counts once it is on record, if it has to be `recorded`.
    """
    annotation = (pod["metadata"].get("annotations") or {}).get(AFFINITY)
    said = [pod]
    conditions = pod["status"].get("conditions", ())
    if annotation and not (recorded and all(each["type"] != RECORD for each in conditions)):
        said.append({**pod, "spec": {"affinity": json.loads(annotation)}})
    terms = [
        *(term for each in said for term in anti_terms(each)),
        *(term for each in said for term, sign in weighted_terms(each) if sign < 0),
    ]
    return {each["topologyKey"] for each in terms if speaks_of(each, pod, pod, spaces)}


def costs_of(pod: Json) -> Costs:
    annotations = pod["metadata"].get("annotations") or {}
    return annotations.get(COST), annotations.get(GIVEN)


def _is_of_user(pod: Json) -> bool:
    """Tell whether the second annotation does not say that the cost is the extender's."""
    cost, mark = costs_of(pod)
    return cost is not None and cost != mark


def _beside(pod: Json) -> Any:
    """Return what costs have no part in, but for the status and the node."""
    metadata = {name: each for name, each in pod["metadata"].items() if name != "resourceVersion"}
    notes = {
        name: each
        for name, each in (metadata.pop("annotations", None) or {}).items()
        if name not in {COST, GIVEN}
    }
    spec = {name: each for name, each in pod["spec"].items() if name != "nodeName"}
    return metadata, notes, spec


def _matters(pod: Json) -> Any:
    """Return what a pod's cost, or that of others, depends on."""
    conditions = pod["status"].get("conditions", ())
    recorded = any(each["type"] == RECORD for each in conditions)
    return pod["spec"], _labels(pod), _is_going(pod), _is_ready(pod), is_live(pod), recorded


def _is_ready(pod: Json) -> bool:
    said = pod["status"].get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in said)
    return ready and bool(pod["spec"].get("nodeName")) and not _is_going(pod)


def _is_going(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _labels(obj: Json) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels
