"""What the program keeps about the cluster: right, bounded, and given up in the end."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from extender.core.callbacks.in_flight import SCORE_HOLD_SECONDS
from extender.core.cluster.ledgers.reservations import CONFIRMED_SECONDS, RESERVATION_SECONDS
from extender.core.cluster.state import ClusterState
from simulation.apiserver.store import Store, is_live
from simulation.invariants.broken import BrokenError
from simulation.invariants.features import judges
from simulation.invariants.recount import (
    mismatches,
    nominated_mismatches,
    room_mismatches,
)

DEADLINES: Final[Mapping[str, float]] = {
    "filter": 0.1,
    "prioritize": SCORE_HOLD_SECONDS + 0.1,
    "bind": 4.1,
    "preempt": 3.0,
}
"""Seconds within which each callback is answered; code takes no simulated time."""
ASSISTING_SECONDS: Final = 0.5
MOST_RESERVATIONS: Final = 2_000


def check_counters(state: ClusterState) -> None:
    wrong = [*map(str, mismatches(state)), *room_mismatches(state)]
    wrong += nominated_mismatches(state)
    for judge in judges():
        wrong += judge.mismatches(state)
    if wrong:
        raise BrokenError("counters differ from a recount", ", ".join(wrong[:3]), ())


def check_reservations(state: ClusterState, now: float) -> None:
    """Raise when a place is reserved without an end."""
    longest = max(CONFIRMED_SECONDS, RESERVATION_SECONDS)
    if len(state.reservations) > MOST_RESERVATIONS:
        raise BrokenError("registry out of bounds", f"{len(state.reservations)} reservations", ())
    for each in state.reservations:
        if not each.claims:
            raise BrokenError("reservation without a claim", each.pod.key, (each.pod.key,))
        if each.deadline > now + longest + 1.0 or each.deadline < now - 5.0:
            raise BrokenError("reservation without an end", each.pod.key, (each.pod.key,))


def check_answers(slowest: Mapping[str, float], *, assisting: bool = False) -> None:
    """Raise when an answer came late; filter may wait for the pod before to be bound elsewhere."""
    for verb, seconds in slowest.items():
        if seconds > DEADLINES[verb] + ASSISTING_SECONDS * (assisting and verb == "filter"):
            raise BrokenError("callback after its deadline", f"{verb} took {seconds:.3f} s", ())


def check_mirror(state: ClusterState, store: Store, news: Container[str]) -> None:
    """Raise when, in the calm, the program knows anything else than what there is.

    `news` are the keys of pods that have only just changed.
    """
    stored = {key: each for key, each in store.all("pods").items() if is_live(each)}
    known = {key: (pod.uid, pod.node) for key, pod in state.pods.items()}
    truth = {
        key: (each["metadata"]["uid"], each["spec"].get("nodeName")) for key, each in stored.items()
    }
    for key in sorted({*known, *truth}):
        if key not in news and known.get(key) != truth.get(key):
            about = f"{key} is {truth.get(key)}, known as {known.get(key)}"
            raise BrokenError("mirror differs from the cluster", about, (key,))
    shown: dict[str, str | None] = {pod.key: pod.status.nominated for pod in state.nominated.shown}
    nominated: dict[str, str | None] = {
        key: each["status"].get("nominatedNodeName")
        for key, each in stored.items()
        if not each["spec"].get("nodeName")
    }
    for key in sorted({*shown, *nominated}):
        if key not in news and shown.get(key) != nominated.get(key):
            about = f"{key} is nominated to {nominated.get(key)}, known as to {shown.get(key)}"
            raise BrokenError("mirror differs from the cluster", about, (key,))
    if set(state.nodes) != set(store.all("nodes")):
        raise BrokenError("mirror differs from the cluster", "nodes", ())
    for each in state.reservations:
        if each.pod.key in news:
            continue
        about = f"{each.pod.key} on {each.pod.node}"
        raise BrokenError("reservation outlives its bind", about, (each.pod.key,))
