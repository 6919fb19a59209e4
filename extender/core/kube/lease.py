"""Which of several replicas acts, by a Lease, after client-go's tools/leaderelection.

A Lease says who leads, and each renewal changes its spec. A replica that sees it unchanged for its
whole duration, on its own clock, may take it. All writes name the version that they are based on,
so that a holder that was cut off meanwhile finds out by its next one that it leads no more:
`confirm` is such a write, and no eviction is sent without one right before.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, NoReturn
from uuid import uuid4

import msgspec

from extender.core.errors import ApiError, ExtenderError
from extender.core.kube.calls import lease_path
from extender.core.kube.client import ApiClient
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import LEASE, WITHIN
from extender.core.kube.pacing import USUAL_TIMING, Timing
from extender.core.model.keys import Key, name_of, namespace_of
from extender.core.ports import LeaseNotes
from extender.core.timing import LogThrottle
from extender.core.wire.decoding import decode, whole_number

ACKNOWLEDGED: Final = "affinity-extender.io/acknowledged-violations"
"""The annotation by which an operator says how many affected pods are acceptable."""
FLOW: Final = Flow.PATCHES
_OVERTAKEN: Final = frozenset((HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))
"""Another writer was first (an operator's annotation, another replica), or it was deleted."""

GIVEN_BACK_SECONDS: Final = 1
"""The duration of a Lease that is held by no replica, as client-go writes it."""

_log = logging.getLogger(__name__)


class _LeaseMetadata(msgspec.Struct):
    resourceVersion: str = ""
    annotations: dict[str, str] | None = None


class _LeaseSpec(msgspec.Struct):
    holderIdentity: str | None = None
    leaseDurationSeconds: int | None = None
    acquireTime: str | None = None
    renewTime: str | None = None
    leaseTransitions: int | None = None


class _Lease(msgspec.Struct):
    metadata: _LeaseMetadata
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


_LEASE = msgspec.json.Decoder(_Lease)


class Lease:
    """Takes a Lease when it is free, renews it, and tells whether it is held."""

    def __init__(
        self,
        client: ApiClient,
        key: Key,
        *,
        identity: str = "",
        timing: Timing = USUAL_TIMING,
    ) -> None:
        """`key` is its namespace/name; `identity` must be no other replica's."""
        self._client = client
        self._key = key
        self._path = lease_path(namespace_of(key), name_of(key))
        self.identity: Final = identity or f"{socket.gethostname()}_{uuid4()}"
        self._clock, self._wall, self._sleep = timing.clock, timing.wall, timing.sleep
        self._seen: _Lease | None = None
        self._seen_at = 0.0
        self._valid_until = 0.0
        self._notes: LeaseNotes | None = None
        self._writing = asyncio.Lock()
        self._log = LogThrottle(_log)

    @property
    def leads(self) -> bool:
        """Return whether this replica leads, without asking."""
        return self._clock() < self._valid_until

    @property
    def acknowledged(self) -> int:
        """Return how many affected pods an annotation says are acceptable."""
        return _count(self._annotations().get(ACKNOWLEDGED, ""))

    def keep(self, notes: LeaseNotes) -> None:
        self._notes = notes

    async def confirm(self) -> bool:
        """Write to the Lease that this replica leads; False unless that has worked."""
        async with self._writing:
            if not self.leads:
                return False
            return await self._attempt()

    async def run(self) -> NoReturn:
        while True:
            async with self._writing:
                if not await self._attempt():
                    await self._add_notes()
            await self._sleep(LEASE.retry)

    async def close(self) -> None:
        """Give the lead back, so that another replica has it at once; for when `run` has ended."""
        async with self._writing:
            if not self.leads:
                return
            self._valid_until = 0.0
            try:
                await self._give_back()
            except ExtenderError as error:
                _log.info("the Lease %s is not given back, it will run out: %s", self._key, error)

    async def _give_back(self) -> None:
        try:
            await self._write("")
        except ApiError as error:
            if error.status not in _OVERTAKEN:
                raise
            await self._look()
            if self._is_ours():
                await self._write("")

    async def _attempt(self) -> bool:
        """Renew or take the Lease if that may be; return whether this replica holds it now."""
        led = self.leads
        try:
            held = await self._renew_or_take()
        except ExtenderError as error:
            self._log.log(
                logging.WARNING, type(error).__name__, "the Lease %s: %s", self._key, error
            )
            # What was written before holds until its time is over, but nothing is confirmed.
            return False
        if held is not led:
            _log.info("%s the lead (%s)", "took" if held else "lost", self.identity)
        return held

    async def _renew_or_take(self) -> bool:
        if not self._is_ours():
            await self._look()
        for last in (False, True):
            if not self._is_free():
                break
            began = self._clock()
            try:
                await self._write(self.identity)
            except ApiError as error:
                if last or error.status not in _OVERTAKEN:
                    raise
                await self._look()
            else:
                self._valid_until = began + LEASE.valid
                return True
        self._valid_until = 0.0
        return False

    async def _add_notes(self) -> None:
        """Write what another leader has to know; at the next try, if the Lease has just changed."""
        if self._seen is None or self._notes is None:
            return
        annotations = self._annotations()
        notes = self._notes.written(annotations, leads=False)
        if annotations.items() >= notes.items():
            return
        try:
            await self._put(self._seen.spec, {**annotations, **notes})
        except ExtenderError as error:
            _log.info("the Lease %s could not be annotated: %s", self._key, error)

    def _is_ours(self) -> bool:
        return self._seen is not None and self._seen.spec.holderIdentity == self.identity

    def _is_free(self) -> bool:
        """Return whether it is ours, has no holder, or was unchanged for its whole duration."""
        if self._seen is None or self._is_ours():
            return True
        spec = self._seen.spec
        if not spec.holderIdentity:
            return True
        return self._clock() - self._seen_at >= (spec.leaseDurationSeconds or 0)

    async def _look(self) -> None:
        """Read the Lease, and note when it has changed."""
        try:
            body = await self._client.get(self._path, {}, within=WITHIN.lease)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self._seen = None
            return
        self._note(body)

    def _note(self, body: bytes) -> None:
        seen = decode(_LEASE, body, "Lease")
        old = self._seen
        if old is None or old.spec != seen.spec:
            self._seen_at = self._clock()
        self._seen = seen
        if self._notes is not None:
            self._notes.learn(self._annotations(), leads=False)

    def _annotations(self) -> dict[str, str]:
        return dict(self._seen.metadata.annotations or {}) if self._seen is not None else {}

    async def _write(self, holder: str) -> None:
        """Name a holder, none if empty; a replica that is not the holder yet takes the Lease."""
        taking = bool(holder) and not self._is_ours()
        spec, annotations = (
            _LeaseSpec() if self._seen is None else self._seen.spec,
            self._annotations(),
        )
        if self._notes is not None:
            if taking:
                self._notes.learn(annotations, leads=True)
            annotations |= self._notes.written(annotations, leads=True)
        now = f"{datetime.fromtimestamp(self._wall(), UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        transitions = spec.leaseTransitions or 0
        await self._put(
            _LeaseSpec(
                holder,
                LEASE.duration if holder else GIVEN_BACK_SECONDS,
                now if taking or not holder else spec.acquireTime,
                now,
                transitions + (taking and self._seen is not None),
            ),
            annotations,
        )

    async def _put(self, spec: _LeaseSpec, annotations: Mapping[str, str]) -> None:
        """Write the Lease over the version that was seen last, or create it."""
        metadata: dict[str, Any] = {
            "namespace": namespace_of(self._key),
            "name": name_of(self._key),
            "annotations": annotations,
        }
        document = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": spec,
        }
        if self._seen is None:
            path = lease_path(namespace_of(self._key))
            body = msgspec.json.encode(document)
            self._note(await self._client.post(path, body, within=WITHIN.lease, flow=FLOW))
            return
        metadata["resourceVersion"] = self._seen.metadata.resourceVersion
        body = msgspec.json.encode(document)
        self._note(await self._client.put(self._path, body, within=WITHIN.lease))


def _count(text: str) -> int:
    """Read a number from an annotation; 0 when it is none, or has more than six digits."""
    return whole_number(text, digits=6) or 0
