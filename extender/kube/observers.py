"""What the edge reports of itself; the composition root turns it into metrics."""

from __future__ import annotations

from typing import Protocol


class RequestObserver(Protocol):
    """Hears of each request to the API server, in the terms of client-go's metrics."""

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        """Note one answer; `code` is "<error>" when none came, `seconds` end at the headers."""

    def throttled(self, flow: str) -> None:
        """Note a request that was not sent, for one of `flowcontrol.Flow`."""


class ReflectorObserver(Protocol):
    """Hears how the mirror of each resource is doing."""

    def synced(self, resource: str, synced: bool) -> None:  # noqa: FBT001 - a metric's value
        """Note whether the first list has been taken over completely."""

    def event(self, resource: str, kind: str) -> None:
        """Note one watch event, bookmarks included."""

    def last_event(self, resource: str, at: float) -> None:
        """Note when the server was last heard of, in seconds since the epoch."""

    def restarted(self, resource: str, reason: str) -> None:
        """Note that a watch was opened anew, for one of `endings.Restart`."""

    def relisted(self, resource: str, reason: str) -> None:
        """Note that everything is listed again, for one of `endings.Relist`."""

    def skipped(self, resource: str, reason: str) -> None:
        """Note something that could not be read, for one of `frames.Skip`."""


class Unobserved:
    """Both observers, for callers that keep no metrics."""

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        """Ignore it."""

    def throttled(self, flow: str) -> None:
        """Ignore it."""

    def synced(self, resource: str, synced: bool) -> None:  # noqa: FBT001 - see ReflectorObserver
        """Ignore it."""

    def event(self, resource: str, kind: str) -> None:
        """Ignore it."""

    def last_event(self, resource: str, at: float) -> None:
        """Ignore it."""

    def restarted(self, resource: str, reason: str) -> None:
        """Ignore it."""

    def relisted(self, resource: str, reason: str) -> None:
        """Ignore it."""

    def skipped(self, resource: str, reason: str) -> None:
        """Ignore it."""
