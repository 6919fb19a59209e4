"""Lists what is left of the extender on objects of a cluster, and removes it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from time import time
from typing import TYPE_CHECKING, Final

from affinityctl.commands.leftovers.answer import Left, Leftovers
from affinityctl.commands.leftovers.finding import (
    LEASE,
    NAMESPACE,
    OBJECT,
    POD,
    Marked,
    Remnant,
    marked,
)
from affinityctl.reading.api_server import api_server
from affinityctl.reading.sources import PassedOver, read_objects
from affinityctl.terminal.printing import Named, columns, named_lines, printed, show
from affinityctl.terminal.progress import Progress
from extender.core.command_line import DONE, NOT_FINE, complain
from extender.core.config.features import defaults, lease_name
from extender.core.errors import ApiError, ConfigError, ObjectError
from extender.core.model.wording import plural, some
from extender.core.offline import ClusterFileError

if TYPE_CHECKING:
    from extender.core.kube.client import ApiClient

LISTED: Final[Mapping[str, str]] = {
    POD: "/api/v1/pods",
    NAMESPACE: "/api/v1/namespaces",
}
NAMESPACE_BY_DEFAULT: Final = "kube-system"
"""Of the Lease, as the manifests have it."""
TRIES: Final = 3
"""Of a list that took longer than the API server keeps its version, five minutes by default."""
AT_ONCE: Final = 8
"""Objects that are changed at a time."""
MOST_REFUSED: Final = 100
"""Objects that may not be changed, after which no other is tried if none could be."""

Done = set[tuple[int, Remnant]]
"""What was removed, each by the number of its object."""


def run(flags: argparse.Namespace) -> int:
    leases: list[str] = flags.lease or [f"{NAMESPACE_BY_DEFAULT}/{lease_name(defaults()).name}"]
    for each in leases:
        if each.count("/") != 1:
            raise ConfigError("--lease", f"{each!r} is not NAMESPACE/NAME")
    if flags.also_yours and not flags.remove:
        raise ConfigError("--also-yours", "is for --remove")
    if flags.cluster:
        if flags.remove:
            raise ConfigError("--remove", "has no use beside --cluster, which is a file")
        found, done = _of_files(flags, leases), Done()
    else:
        found, done = asyncio.run(_of_cluster(flags, leases))
    told, text = partial(_told, found, done), partial(_text, found, done, removes=flags.remove)

    def names() -> str:
        about = ((each.kind.lower(), each.metadata) for each in found)
        return named_lines(Named(kind, of.namespace or "", of.name) for kind, of in about)

    show(printed(flags.output, told, text, names), flags.output)
    there = (one for one in _each(found) if not one[2].by_user or flags.also_yours)
    return NOT_FINE if any((number, each) not in done for number, _, each in there) else DONE


def _each(found: Sequence[Marked]) -> Iterator[tuple[int, Marked, Remnant]]:
    for number, one in enumerate(found):
        for each in one.remnants:
            yield number, one, each


# From files


def _of_files(flags: argparse.Namespace, leases: Sequence[str]) -> list[Marked]:
    found = []
    for path in flags.cluster:
        passed = PassedOver()
        for each in read_objects(path, passed, of_cluster=True):
            if each.kind not in {*LISTED, LEASE}:
                if flags.verbose:
                    passed.add(each.kind, each.where)
                continue
            try:
                one = marked(each.kind, each.content, leases)
            except ObjectError as error:
                raise ClusterFileError(f"{each.where} ({each.kind}): {error}") from error
            found += [one] if one else []
        passed.note(path, verbose=flags.verbose)
    return found


# From an API server


async def _of_cluster(
    flags: argparse.Namespace, leases: Sequence[str]
) -> tuple[list[Marked], Done]:
    progress = Progress(things="objects")
    progress.begin()
    async with api_server(flags) as client:
        found = [one for kind in LISTED for one in await _list(client, kind, progress)]
        found += [one for lease in leases for one in await _get_lease(client, lease)]
        done = await _remove(flags, client, found, progress) if flags.remove else Done()
    progress.wipe()
    return found, done


async def _list(client: ApiClient, kind: str, progress: Progress) -> list[Marked]:
    from affinityctl.reading.listing import list_pages  # noqa: PLC0415 - 40 MB of models come along

    for last in (False,) * (TRIES - 1) + (True,):
        found, seen = [], 0
        try:
            async for page in list_pages(client, LISTED[kind], {}):
                seen += len(page)
                found += [one for raw in page if (one := marked(kind, raw, ()))]
                progress.show(f"read {kind}", seen)
        except ApiError as error:
            if last or error.status != HTTPStatus.GONE:
                raise
        else:
            return found
    raise AssertionError("the last try returns or raises")


async def _get_lease(client: ApiClient, key: str) -> Iterable[Marked]:
    from extender.core.kube.calls import lease_path  # noqa: PLC0415 - imports aiohttp

    namespace, _, name = key.partition("/")
    try:
        raw = await client.get(lease_path(namespace, name), {})
    except ApiError as error:
        if not error.is_missing:
            raise
        return ()
    found = marked(LEASE, raw, (key,))
    return (found,) if found else ()


async def _remove(
    flags: argparse.Namespace, client: ApiClient, found: Sequence[Marked], progress: Progress
) -> Done:
    from affinityctl.commands.leftovers.removing import remove  # noqa: PLC0415 - imports aiohttp

    _refuse_while_it_runs(found)
    wanted = [
        (number, one, chosen)
        for number, one in enumerate(found)
        if (chosen := [each for each in one.remnants if not each.by_user or flags.also_yours])
    ]
    done, turns = Done(), iter(enumerate(wanted, 1))
    refused: list[tuple[Marked, ApiError]] = []

    async def take_turns() -> None:
        for count, (number, one, chosen) in turns:
            try:
                if await remove(client, one, chosen):
                    done.update((number, each) for each in chosen)
            except ApiError as error:
                # By a webhook about one namespace; or all, for want of a right.
                refused.append((one, error))
                if not done and len(refused) >= MOST_REFUSED:
                    raise
            progress.show("removed from", count, len(wanted))

    await asyncio.gather(*(take_turns() for _ in range(AT_ONCE)))
    if refused:
        one, error = refused[0]
        if not done:
            raise error
        progress.wipe()
        name = "/".join(filter(None, (one.metadata.namespace, one.metadata.name)))
        such = f"{plural(len(refused), 'object')}, such as {one.kind} {name}"
        complain(f"it could not be removed from {such}: {error}")
    return done


def _refuse_while_it_runs(found: Iterable[Marked]) -> None:
    now = time()
    for each in found:
        if each.held_until > now:
            about, holder = each.metadata, each.remnants[0].value
            raise ConfigError(
                "--remove",
                f"{holder} holds the Lease {about.namespace}/{about.name}: what is removed would "
                "be written anew, so remove the installation first",
            )


# What is said


def _told(found: Sequence[Marked], done: Done) -> Leftovers:
    left: list[Left] = [
        {
            "kind": one.kind,
            "namespace": one.metadata.namespace,
            "name": one.metadata.name,
            "place": each.place,
            "key": each.key,
            "value": each.value,
            "writtenBy": "user" if each.by_user else "program",
            "removed": (number, each) in done,
        }
        for number, one, each in _each(found)
    ]
    return {"left": left, "count": sum(not each["removed"] for each in left)}


def _text(found: Sequence[Marked], done: Done, *, removes: bool) -> str:
    if not found:
        return "nothing is left of the extender on pods, namespaces and Leases"
    alike: dict[tuple[str, str, str], list[str]] = {}
    for _, one, each in _each(found):
        what = each.place if each.place == OBJECT else f"{each.place} {each.key}"
        written = "by you" if each.by_user else "by the program"
        about = one.metadata
        name = f"{about.namespace}/{about.name}" if about.namespace else about.name
        alike.setdefault((one.kind, what, written), []).append(name)
    rows = [
        (*of, f"{len(names):,}: {some(names, len(names))}") for of, names in sorted(alike.items())
    ]
    kept = [each for number, _, each in _each(found) if (number, each) not in done]
    ours = sum(not each.by_user for each in kept)
    parts = [columns(("ON", "WHAT", "WRITTEN", "OBJECTS"), rows)]
    if removes:
        parts.append(f"Removed {len(done):,}; {len(kept):,} are left.")
        if ours:
            parts.append(f"{ours:,} were changed meanwhile, or refused: call this again.")
    elif ours:
        parts.append("Nothing was removed. --remove removes what is written by the program.")
    return "\n\n".join(parts)
