"""What the API server has of one selection of objects, followed while a test runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

from extender.errors import ExtenderError, ObjectError
from extender.kube.frames import Metadata, Resource
from extender.kube.reflector import Reflector
from extender.kube.watchers import Watchers

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from extender.kube.client import ApiClient

SYNC_TIMEOUT_S = 60.0
"""How long the first list may take."""

CHECK_PAUSE_S = 0.05
"""Conditions look at every object, which is too much for each of a thousand events a second."""


class Known(Protocol):
    """What every object that can be followed has."""

    @property
    def key(self) -> str:
        """Namespace/name, or the name of what has no namespace."""

    @property
    def uid(self) -> str:
        """What tells two objects of one name apart."""


T = TypeVar("T", bound=Known)


class Pod(msgspec.Struct, frozen=True):
    """What the measurements need to know of a pod."""

    key: str
    uid: str
    owner: str
    """The uid of its controller, or nothing."""
    node: str
    phase: str
    ready: bool
    deleting: bool
    stateless: bool
    """Whether all its volumes come and go with it."""


class _Owner(msgspec.Struct, rename="camel"):
    uid: str
    controller: bool = False


class OwnedMetadata(Metadata, rename="camel", frozen=True):
    """Metadata with what says whose an object is, and whether it is on its way out."""

    labels: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None

    @property
    def owner(self) -> str:
        """The uid of the controller, or nothing."""
        references = self.owner_references or ()
        return next((each.uid for each in references if each.controller), "")


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    volumes: list[dict[str, Any]] | None = None


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct):
    metadata: OwnedMetadata
    spec: _Spec
    status: _Status


_decode_pod = msgspec.json.Decoder(_Pod).decode
_SHORT_LIVED = frozenset(("name", "emptyDir", "downwardAPI", "configMap", "secret", "projected"))


def read_pod(raw: msgspec.Raw) -> Pod:
    """Read a pod from what the API server sent."""
    try:
        pod = _decode_pod(raw)
    except msgspec.MsgspecError as error:
        raise ObjectError("", str(error)) from error
    conditions = pod.status.conditions or ()
    return Pod(
        key=pod.metadata.key,
        uid=pod.metadata.uid,
        owner=pod.metadata.owner,
        node=pod.spec.node_name,
        phase=pod.status.phase,
        ready=any(each.type == "Ready" and each.status == "True" for each in conditions),
        deleting=pod.metadata.deletion_timestamp is not None,
        stateless=all(volume.keys() <= _SHORT_LIVED for volume in pod.spec.volumes or ()),
    )


class Pulse:
    """Tells of changes in one or more watches."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def beat(self) -> None:
        """Say that something changed."""
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return soon after a condition on the objects holds."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()
            await asyncio.sleep(CHECK_PAUSE_S)


class Watch(Generic[T]):
    """A selection of objects by key; a sink of the reflector that keeps it up to date."""

    def __init__(self, on_upsert: Callable[[T], None] | None, pulse: Pulse) -> None:
        self.objects: dict[str, T] = {}
        self.pulse = pulse
        self._on_upsert = on_upsert

    def keys(self) -> AbstractSet[str]:
        """Return the keys of all objects."""
        return self.objects.keys()

    def uid(self, key: str) -> str:
        """Return the uid of the object under `key`, or "" without one."""
        return self.objects[key].uid if key in self.objects else ""

    def upsert(self, obj: T) -> None:
        """Add or replace an object."""
        self.objects[obj.key] = obj
        if self._on_upsert:
            self._on_upsert(obj)
        self.pulse.beat()

    def delete(self, key: str, uid: str) -> None:
        """Forget an object."""
        if self.uid(key) == uid:
            self.objects.pop(key, None)
        self.pulse.beat()


@contextlib.asynccontextmanager
async def watching(
    client: ApiClient,
    path: str,
    params: Mapping[str, str],
    read: Callable[[msgspec.Raw], T],
    *,
    on_upsert: Callable[[T], None] | None = None,
    pulse: Pulse | None = None,
) -> AsyncIterator[Watch[T]]:
    """Follow the objects of a collection; all that there are are known when this is entered."""
    watch = Watch[T](on_upsert, pulse or Pulse())
    name = path.rpartition("/")[2]
    async with Watchers([Reflector(client, Resource(name, path, read, params), watch)]) as watchers:
        try:
            async with asyncio.timeout(SYNC_TIMEOUT_S):
                await watchers.wait_synced()
        except TimeoutError:
            raise ExtenderError(f"no list of {name} in {SYNC_TIMEOUT_S:g} s") from None
        yield watch
