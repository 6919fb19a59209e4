"""How long the API server is waited for, and how much is taken from it; times in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RequestSeconds:
    """How long requests may take, by what they are for."""

    answer: float = 0.5
    """Kept of a caller's time for the answer itself: a request that cannot go out before that is
    not sent, for it would only be given up half way."""
    look: float = 1.5
    """Kept of the time for a bind to look what became of it when its own answer says too little."""
    record: float = 1.0
    """The record of a pod's rules, which comes before the bind, out of the same time."""
    read: float = 1.0
    """One object; the act for which it is read has little time as well."""
    nomination: float = 2.5
    eviction: float = 5.0
    """Well within the time for which the lead was just confirmed."""
    deletion: float = 10.0
    """What has to be written before and after it as well."""
    lease: float = 5.0
    present: float = 10.0
    """The question where the server stands."""
    undelivered: int = 60
    """What the kernel was handed may still get there, even if we close the connection."""
    credentials: float = 30.0
    """One reading of them: an exec plugin may ask its own servers."""
    reading: float = 1.0
    """That a request waits for such a reading while what it has still holds."""


WITHIN: Final = RequestSeconds()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """After how long an answer is given up."""

    connect: float = 5.0
    read: float = 60.0
    """Between two pieces of an ordinary answer."""
    total: float = 300.0
    """For the whole of an ordinary answer."""
    idle: float = 75.0
    """Between two events of a watch. Bookmarks come each minute, so more silence means that the
    connection is dead: HTTP/1.1 has no pings to tell."""
    progress: float = 30.0
    """Between two objects of a streamed list that are new, and until the bookmark that ends it: an
    API server sends them in one go, and waits a few seconds at most to be up to date."""
    streamed: float = 300.0
    """For the whole of a streamed list; 150,000 pods take some tens of seconds."""
    shortest_watch: float = 1.0
    """A watch that ends sooner is not opened again at once, whatever it brought, unless it is the
    first of its kind in a row: a busy API server closes a watch whose buffer is full, and is right.
    """


USUAL_TIMEOUTS: Final = Timeouts()


@dataclass(frozen=True, slots=True)
class Most:
    """How much is read, written or asked for at once."""

    error_body: int = 64 << 10
    """Bytes of a failure's body; a Status is far smaller."""
    read_ahead: int = 1 << 20
    """Bytes of an answer that have come and are not read yet."""
    line: int = 64 << 20
    """Bytes of one watch event. etcd takes objects up to 1.5 MiB; their JSON is a few times that.
    """
    excerpt: int = 80
    """Bytes shown of a line that makes no sense: enough to recognise an HTML page or another API,
    too little to carry what a pod has in its environment."""
    detail: int = 400
    """Characters of what is said about something from elsewhere, or by a server, which may be of
    any length: enough to act on, too little to carry a secret."""
    page: int = 500
    """Objects in a page, as client-go asks for."""
    barren_pages: int = 100
    """Pages in a row without an object that is new. A server may leave out so much of a page, for
    the field selector, that nothing is left of it; but a list that never ends is none."""
    slice: int = 100
    """Objects read or stored before others get a turn: about a millisecond of work."""
    slice_seconds: float = 0.002
    """The same, where each takes long."""
    listed_pods: int = 250
    """Pods of one list that a decision waits for: about a MiB, some milliseconds to read."""
    selector: int = 4096
    """Characters of a selector in a query; servers refuse long ones."""
    note: int = 1024
    """Bytes of an Event's note, as of its reportingInstance: what the API server takes."""
    instance: int = 128
    event_name: int = 200
    """Characters of a pod's name in that of an Event, which has to be a name as well."""


MOST: Final = Most()


@dataclass(frozen=True, slots=True)
class LeaseSeconds:
    duration: int = 15
    """After which an unchanged Lease may be taken, as kube-scheduler has it."""
    valid: float = 10.0
    """After the start of a successful write, for which this replica takes itself to lead. An
    eviction that is sent within it ends before another replica can lead."""
    retry: float = 2.0


LEASE: Final = LeaseSeconds()
