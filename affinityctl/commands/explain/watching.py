"""Looks at a pod again and again until it has a node, and tells what has changed meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Final

import msgspec

from affinityctl.reading.api_server import api_server
from affinityctl.reading.chosen_pods import POD
from affinityctl.terminal.printing import wrapped
from extender.core.command_line import DONE, NOT_FINE, UNKNOWN, complain, say
from extender.core.errors import ApiError, ConfigError, ObjectError, UnreadableError
from extender.core.model.keys import Key
from extender.core.model.wording import some
from extender.core.wire.decoding import decode
from extender.diagnosis.verbs.explanation import Explanation
from extender.diagnosis.verbs.notes import Note
from extender.diagnosis.verbs.remedies import what_to_do
from extender.diagnosis.verbs.telling import headline, summary

SECONDS: Final = 5.0
"""Between two requests for the pod alone."""
FIRST: Final = 3
"""Of these, after which the whole cluster is listed anew if the pod has changed."""
LAST: Final = 12
"""The same, if it has not: its blockers may have."""

Looked = tuple[Explanation, Sequence[Note]]


def require_one(flags: argparse.Namespace) -> None:
    """Raise ConfigError unless the flags name one pod of a live cluster, told as text."""
    if flags.cluster or flags.filename is not None:
        raise ConfigError("--watch", "has no use beside a file, in which nothing changes")
    if len(flags.pods) != 1 or flags.output not in {"text", "wide"}:
        raise ConfigError("--watch", "name one pod, and no -o but wide")


def watch(
    look: Callable[[], Looked], tell: Callable[[Looked], str], wait: Callable[[Key], None]
) -> int:
    """Tell of a pod until it has a node, or the user has enough; return the exit code.

    `look` raises UnreadableError where the API server does not answer, and ConfigError for a pod
    that there is not: the first one ends it. `wait` returns when it is time for the next look.
    """
    last: Looked | None = None
    trouble = ""
    try:
        last = look()
        say(tell(last))
        while last[0].pod.node is None or last[0].held:
            wait(last[0].pod.key)
            try:
                now = look()
            except UnreadableError as error:
                if str(error) != trouble:
                    trouble = str(error)
                    complain(f"{_time()} not seen: {trouble}")
            except ConfigError as error:
                if error.path != POD:
                    raise
                say(f"{_time()} {last[0].pod.key} is gone: {error.message}")
                return NOT_FINE
            else:
                trouble = ""
                if lines := [*map(_line, changes(last, now))]:
                    say("\n".join(lines))
                last = now
        say(_line(f"{last[0].pod.key} has node {last[0].pod.node}"))
    except KeyboardInterrupt:
        return UNKNOWN if last is None or last[0].fits else NOT_FINE
    return DONE


def changes(before: Looked, now: Looked) -> Iterator[str]:
    """Say what is otherwise than it was: the verdict, its causes, who is in the way, remarks."""
    (old, old_notes), (new, new_notes) = before, now
    if headline(old) != headline(new):
        yield f"{new.pod.key} {headline(new)}"
    if summary(old) != summary(new):
        yield summary(new)
    were, are = _blockers(old), _blockers(new)
    if gone := sorted(were - are):
        yield f"no more in the way: {some(gone, len(gone))}"
    if come := sorted(are - were):
        yield f"now in the way: {some(come, len(come))}"
    yield from (f"Note: {each.text}" for each in new_notes if each not in old_notes)
    advice = what_to_do(new, new_notes)[:1]
    if advice != what_to_do(old, old_notes)[:1]:
        yield from (f"To do: {each}" for each in advice)


def _blockers(of: Explanation) -> set[str]:
    return {pod.key for each in of.refusals for pod in each.pods}


def _line(text: str) -> str:
    return wrapped(f"{_time()} {text}")


def _time() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Seen(msgspec.Struct):
    metadata: _Metadata


_SEEN: Final = msgspec.json.Decoder(_Seen)


def until_changed(flags: argparse.Namespace, pod: Key, seconds: float = SECONDS) -> None:
    """Return once a pod has changed, or LAST requests for it alone later."""
    try:
        asyncio.run(_until_changed(flags, pod, seconds))
    except (UnreadableError, ObjectError):
        time.sleep(seconds * FIRST)  # the next look says it, as of a proxy's page in its place


async def _until_changed(flags: argparse.Namespace, pod: Key, seconds: float) -> None:
    namespace, _, name = pod.partition("/")
    path, first = f"/api/v1/namespaces/{namespace}/pods/{name}", ""
    async with api_server(flags) as client:
        for number in range(LAST):
            try:
                raw = await client.get(path, {})
            except ApiError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    return
                raise
            version = decode(_SEEN, raw).metadata.resource_version
            first = first or version
            if version != first and number >= FIRST:
                return
            await asyncio.sleep(seconds)
