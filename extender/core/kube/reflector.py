"""Mirror one resource of the API server into a sink, for ever.

Three loops inside each other, each for one class of failure::

    run       lists everything when the version we stand at is of no use any more
    _follow   opens the watch again from that version when one ends
    _watch    takes one watch's events, up to the first that makes no sense

The rules are those of client-go's reflector (tools/cache/reflector.go), but for these:

- A server from which no answer came for some seconds costs no list: the version is as good as
  before. After longer, etcd may have been restored meanwhile, and numbers do not always tell.
- Silence is not taken for quiet. Where nothing was heard for the time of two bookmarks, everything
  is listed, by a consistent read. A server that was restored from a backup accepts a watch from a
  version that it has not reached, and says nothing on it, no bookmark either.
- After a connection broke, and before anybody believes that versions have gone back, the server is
  asked where it stands (`_has_gone_back`): one object, by a consistent read. A restore may have
  raised its versions as well; then no watch goes on from before.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final, Generic, NoReturn, TypeVar

from extender.core.errors import ExtenderError
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import (
    BrokenAnswerError,
    BrokenLineError,
    HistoryError,
    IdleStreamError,
    Relist,
    Restart,
    SilenceError,
    WatchEnd,
    end_of_watch,
    why_relist,
)
from extender.core.kube.frames import Event, Resource, Skip
from extender.core.kube.limits import USUAL_TIMEOUTS
from extender.core.kube.mirroring import Mirror, Sink, is_older
from extender.core.kube.observers import RepeatingLog
from extender.core.kube.pacing import (
    USUAL_MIRROR,
    Backoff,
    Brought,
    MirrorSettings,
    ObjectSlices,
    Pace,
    Patience,
)
from extender.core.kube.watching import Lister
from extender.core.model.keys import Identity
from extender.core.wire.decoding import whole_number

_log = logging.getLogger(__name__)

T = TypeVar("T")

_LOST: Final = frozenset((Restart.BROKEN, Restart.IDLE, Restart.UNREACHABLE))
"""Ends of a watch after which the server need not be the one that it was."""

_GOES_ON_SECONDS: Final = 0.2
"""A server that cannot go on from a version says so as it answers the watch, or at once after."""

_STANDS: Final = frozenset((Relist.EXPIRED, Relist.SILENT))
"""Reasons for a list after which the server is still the one that it was, as far as one can tell. A
proxy may answer in the place of one that is away, with 502 say."""

_NO_FAILURES: Final = frozenset((Relist.SILENT, Relist.RESTORED))
"""Reasons for a list that are not in a server's having failed, and are rare by themselves."""


