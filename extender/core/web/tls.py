"""TLS for callbacks: files that change are taken over without a restart, unusable ones are not."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from extender.core.certificates import fingerprint, no_password, not_after
from extender.core.errors import ConfigError, UnreadableFileError
from extender.core.ports import Remark
from extender.core.web.limits import WITHIN

_log = logging.getLogger(__name__)

WARN: Final = dt.timedelta(days=7)
"""How long before the end of its certificate the log begins to speak of it."""

_CERT, _KEY, _CLIENT_CA = (
    "serving.tlsCertFile",
    "serving.tlsPrivateKeyFile",
    "serving.clientCAFile",
)


class ServerTLS:
    """A server context whose certificate, key and client CA follow their files.

    `context` stays the same object, for the listening socket to keep; each handshake is handed on
    to a context made of the files as last read. Open connections keep what they began with.
    `on_reload` hears of each change, and whether the new files are in use; `on_expiry` of the end
    of the certificate in use, in seconds since the epoch.
    """

    def __init__(
        self,
        cert_file: Path,
        key_file: Path,
        client_ca_file: Path | None = None,
        *,
        on_reload: Callable[[bool], None] = lambda _: None,
        on_expiry: Callable[[float], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = {_CERT: cert_file, _KEY: key_file}
        if client_ca_file is not None:
            self._files[_CLIENT_CA] = client_ca_file
        self._on_reload = on_reload
        self._on_expiry = on_expiry
        self._clock = clock
        self._unusable: str | None = None
        self._ends = dt.datetime.max.replace(tzinfo=dt.UTC)
        self._warned_at: float | None = None
        self._seen = fingerprint(self._files.values())
        self._current = self._take_over()
        self.context = self._load()
        # Python calls it for clients that send no server name as well. It replaces what is shown
        # and trusted; that a client certificate is needed at all comes from this first context.
        self.context.sni_callback = self._hand_on

    def refresh(self) -> None:
        """Take the files over if they have changed; blocks for as long as reading them does.

        What could not be used is tried each time: that may be due to the moment, not to the files.
        """
        seen = fingerprint(self._files.values())
        if seen == self._seen and self._unusable is None:
            return
        is_news, self._seen = seen != self._seen, seen
        try:
            self._current = self._take_over()
        except ConfigError as error:
            # Perhaps only half of a pair is written so far; then the other half is a change, too.
            self._unusable = str(error)
            if is_news:
                _log.warning("Keeping the old TLS files: %s", error)
                self._on_reload(False)  # noqa: FBT003 - the outcome is all there is to tell
        else:
            _log.info("TLS files have changed, new connections use them")
            self._on_reload(True)  # noqa: FBT003 - the outcome is all there is to tell

    async def follow(self, interval: float = WITHIN.tls_poll) -> None:
        while True:
            self.warn_of_expiry()
            await asyncio.sleep(interval)
            try:
                await asyncio.to_thread(self.refresh)
            except Exception as error:  # noqa: BLE001 - no thread, no memory: the next time may do
                _log.error("The TLS files could not be looked at", exc_info=error)

    def check(self) -> str | None:
        """Fail once the certificate in use has ended: no client takes it any more.

        Files that changed and are of no use are told and do not fail it while the old ones hold.
        """
        left, until = self._left()
        if left <= dt.timedelta():
            return f"the certificate expired on {until}{self._why_not_renewed()}"
        if self._unusable is not None:
            return Remark(f"in use until {until}{self._why_not_renewed()}")
        return Remark(f"ends on {until}") if left < WARN else None

    def warn_of_expiry(self) -> None:
        """Log that the certificate has ended, or will soon; once an hour."""
        left, until = self._left()
        now = self._clock()
        if left >= WARN:
            self._warned_at = None
        elif self._warned_at is None or now - self._warned_at >= WITHIN.tls_warning:
            self._warned_at = now
            verb = "expired" if left <= dt.timedelta() else "expires"
            _log.warning(
                "The certificate %s %s on %s%s",
                *(self._files[_CERT], verb, until, self._why_not_renewed()),
            )

    def _left(self) -> tuple[dt.timedelta, str]:
        now = dt.datetime.fromtimestamp(self._clock(), dt.UTC)
        return self._ends - now, self._ends.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _why_not_renewed(self) -> str:
        return (
            f"; the files have changed and cannot be used: {self._unusable}"
            if self._unusable
            else ""
        )

    def _take_over(self) -> ssl.SSLContext:
        context = self._load()
        try:
            self._ends = not_after(self._files[_CERT].read_bytes())
        except (OSError, ValueError, IndexError) as error:
            raise ConfigError(_CERT, f"{self._files[_CERT]}: {_reason(error)}") from error
        self._unusable = None
        self._on_expiry(self._ends.timestamp())
        return context

    def _hand_on(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext
    ) -> None:
        connection.context = self._current

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # No resumption by ticket: it would let a client in that only an old CA vouches for.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        for fault in unreadable(self._files):
            raise fault
        cert, key = self._files[_CERT], self._files[_KEY]
        try:
            context.load_cert_chain(cert, key, password=no_password)
        except (OSError, ValueError) as error:
            raise ConfigError(_CERT, f"{cert} with the key {key}: {_reason(error)}") from error
        if client_ca := self._files.get(_CLIENT_CA):
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(client_ca)
            except (OSError, ValueError) as error:
                raise ConfigError(_CLIENT_CA, f"{client_ca}: {_reason(error)}") from error
        return context


def unreadable(files: Mapping[str, Path]) -> Iterator[UnreadableFileError]:
    """Yield what is wrong with files, by the fields that name them, that cannot be opened."""
    for path, file in files.items():
        try:
            file.open("rb").close()
        except OSError as error:
            yield UnreadableFileError(path, f"cannot read {file}: {error.strerror}")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return str(error) or type(error).__name__
