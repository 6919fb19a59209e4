"""Who may ask, and how: what a request's headers must say before any of its body is read.

Two kinds of stranger reach a port that listens on loopback. A body that unpacks to a thousand times
its size takes the memory and the time of everybody's answers. And an operator's browser shows pages
of others: these may send requests to a port of his machine, and read the answers as well if a name
of theirs is made to resolve to 127.0.0.1. No Kubernetes client sends any of what is refused here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final, NoReturn

from aiohttp import hdrs, web

from extender.core.web.limits import MOST

SERVICE_DOMAINS: Final = (".svc", ".svc.cluster.local")
"""Of Services: no host outside the cluster can have DNS names of this kind."""
TYPES: Final = frozenset(("application/json", "application/octet-stream"))
"""Of bodies; the second is what a body without a type has. A page of another site can send neither
without asking first, which is answered no; it can send forms and plain text."""


class Callers:
    """Refuses requests by their headers; each refusal closes the connection."""

    def __init__(self, hosts: Collection[str] | None) -> None:
        """Be asked by these names as well as the usual ones; by any with None, as over TLS.

        There the certificate has proven the name, so no other one can lead here.
        """
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._asked_as: str | None = None
        """The last name that was one of ours: a client has one, and an address takes long to read.
        """

    def check(self, request: web.Request) -> None:
        """Raise what a request is answered for its headers, if it is not to be answered at all."""
        headers = request.headers
        host = headers.get(hdrs.HOST, "")
        if host != self._asked_as:
            if not self._is_here(host):
                _refuse(
                    web.HTTPForbidden,
                    f"{_shown(host)} is no name of this server; serving.allowedHosts can have it",
                )
            self._asked_as = host
        _check_page(request, host)
        if request.body_exists:
            _check_body(request)

    def _is_here(self, host: str) -> bool:
        if self._hosts is None:
            return True
        name, bracket, _ = host.partition("]")
        name = name[1:] if bracket else name.partition(":")[0]
        name = name.lower().removesuffix(".")
        # What has no dot is in no public zone.
        if "." not in name or name.endswith((*SERVICE_DOMAINS, ".localhost")):
            return True
        return name in self._hosts or _is_address(name)


def _check_page(request: web.Request, host: str) -> None:
    """Refuse what a browser asks on behalf of another site's page, except that it follows a link.

    A page that is opened by a link is shown to the person, not to where the link was.
    """
    headers = request.headers
    origin = headers.get(hdrs.ORIGIN)
    if origin is not None and origin.lower().rpartition("://")[2] != host.lower():
        _refuse(web.HTTPForbidden, f"asked by a page of {_shown(origin)}")
    site = headers.get("Sec-Fetch-Site", "none")
    opened = (
        request.method == hdrs.METH_GET
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest") == "document"
    )
    if site not in {"none", "same-origin"} and not opened:
        _refuse(web.HTTPForbidden, "asked by a page of another site")


def _check_body(request: web.Request) -> None:
    """Refuse a body that has to be unpacked, is too large, is no JSON or is where none belongs."""
    headers, size = request.headers, request.content_length
    if request.method != hdrs.METH_POST:
        _refuse(web.HTTPBadRequest, f"{request.method} has no body")
    codings = ",".join(headers.getall(hdrs.CONTENT_ENCODING, ["identity"]))
    if codings.strip().lower() != "identity":
        _refuse(web.HTTPUnsupportedMediaType, f"Content-Encoding {_shown(codings)}: send it as is")
    if request.content_type not in TYPES:
        why = f"Content-Type {_shown(request.content_type)}: send application/json"
        _refuse(web.HTTPUnsupportedMediaType, why)
    if size is None:
        _refuse(web.HTTPLengthRequired, "a body needs a Content-Length; chunks are not taken")
    if size > request.client_max_size:
        error = web.HTTPRequestEntityTooLarge(request.client_max_size, size)
        error.force_close()
        raise error


def _refuse(kind: type[web.HTTPClientError], why: str) -> NoReturn:
    error = kind(text=f"{why}\n")
    # What is still to come is no request.
    error.force_close()
    raise error


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _shown(text: str) -> str:
    return f"{text[: MOST.shown]!a}"
