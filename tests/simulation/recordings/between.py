"""Stands between a scheduler and the extender: writes calls down, holds them back, spoils them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final

from tests.simulation.recordings.log import JSON, Log

LATE_SECONDS: Final = 2.0
"""Within which the watch tells what the scheduler knew when it called."""

Forward = Callable[[bytes], Awaitable[bytes]]


class LostError(Exception):
    """The connection is to be closed without an answer."""


class Between:
    """Passes calls on, one entry for each."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._to_hold: set[tuple[str, str]] = set()
        self._held: dict[tuple[str, str], asyncio.Event] = {}
        self._faults: set[tuple[str, str]] = set()
        self._to_lose: set[tuple[str, str]] = set()

    def hold(self, verb: str, pod: str) -> None:
        """Keep back the next such call, after writing it down, until it is released."""
        self._to_hold.add((verb, pod))

    def release(self, verb: str, pod: str) -> None:
        """Pass on what was kept back."""
        self._held.pop((verb, pod)).set()

    def spoil(self, verb: str, pod: str) -> None:
        """Answer the next such call with an error, without asking the extender."""
        self._faults.add((verb, pod))

    def lose(self, verb: str, pod: str) -> None:
        """Let the answer to the next such call be lost."""
        self._to_lose.add((verb, pod))

    async def call(self, verb: str, body: bytes, forward: Forward) -> bytes:
        """Pass on one call, and return the answer.

        A call names the version of the pod that the scheduler has. What came before that version
        has come before the call, whichever of the two reaches us first.
        """
        args = json.loads(body)
        pod = args["PodName"] if verb == "bind" else args["Pod"]["metadata"]["name"]
        if verb != "bind":
            version = int(args["Pod"]["metadata"]["resourceVersion"])
            await self._log.until(
                lambda: self._log.version >= version, LATE_SECONDS, f"version {version}"
            )
        about = (verb, pod)
        held = " (held back)" if about in self._to_hold else ""
        entry = self._log.note("call", pod, asked(verb, args) + held)
        if held:
            self._to_hold.remove(about)
            self._held[about] = asyncio.Event()
            await self._held[about].wait()
        if about in self._faults:
            self._faults.remove(about)
            answer = json.dumps({"Error": "spoilt on purpose"}).encode()
        else:
            answer = await forward(body)
        result = answered(verb, json.loads(answer))
        if about in self._to_lose:
            self._to_lose.remove(about)
            self._log.finish(entry, f"{result}, answer lost")
            raise LostError
        self._log.finish(entry, result)
        return answer


def asked(verb: str, args: JSON) -> str:
    """Say what a call asks."""
    match verb:
        case "bind":
            return "bind"
        case "preempt":
            found = args.get("NodeNameToMetaVictims") or args.get("NodeNameToVictims") or {}
            return f"preempt on {len(found)}"
        case _:
            return f"{verb} {len(args['NodeNames'])}"


def answered(verb: str, answer: JSON) -> str:
    """Say in a word what the answer is; scores are no part of the order of things."""
    match verb:
        case "prioritize":
            return "scored"
        case _ if answer.get("Error"):
            return "error"
        case "filter":
            return f"{len(answer.get('NodeNames') or ())} fit"
        case "preempt":
            return f"{len(answer.get('NodeNameToMetaVictims') or ())} left"
        case _:
            return "done"
