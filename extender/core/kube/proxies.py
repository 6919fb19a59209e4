"""Which proxy the environment names for an address, by the rules of Go's net/http.

Python's own rules know neither a CIDR nor a port in NO_PROXY, where in-cluster addresses stand.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

from yarl import URL

from extender.core.errors import ConfigError

SPOKEN: Final = ("http", "https")
"""Schemes of proxies that this program can speak to."""

_PORTS: Final = {"http": "80", "https": "443"}


def proxy_for(url: URL, environ: Mapping[str, str]) -> str | None:
    """Return the proxy on the way to an address; ConfigError for one that is not spoken to.

    As in Go, loopback never goes through one, and ALL_PROXY counts for nothing.
    """
    name = f"{url.scheme}_proxy".upper()
    proxy, host, port = _named(environ, name), url.host or "", str(url.port or "")
    if not proxy or _excepted(host.lower(), port, _named(environ, "NO_PROXY")):
        return None
    return checked(proxy if "://" in proxy else f"http://{proxy}", name)


def checked(proxy: str, field: str, place: str = "") -> str:
    """Return the address of a proxy; ConfigError where it is none, or one of another scheme.

    The error is about `field`, and says first what `place` of it is meant.
    """
    try:
        url = URL(proxy)
    except ValueError as error:
        raise ConfigError(field, f"{place}not the address of a proxy: {error}") from error
    if url.scheme not in SPOKEN:
        known = " and ".join(f"{each}://" for each in SPOKEN)
        raise ConfigError(field, f"{place}a proxy of scheme {url.scheme!r}; supported are {known}")
    if not url.host:
        raise ConfigError(field, f"{place}not the address of a proxy: there is no host in it")
    return proxy


def _named(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.lower()) or ""


def _excepted(host: str, port: str, no_proxy: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = [entry.strip().lower() for entry in no_proxy.split(",")]
    return "*" in entries or any(_matches(entry, host, address, port) for entry in entries)


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _matches(entry: str, host: str, address: _Address | None, port: str) -> bool:
    """Return whether an entry is about a host: a CIDR, an address or a name, maybe with a port."""
    if "/" in entry and (network := _network(entry)) is not None:
        return address is not None and address in network
    named, wanted = _split(entry)
    if wanted and wanted != port:
        return False
    if (excepted := _address(named)) is not None:
        return excepted == address
    named = named.removeprefix("*") if named.startswith("*.") else named
    if not named or address is not None:
        return False
    suffix = named if named.startswith(".") else f".{named}"
    return host.endswith(suffix) or host == named


def _split(entry: str) -> tuple[str, str]:
    """Split off a port; an IPv6 address that has one stands in brackets."""
    host, colon, port = entry.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1], port
    return (host, port) if colon and ":" not in host else (entry, "")


def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    # Go takes an IPv4 address in an IPv6 one for the same.
    return (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped) or found


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    address, _, length = text.partition("/")
    if not (length.isascii() and length.isdecimal()):
        return None  # Python would read a mask, Go does not
    try:
        return ipaddress.ip_network(f"{address}/{length}", strict=False)
    except ValueError:
        return None
