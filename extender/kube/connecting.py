"""How connections to the API server are made."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import urllib.request
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

UNDELIVERED_SECONDS: Final = 60
"""How long the kernel goes on delivering what it was handed, even if we close the connection."""


def proxy_for(base: URL) -> str | None:
    """Return the proxy on the way to an address."""
    # Go's rule: the environment names it, and loopback never goes through one.
    host = base.host or ""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return None
    if host == "localhost" or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(base.scheme)


def kept_alive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices in about a minute when its peer went away without a word."""
    family, kind, protocol, *_ = address
    connection = socket.socket(family=family, type=kind, proto=protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 30),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 1000 * UNDELIVERED_SECONDS),
    ):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return connection
