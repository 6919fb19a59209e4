"""What a control plane did, entry by entry: calls of the extender, events of pods, users' deeds."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

JSON: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["call", "event", "condition", "deed"]

BACKED_OFF_SECONDS: Final = 0.9
"""The first back-off is a second, and is counted from a moment before the refusal is told."""


@dataclass(slots=True)
class Entry:
    """One thing that happened; a call's words grow when it is answered."""

    kind: Kind
    pod: str
    """The name, "" for a deed, which may concern every pod."""
    words: str
    at: float
    ended: float
    """When it was answered."""


@dataclass(slots=True)
class Log:
    """All entries in order, and the version up to which events have been told."""

    entries: list[Entry] = field(default_factory=list)
    version: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, kind: Kind, pod: str, words: str) -> Entry:
        """Add an entry."""
        entry = Entry(kind, pod, words, _now(), _now())
        self.entries.append(entry)
        self._changed.set()
        return entry

    def finish(self, entry: Entry, result: str) -> None:
        """Add the answer to a call."""
        entry.words += f": {result}"
        entry.ended = _now()
        self._changed.set()

    def take(self, old: JSON | None, new: JSON | None, version: int) -> None:
        """Note what an event tells about a pod."""
        name = (new or old or {})["metadata"]["name"]
        for kind, words in changes(old, new):
            self.note(kind, name, words)
        self.reach(version)

    def reach(self, version: int) -> None:
        """Note that all events up to a version have been told."""
        self.version = version
        self._changed.set()

    async def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Return as soon as a condition holds; several may wait."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            lines = "\n".join(f"{e.at:10.3f} {e.pod:12} {e.words}" for e in self.entries)
            raise AssertionError(f"still waiting after {seconds} s for {what}:\n{lines}") from None

    async def quiet(self, seconds: float) -> None:
        """Return once nothing has happened for a while."""
        start = _now()
        while (left := max(start, self._last) + seconds - _now()) > 0:  # noqa: ASYNC110 (silence)
            await asyncio.sleep(left)

    @property
    def _last(self) -> float:
        return max((entry.ended for entry in self.entries), default=0.0)

    def has(self, pod: str, words: str, times: int) -> bool:
        """Tell whether something has happened to a pod so many times."""
        found = [e for e in self.entries if e.pod == pod and e.words.startswith(words)]
        return len(found) >= times

    def steps(self, pod: str) -> list[str]:
        """Return what happened to a pod and around it, in order, without the conditions.

        The scheduler writes conditions beside its work, so that their place among the calls is
        left to chance.
        """
        found: list[str] = []
        free = math.inf
        for entry in self.entries:
            if entry.kind == "condition" or entry.pod not in {pod, ""}:
                continue
            waited = entry.kind == "call" and entry.at - free >= BACKED_OFF_SECONDS
            found.append(f"{AFTER_BACK_OFF}{entry.words}" if waited else entry.words)
            if entry.kind == "call":
                free = entry.ended
            elif entry.at > free:
                free = math.inf  # it may have been waiting for this
        return found

    def conditions(self, pod: str) -> list[str]:
        """Return the reasons of a pod's condition PodScheduled, in order.

        Of a member of a pod group also that it was nominated; how often is left to chance.
        """
        words = [e.words for e in self.entries if e.kind == "condition" and e.pod == pod]
        return [
            each
            for number, each in enumerate(words)
            if each != "nominated" or each not in words[:number]
        ]

    def pods(self) -> list[str]:
        """Return the names of all pods that anything has happened to."""
        return sorted({entry.pod for entry in self.entries} - {""})


AFTER_BACK_OFF: Final = "after back-off: "


def changes(old: JSON | None, new: JSON | None) -> list[tuple[Kind, str]]:
    """Say what has changed about a pod; times, messages and phases are nothing to speak of."""
    if new is None:
        return [("event", "gone")]
    if old is None:
        return [("event", f"placed on {_node(new)}" if _node(new) else "created")]
    found: list[tuple[Kind, str]] = []
    if _node(new) != _node(old):
        found.append(("event", "bound"))
    elif _nominated(new) != _nominated(old):
        if not new["spec"].get("schedulingGroup"):
            found.append(("event", "nominated" if _nominated(new) else "nomination withdrawn"))
        elif _nominated(new):
            # While members wait for each other; written beside the next calls.
            found.append(("condition", "nominated"))
    if "deletionTimestamp" in new["metadata"] and "deletionTimestamp" not in old["metadata"]:
        found.append(("event", "deleting"))
    if _reason(new) != _reason(old) and _reason(new):
        found.append(("condition", _reason(new)))
    return found


def _node(pod: JSON) -> str:
    return str(pod["spec"].get("nodeName") or "")


def _nominated(pod: JSON) -> str:
    return str((pod.get("status") or {}).get("nominatedNodeName") or "")


def _reason(pod: JSON) -> str:
    """Return why a pod is not scheduled; simulated pods have no list of conditions for that."""
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled":
            return str(condition.get("reason") or "")
    return str(status.get("reason") or "")


def _now() -> float:
    return asyncio.get_running_loop().time()
