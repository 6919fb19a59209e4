"""The namespaces that a test makes for itself, and removes in the end."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

import msgspec

from clusterload.objects import Kind
from clusterload.watching import watching
from extender.core.errors import ExtenderError
from extender.core.kube.frames import read_metadata

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterload.objects import Objects
    from clusterload.progress import Progress
    from clusterload.schema import Namespaces
    from extender.core.kube.client import ApiClient

logger = logging.getLogger(__name__)

NAMESPACE = Kind("v1", "Namespace")
_PATH = "/api/v1/namespaces"
_STALE = re.compile(r"test-[a-z0-9]+-[0-9]+")


class _Namespace(msgspec.Struct, frozen=True):
    key: str
    uid: str


class OwnNamespaces:
    """The namespaces <prefix>-1 to <prefix>-<number> of one test."""

    def __init__(
        self, client: ApiClient, objects: Objects, settings: Namespaces, progress: Progress
    ) -> None:
        self._client = client
        self._objects = objects
        self._settings = settings
        self._progress = progress
        self._made: list[str] = []

    async def prepare(self) -> None:
        """Create the namespaces; one that exists already is an error, unless the test allows it."""
        settings = self._settings
        async with watching(self._client, _PATH, {}, _read) as namespaces:
            existing = set(namespaces.keys())
        own = re.compile(rf"{re.escape(settings.prefix)}-[1-9][0-9]*")
        leftover = sorted(name for name in existing if own.fullmatch(name))
        if leftover and not settings.enable_existing_namespaces:
            raise ExtenderError(f"namespaces of an earlier run are there: {', '.join(leftover)}")
        stale = [name for name in existing if _STALE.fullmatch(name) and name not in leftover]
        if stale and settings.delete_stale_namespaces:
            await self._delete(stale)
        for index in range(1, settings.number + 1):
            name = f"{settings.prefix}-{index}"
            if name not in existing:
                manifest = {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.name}
                await self._objects.create("", name, manifest)
            self._made.append(name)

    async def remove(self) -> None:
        """Delete the namespaces with all their objects, and return once they are gone."""
        if self._settings.delete_automanaged_namespaces:
            await self._delete(self._made)

    async def _delete(self, names: Collection[str]) -> None:
        timeout = self._settings.delete_namespace_timeout
        try:
            async with (
                asyncio.timeout(timeout.seconds if timeout else None),
                watching(self._client, _PATH, {}, _read) as namespaces,
            ):
                for name in names:
                    await self._objects.delete("", name, NAMESPACE)
                wanted = set(names)
                with self._progress.waiting(
                    "deletion", lambda: f"{len(namespaces.keys() & wanted)} of {len(wanted)} left"
                ):
                    await namespaces.pulse.until(lambda: not namespaces.keys() & wanted)
        except (TimeoutError, ExtenderError) as error:
            # As in clusterloader2, a clean-up that fails does not fail the test.
            logger.warning("namespaces are left behind: %s", str(error) or f"not gone in {timeout}")


def _read(raw: msgspec.Raw) -> _Namespace:
    metadata = read_metadata(raw)
    return _Namespace(metadata.key, metadata.uid)
