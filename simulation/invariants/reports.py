"""What an extender reports, by its page alone, held against what the API server has stored.

While the cluster changes, a report may be as old as a round. So only pods that are long gone count
as wrong then; of a cluster that stands still, all of it has to be right.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec
from aiohttp.test_utils import make_mocked_request

from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.parts import Part
from simulation.apiserver.store import Change, Json, Store, is_live, key_of
from simulation.invariants.broken import BrokenError
from simulation.invariants.counted import Stored, agrees, canonical
from simulation.invariants.execution import AFFINITY
from simulation.invariants.rules import affinity_terms, anti_terms, speaks_of
from simulation.loop import spawn

ASK_SECONDS: Final = 10.0
ROUND_SECONDS: Final = 60.0
"""So old may what is reported be; a cluster that was known and has stood still is known by then."""
AUDIT_SECONDS: Final = 60.0
"""For what an audit looks at beside tables."""
PATH: Final = "/violations"
ALL: Final = f"{PATH}?limit=10000"
BROKEN: Final = "affinity_extender_violations"
ALARMS: Final = "affinity_extender_consistency_mismatches_total"
FALSE: Final = "reported though it is not so"

Place: TypeAlias = tuple[str, str]
"""The kind of a rule, and the domain that it is broken in."""


class Reporting(Protocol):
    name: str
    state: ClusterState
    parts: Sequence[Part]
    metrics: Metrics | None

    @property
    def ready(self) -> bool: ...

    @property
    def awake(self) -> bool: ...


class Report(NamedTuple):
    rules: Sequence[Json]
    number: int
    gauge: Mapping[str, float]
    """How many rules are broken, by kind, as the metric says."""


class Reports:
    """Asks each extender now and then."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        unknown_since: Callable[[str, float], float],
    ) -> None:
        self.broken: list[BrokenError] = []
        self.judged = 0
        """Reports that were compared with a cluster that stood still."""
        self._store = store
        self._clock = clock
        self._unknown_since = unknown_since
        self._version = 0
        """Of what was written last that rules depend on."""
        self._left: dict[str, float] = {}
        """When the last pod of a name lost its place."""
        self._agreed: dict[str, tuple[int, float]] = {}
        """At which version each extender has known everything, and since when."""
        self._judged: dict[str, int] = {}
        self._next = 0.0
        store.observers.append(self.take)

    def take(self, change: Change) -> None:
        if change.resource != "pods":
            if change.resource in {"nodes", "namespaces"}:
                self._version = change.version
            return
        old, new = _standing(change.old), _standing(change.new)
        if old != new:
            self._version = change.version
        if new is not None:
            self._left.pop(change.key, None)
        elif old is not None:
            self._left[change.key] = self._clock()

    def note_begun(self, by: str, method: str, path: str, _body: bytes) -> None:
        """See that an extender that is only to look asks for no eviction."""
        if method == "POST" and path.endswith("/eviction"):
            self._break("evicted by one that only looks", f"{path} by {by}")

    def look(self, living: Iterable[Reporting]) -> None:
        """Ask each that is about to know the cluster, and now and then each that does."""
        if self.broken:
            raise self.broken[0]
        due = self._clock() >= self._next
        if due:
            self._next = self._clock() + ASK_SECONDS
        for alive in living:
            if alive.awake and (due or not alive.ready):
                spawn(
                    self._judge(alive, still=alive.ready and self._stands_still(alive)), alive.name
                )

    def _stands_still(self, alive: Reporting) -> bool:
        """Tell whether an extender has known for a round what is still so, and said nothing yet."""
        version, now = self._version, self._clock()
        if alive.state.reservations or not agrees(alive.state, self._store):
            self._agreed.pop(alive.name, None)
            return False
        at, since = self._agreed.get(alive.name, (version, now))
        self._agreed[alive.name] = at, since = (version, now if at != version else since)
        return now - since >= ROUND_SECONDS and self._judged.get(alive.name) != version

    async def _judge(self, alive: Reporting, *, still: bool) -> None:
        version, ready = self._version, alive.ready
        report = await report_of(alive)
        if report is None:
            return
        if not ready and not alive.ready:
            self._break("reported before all was listed", alive.name)
        for key in _named(report) if alive.ready else ():
            left = self._left.get(key)
            now = self._clock()
            if left is not None and left < self._unknown_since("pods", now) - ROUND_SECONDS:
                self._break(FALSE, f"{key} is gone since {left:.1f}", key)
        if still and version == self._version and not alive.state.reservations:
            self._judged[alive.name] = version
            self.judged += 1
            for invariant, about in differences(report, Stored(self._store)):
                self._break(invariant, f"{alive.name}: {about}")
        if alarms := _values(alive.metrics, ALARMS, "")[""]:
            # The simulation's own recount, twice a minute, has found no counter that is wrong.
            self._break("alarm about right counters", f"{alive.name}: {alarms:g}")

    def _break(self, invariant: str, about: str, *words: str) -> None:
        self.broken.append(BrokenError(invariant, about, words))