class Reflector(Generic[T]):
    """Keeps `sink` equal to what the API server has."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource[T],
        sink: Sink[T],
        settings: MirrorSettings = USUAL_MIRROR,
        promised: Callable[[], Mapping[Identity, str]] = dict,
    ) -> None:
        """`promised` gives key and uid of objects that are counted on and not in the sink.

        Each has existed in the API server at the version given, though no watch has shown it.
        """
        self.resource = resource
        self.synced = asyncio.Event()
        """Set when the first list has been taken over; a later break does not clear it."""
        self.certain = asyncio.Event()
        """Set while a watch goes on from what the server is known to have: not from a broken
        connection, a request that failed, or when no watch was open for `MirrorSettings.outage`,
        until it was asked where it stands and goes on from there, or listed."""
        self._client = client
        self._sink = sink
        self._promised = promised
        self._settings = settings
        self._observer, self._timing = settings.observer, settings.timing
        self._backoff = Backoff(self._timing)
        self._log = RepeatingLog(_log, resource.name, self._timing.clock)
        self._silences = RepeatingLog(_log, resource.name, self._timing.clock, seconds=3600.0)
        self._skips = RepeatingLog(_log, resource.name, self._timing.clock)
        self._pace = Pace(self._backoff)
        self.mirror = Mirror(resource, sink, self._observer, self._timing, self._skipped)
        self._lister = Lister(client, resource, self._skipped, clock=self._timing.clock)
        self._next_list_at = 0.0
        self._patience = settings.silence
        self._closed_at: float | None = None
        """When the last watch ended, or the list before the first; None while one is open."""
        self._doubt: asyncio.TimerHandle | None = None
        """What ends certainty unless a watch is open in time."""
        self._senseless_at: str | None = None
        """The version after which came a line that made no sense, since the last list."""
        self._observer.synced(resource.name, False)  # noqa: FBT003 - a metric's value

    @property
    def name(self) -> str:
        return self.resource.name

    async def keep_running(self) -> NoReturn:
        """Mirror until cancelled, and begin again after a defect."""
        backoff = Backoff(self._timing)
        while True:
            try:
                await self.run()
            except Exception:  # noqa: BLE001 - a defect must not blind us
                # It lists everything when it starts, which also mends what the defect left behind.
                _log.exception("%s: the reflector failed, starting it again", self.name)
            self._observer.restarted(self.name, Restart.CRASHED)
            await backoff.wait()

    async def run(self) -> NoReturn:
        """Mirror until cancelled; only defects, of the sink for example, end it otherwise."""
        while True:
            try:
                if (rest := self._next_list_at - self._timing.clock()) > 0.0:
                    await self._timing.sleep(rest)
                await self._list()
                await self._follow()
            except ExtenderError as failure:
                reason, retry_after = why_relist(failure)
                if reason not in _STANDS:
                    self.certain.clear()
                quiet = reason is Relist.SILENT
                (self._silences if quiet else self._log).warning(f"listing again: {failure}")
                if reason not in _NO_FAILURES:
                    await self._backoff.wait(retry_after)
                self._observer.relisted(self.name, reason)

    async def _list(self) -> None:
        """Take over everything, and what it tells of objects that no watch has shown.

        An object that was promised before the list was asked for, and is not in it, is gone: the
        list is a consistent read. So is one that was promised meanwhile, if it existed at the
        version of the list or before: of what comes later, the watch tells. See
        `cluster.ledgers.reservations`.
        """
        begun = self._timing.clock()
        before = self._promised()
        snapshot = await self._lister.present()
        if is_older(snapshot.version, self.mirror.version):
            if not await self._has_gone_back():
                raise BrokenAnswerError("a list from before what is known, which the server is not")
            _log.warning(
                "%s: versions have gone back from %s to %s: was etcd restored from a backup?",
                *(self.name, self.mirror.version, snapshot.version),
            )
            self.certain.clear()
        await self.mirror.replace(snapshot)
        for (key, uid), seen_at in self._promised().items():
            shown = (key, uid) in before or _is_as_new(snapshot.version, seen_at)
            if shown and not snapshot.has_unreadable(key, uid):
                self._sink.delete(key, uid)
        self._note_open()
        self.certain.set()
        self._senseless_at = None
        self._patience = self._settings.silence - self._settings.spread * self._timing.chance()
        now = self._timing.clock()
        rest = (now - begun) * (1.0 / self._settings.lists_part - 1.0)
        self._next_list_at = now + min(rest, self._settings.longest_rest)
        if not self.synced.is_set():
            self.synced.set()
            self._observer.synced(self.name, True)  # noqa: FBT003 - a metric's value
            _log.info("%s: synced, %d objects", self.name, len(snapshot.objects))

    async def _has_gone_back(self) -> bool:
        """Ask the server where it stands, and whether that is before what we know.

        A consistent read of one object costs next to nothing. The server says the version of all
        that there is, as etcd has it, whatever its cache has seen. That never goes down, unless
        etcd was restored from a backup.
        """
        known = self.mirror.version
        if whole_number(known) is None:
            return False
        return is_older(await self._lister.present_version(), known)

    def _is_senseless(self) -> bool:
        """Note a line that makes no sense; return whether one from the same version did not either.

        The server tells again what came after our version. But if it makes no sense twice, it never
        will.
        """
        before, self._senseless_at = self._senseless_at, self.mirror.version
        return before == self._senseless_at

    async def _follow(self) -> NoReturn:
        """Watch on and on; raises when only a list can tell how to go on."""
        self._note_closed()
        while True:
            before, changes = self.mirror.version, self.mirror.changes
            opened = self._timing.clock()
            try:
                if not self.certain.is_set():
                    await self._check_history()
                await self._watch(self._quiet_seconds())
                end = WatchEnd(Restart.ENDED, "ended")
            except ExtenderError as failure:
                ended = end_of_watch(failure)
                if ended is None or (isinstance(failure, BrokenLineError) and self._is_senseless()):
                    raise
                end = ended
            if end.reason in _LOST:
                self.certain.clear()
            brought = Brought.NOTHING
            if self.mirror.version != before:
                moved = self.mirror.changes != changes
                brought = Brought.CHANGES if moved else Brought.BOOKMARKS
            end, seconds = self._pace.before_next(end, brought, self._timing.clock() - opened)
            if seconds:
                self._log.warning(f"watching again: {end.said}")
                await self._timing.sleep(seconds)
            self._observer.restarted(self.name, end.reason)

    async def _check_history(self) -> None:
        """Raise HistoryError where the server may have another history than before."""
        if await self._has_gone_back():
            raise HistoryError("the server is at a version from before what is known")
        now = self._timing.clock()
        away = now - (now if self._closed_at is None else self._closed_at)
        if away >= self._settings.outage:
            raise HistoryError(f"the server was away for {away:.0f} s, and may have been restored")

    def _note_closed(self) -> None:
        if self._closed_at is None:
            self._closed_at = self._timing.clock()
            loop = asyncio.get_running_loop()
            self._doubt = loop.call_later(self._settings.outage, self.certain.clear)

    def _note_open(self) -> None:
        self._closed_at = None
        if self._doubt is not None:
            self._doubt.cancel()

    def _quiet_seconds(self) -> float:
        """Return for how long it may still be quiet; SilenceError when it has been for too long."""
        left = self._patience - (self.mirror.silent_for or 0.0)
        if left < USUAL_TIMEOUTS.shortest_watch:
            raise SilenceError("nothing was heard for as long as two bookmarks take")
        return left

    async def _watch(self, quiet: float) -> None:
        seconds = self._settings.watch + int(self._settings.watch * self._timing.chance())
        patience = Patience(self._client.timeouts.idle, IdleStreamError, first=quiet)
        with contextlib.ExitStack() as ends:
            stream = self._lister.events(
                self.mirror.version,
                seconds=seconds,
                patience=patience,
                opened=lambda: self._be_certain_soon(ends),
            )
            await self._take(stream, patience)

    def _be_certain_soon(self, ends: contextlib.ExitStack) -> None:
        """Be certain once a watch has gone on for a moment, unless it ends before."""
        self._note_open()
        ends.callback(self._note_closed)
        if not self.certain.is_set():
            loop = asyncio.get_running_loop()
            ends.callback(loop.call_later(_GOES_ON_SECONDS, self.certain.set).cancel)

    async def _take(self, stream: AsyncGenerator[Event, None], patience: Patience) -> None:
        async with contextlib.aclosing(stream):
            slices = ObjectSlices(self._timing.clock)
            async for event in stream:
                if await self.mirror.take(event):
                    patience.renew()
                    self._log.recovered("watching")
                if slices.end():
                    # Lines that have arrived already are read without a pause otherwise.
                    await asyncio.sleep(0)

    def _skipped(self, reason: Skip, detail: str) -> None:
        self._observer.skipped(self.name, reason)
        self._skips.left_out(reason, detail)


def _is_as_new(version: str, as_: str) -> bool:
    one, other = whole_number(version), whole_number(as_)
    return one is not None and other is not None and one >= other
