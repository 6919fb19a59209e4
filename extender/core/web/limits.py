"""How much clients may take of this server, and how long things take here; times in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long each takes at most; what a connection may take is configured (`serving`)."""

    slice: float = 0.0003
    """What is worked on of a long answer between two turns of the event loop; one step more may be
    under way by then."""
    answer: float = 10.0
    """For a long answer, its turns waited for and its body read."""
    lingering: float = 1.0
    """For which a body that was refused may still come, and is thrown away: a client that sends and
    is cut off does not see the answer."""
    loop_lag: float = 5.0
    """A loop this late answers no call in time: the scheduler gives up after 5 s by default."""
    tls_poll: float = 10.0
    """Between two looks at TLS files. By content and not by notification: a mounted Secret changes
    by a symbolic link being swapped, which a watch on the file itself does not see. Ten seconds are
    nothing to a certificate's life."""
    tls_warning: float = 3600.0
    """Between two warnings of a certificate that ends."""


WITHIN: Final = Seconds()


@dataclass(frozen=True, slots=True)
class Allowed:
    """How many there are of each at a time, and how large each may be."""

    answers: int = 2
    """Long answers that are worked on; each holds some megabytes for a large cluster."""
    waiting: int = 16
    """Questions that wait for their turn."""
    rows: int = 1000
    """Of one page of /domains; `usual_rows` unless `limit` says otherwise."""
    usual_rows: int = 100
    examples: int = 10
    """Names where there may be thousands; a count stands beside them."""
    small_body: int = 1 << 20
    """Bytes of a body; of larger ones, `large_bodies` are read at a time, and the others wait,
    unread. With node names alone none is as large, and a scheduler that sends whole nodes asks
    about one pod after the other."""
    large_bodies: int = 2
    header: int = 64 << 10
    """Bytes of a request's headers; aiohttp's own limits, for each line, add up to a megabyte."""
    read_ahead: int = 64 << 10
    """Bytes of a body that are taken before it is known whether it is read, or twice as many, and a
    sixteenth as many chunks: 4,096 of a byte took 1.4 ms, and 51,000 took 44 ms. With fewer, calls
    about 5,000 nodes take longer."""
    looked_at: int = 16
    """Connections looked at for an idle one when there are too many; each new one may cost no more.
    """
    shown: int = 100
    """Characters of a header in an answer."""


MOST: Final = Allowed()