async def report_of(alive: Reporting) -> Report | None:
    """Return what an extender answers people now; None where it refuses to, or has no such page."""
    routes = (route for part in alive.parts for route in part.routes if route.path == PATH)
    if (route := next(routes, None)) is None:
        return None
    answer = await route.get(make_mocked_request("GET", ALL))
    if answer.status != 200:
        return None
    body: Any = answer.body
    said = msgspec.json.decode(body if isinstance(body, bytes) else body.decode())
    return Report(said["rules"], said["rulesCount"], _values(alive.metrics, BROKEN, "rule"))


async def judge_audit(alive: Reporting, chance: Random) -> None:
    """Make a counter wrong, and see that the audit of an extender comes to tell of it."""
    state = alive.state
    sets = (each.table for each in state.matching_sets if each.pending is None)
    tables = [*(each.owners for each in state.existing_terms), *sets]
    wrong = [each for each in tables if each.counts]
    if not wrong:
        return
    table = chance.choice(wrong)
    table.counts[chance.choice(sorted(table.counts))] += 1
    # One table a second, and what begins in the middle of a round comes in the next.
    await asyncio.sleep(AUDIT_SECONDS + 2.0 * len(tables))
    if not _values(alive.metrics, ALARMS, "")[""]:
        raise BrokenError("wrong counter not told", f"{alive.name}: one of {len(tables)}", ())


def differences(report: Report, stored: Stored) -> Iterator[tuple[str, str]]:
    """Yield the invariants that a report of a cluster that stands still breaks, and how.

    Of rules in annotations it only depends on records whether they count: they are left out.
    """
    pods = {key_of(pod): pod for pod, _ in stored.placed}
    there: dict[tuple[object, ...], Place] = {}
    shown: set[tuple[str, str, Place]] = set()
    for owner, other, term, place in _broken(stored):
        there[canonical(term, owner.partition("/")[0]), term["topologyKey"], place] = place
        shown.add((owner, other, place))
    told = Counter((each["rule"], each["domain"]) for each in report.rules)
    for each in report.rules:
        place = each["rule"], each["domain"]
        owner, other = each["owner"], each["other"] or ""
        if (owner not in pods or not _annotated(pods[owner])) and (
            owner,
            other,
            place,
        ) not in shown:
            yield FALSE, f"{owner} breaks no {place[0]} in {place[1]}, by {other}"
    for place, number in (Counter(there.values()) - told).items():
        yield "broken rule not reported", f"{number} of {place[0]} in {place[1]}"
    if not any(map(_annotated, pods.values())):
        for place, number in (told - Counter(there.values())).items():
            yield "reported more than once", f"{number} of {place[0]} in {place[1]}"
    kinds = Counter(each["rule"] for each in report.rules)
    if report.number != len(report.rules) or kinds != +Counter(report.gauge):
        about = f"{report.number} and {dict(report.gauge)} of {dict(kinds)}"
        yield "reports differ from each other", about


def _broken(stored: Stored) -> Iterator[tuple[str, str, Json, Place]]:
    """Yield each owner of a broken term of a spec with each pod that breaks it, "" for none."""
    domains: dict[tuple[str, str], list[Json]] = {}
    for pod, node in stored.placed:
        for domain in stored.nodes.get(node, {}).items():
            domains.setdefault(domain, []).append(pod)
    for pod, node in stored.placed:
        if (labels := stored.nodes.get(node)) is None:
            continue
        there = {key: domains[key, value] for key, value in labels.items()}
        for term in map(dict, anti_terms(pod)):
            key = term["topologyKey"]
            for other in there.get(key, ()):
                if other is not pod and speaks_of(term, pod, other, stored.spaces):
                    place = "antiAffinity", f"{key}={labels[key]}"
                    yield key_of(pod), key_of(other), term, place
        for term in _lonely(pod, there, stored):
            key = term["topologyKey"]
            where = f"{key}={labels[key]}" if key in labels else f"a node without the label {key}"
            yield key_of(pod), "", term, ("affinity", where)


def _lonely(pod: Json, there: Mapping[str, Sequence[Json]], stored: Stored) -> Iterator[Json]:
    """Yield the required terms for which no pod of the domain, itself among them, meets all."""
    terms = [*map(dict, affinity_terms(pod))]
    for term in terms:
        if not any(
            all(speaks_of(each, pod, other, stored.spaces) for each in terms)
            for other in there.get(term["topologyKey"], ())
        ):
            yield term


def _annotated(pod: Json) -> bool:
    return AFFINITY in (pod["metadata"].get("annotations") or {})


def _named(report: Report) -> set[str]:
    keys = ((each["owner"], each["other"]) for each in report.rules)
    return {key for both in keys for key in both if key}


def _standing(pod: Json | None) -> tuple[object, ...] | None:
    """Return what rules depend on of a pod that has a place."""
    if pod is None or not is_live(pod) or not pod["spec"].get("nodeName"):
        return None
    metadata = pod["metadata"]
    return metadata["uid"], pod["spec"]["nodeName"], metadata["labels"], metadata.get("annotations")


def _values(metrics: Metrics | None, name: str, label: str) -> Counter[str]:
    """Return the sums of a metric's series by one of their labels."""
    found: Counter[str] = Counter()
    if metrics is not None:
        for family in metrics.make.registry.restricted_registry([name]).collect():
            for sample in family.samples:
                if not sample.name.endswith("_created"):
                    found[sample.labels.get(label, "")] += sample.value  # type: ignore[assignment]
    return found
