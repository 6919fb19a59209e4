"""How many connections the limit of open files allows, with some kept for what matters more."""

from __future__ import annotations

import resource
from typing import Final

from extender.errors import ConfigError, ExtenderError

RESERVED: Final = 256
"""Files for the API server (a watch for each resource, requests beside them), for the program's own
modules and logs, and for sockets that are just being accepted or refused."""

OPS_CONNECTIONS: Final = 64
"""For probes, Prometheus and people; each asks seldom."""

CALLBACK_CONNECTIONS: Final = 1000
"""A scheduler has two or three; all beyond some dozens is somebody else's mistake."""

LEAST_CONNECTIONS: Final = 16

WANTED: Final = RESERVED + OPS_CONNECTIONS + CALLBACK_CONNECTIONS


def raise_file_limit() -> int:
    """Have as many open files as are wanted and allowed; return the limit that there is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED
    if soft < WANTED:
        soft = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def callback_connections(files: int, configured: int | None) -> int:
    """Return how many connections to the callbacks' port there may be, with a limit of open files.

    Raises ConfigError for more than fit, ExtenderError for a limit under which nothing fits.
    """
    left = files - RESERVED - OPS_CONNECTIONS
    if left < LEAST_CONNECTIONS:
        least = RESERVED + OPS_CONNECTIONS + LEAST_CONNECTIONS
        raise ExtenderError(
            f"the limit of open files is {files}, and at least {least} are needed: raise it with "
            "ulimit -n, or in the service's or container's settings"
        )
    if configured is None:
        return min(CALLBACK_CONNECTIONS, left)
    if configured > left:
        raise ConfigError(
            "serving.maxConnections",
            f"{configured} is more than the {left} that a limit of {files} open files has room for",
        )
    return configured
