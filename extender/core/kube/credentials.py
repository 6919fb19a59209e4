"""Where the API server is and who we are there, always with a token that still holds.

kubernetes_asyncio reads the files; when that happens, and what becomes of a failure, is decided
here: its own refresh task ends at the first plugin that fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

import aiohttp
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
)

from extender.core import files
from extender.core.certificates import not_after
from extender.core.errors import ConfigError, UnreadableFileError
from extender.core.kube.clientcmd import Acting, choose
from extender.core.kube.kubeconfig import Kubeconfig
from extender.core.kube.kubeconfig_file import FIELD
from extender.core.kube.limits import WITHIN
from extender.core.kube.observers import RepeatingLog
from extender.core.kube.tls_material import Embedded, TLSMaterial, read_material

_log = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 60.0
"""Age at which a token is read again, as in client-go: a kubelet rotates it long before its end."""

_USUAL: Final = "~/.kube/config"

# Whatever a broken file, plugin or identity provider makes the library raise. It asserts in places.
_READ_FAILURES = (
    ConfigError,
    ConfigException,
    OSError,
    TimeoutError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    AssertionError,
    # Of an identity provider, whose failures are not all OSErrors.
    aiohttp.ClientError,
)


class Loader(Protocol):
    """Fills the configuration from its files; `forced` gives up what a plugin said to keep."""

    async def __call__(self, *, forced: bool) -> None: ...


class Credentials:
    """One API server's address and TLS set-up, and our identity there.

    `load` fills the configuration again, and `embedded` with what comes without a file; the first
    load has been done by the caller. Tokens and certificates are kept while a later load fails: the
    old ones may hold for a long time yet. `tls` is replaced, never changed: connections that are
    open keep the context they began with, new ones take the new one.
    """

    def __init__(
        self,
        configuration: Configuration,
        load: Loader,
        *,
        embedded: Embedded | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configuration = configuration
        self._embedded = embedded or Embedded()
        self._load = load
        self._clock = clock
        self._loading: tuple[asyncio.Task[None], bool] | None = None
        """What reads everything again, and whether it is forced."""
        self._began_at = 0.0
        """When that began, on the clock of the loop."""
        self._loaded_at = clock()
        self._failures = RepeatingLog(_log, "reading credentials", clock)
        self._material = read_material(configuration, self._embedded)
        self.tls = _context(self._material)

    @property
    def certificate_ends(self) -> float | None:
        """When our certificate expires, in seconds since the epoch; None without one."""
        certificate = None if self._material is None else self._material.certificate
        if certificate is None:
            return None
        # What OpenSSL has loaded may still be more than we can read; that stops nobody.
        with contextlib.suppress(ValueError, IndexError):
            return not_after(certificate).timestamp()
        return None

    @property
    def host(self) -> str:
        """The base address, which may have a path."""
        return str(self._configuration.host)

    @property
    def proxy(self) -> str | None:
        return self._configuration.proxy or None

    @property
    def tls_server_name(self) -> str | None:
        """The name to expect in the server's certificate, when it is not the host's."""
        return self._configuration.tls_server_name or None

    @property
    def impersonation(self) -> tuple[tuple[str, str], ...]:
        """The headers by which the API server takes us for whom the kubeconfig names."""
        return self._embedded.impersonation

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, read again when it is a minute old.

        What reads it may hang. The header that there is holds meanwhile, so it is waited for only
        WITHIN.reading seconds, by all callers together: a bind has few.
        """
        if self._is_old():
            load, _ = self._begin(forced=False)
            patience = self._began_at + WITHIN.reading - asyncio.get_running_loop().time()
            await asyncio.wait((load,), timeout=max(0.0, patience))
        return self._header()

    async def renew(self, refused: str | None) -> bool:
        """Replace a header that was refused; say whether there is a different one now.

        A different client certificate counts as well. Callers that were refused at the same time
        share one renewal.
        """
        tls = self.tls
        while self._header() == refused and self.tls is tls:
            if await self._loaded(forced=True):
                break
        return self._header() != refused or self.tls is not tls

    async def _loaded(self, *, forced: bool) -> bool:
        """Wait for the load that is under way, or for a new one; return whether it was forced.

        It goes on for others when a caller gives up: a plugin may take longer than any bind may,
        and an identity provider takes each refresh token only once.
        """
        load, was_forced = self._begin(forced=forced)
        await asyncio.shield(load)
        return was_forced

    def _begin(self, *, forced: bool) -> tuple[asyncio.Task[None], bool]:
        if self._loading is None:
            self._loading = asyncio.create_task(self._reload(forced=forced)), forced
            self._began_at = asyncio.get_running_loop().time()
        return self._loading

    def _is_old(self) -> bool:
        return self._clock() - self._loaded_at >= REFRESH_SECONDS

    def _header(self) -> str | None:
        token = self._configuration.api_key.get("BearerToken")
        # Token files often end in a newline, which no header may hold.
        return str(token).strip() if token else None

    async def _reload(self, *, forced: bool) -> None:
        try:
            await _bounded(self._load(forced=forced))
            self._reload_tls()
        except _READ_FAILURES as failure:
            self._failures.warning(f"{type(failure).__name__}: {failure}; keeping what we have")
        else:
            self._failures.recovered("works again")
        finally:
            self._loading = None
        self._loaded_at = self._clock()

    def _reload_tls(self) -> None:
        """Take over a CA, certificate or key that has changed; raise where it is of no use."""
        material = read_material(self._configuration, self._embedded)
        if material == self._material:
            return
        self.tls = _context(material)
        self._material = material
        _log.info("loaded a new client certificate or CA for the API server")


async def load_credentials(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    acting: Acting | None = None,
    clock: Callable[[], float] = time.monotonic,
    environ: Mapping[str, str] = os.environ,
) -> Credentials:
    """Take `kubeconfig`, else the Pod's service account, else $KUBECONFIG or ~/.kube/config."""
    if _in_cluster(kubeconfig, context, environ):
        return await in_cluster_credentials(environ=environ, acting=acting, clock=clock)
    return await kubeconfig_credentials(
        kubeconfig or environ.get("KUBECONFIG") or _USUAL, context, acting=acting, clock=clock
    )


def namespace_of_context(
    kubeconfig: str | None,
    context: str | None,
    environ: Mapping[str, str] = os.environ,
    *,
    acting: Acting | None = None,
) -> str | None:
    """Return the namespace of a context, or of the service account; None where none is named.

    Files that cannot be read are left to the loading of credentials.
    """
    with contextlib.suppress(*_READ_FAILURES):
        if _in_cluster(kubeconfig, context, environ):
            return files.read_text(Path(SERVICE_TOKEN_FILENAME).with_name("namespace")).strip()
        paths = kubeconfig or environ.get("KUBECONFIG") or _USUAL
        return choose(paths, context, acting).namespace
    return None


def _in_cluster(kubeconfig: str | None, context: str | None, environ: Mapping[str, str]) -> bool:
    return kubeconfig is None and context is None and bool(environ.get(SERVICE_HOST_ENV_NAME))


async def in_cluster_credentials(
    *,
    token_file: str = SERVICE_TOKEN_FILENAME,
    ca_file: str = SERVICE_CERT_FILENAME,
    environ: Mapping[str, str] = os.environ,
    acting: Acting | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Credentials:
    """Use the service account token that the kubelet mounts and rotates."""
    configuration = _blank_configuration()

    async def load(*, forced: bool) -> None:
        del forced  # a file is read anew each time
        load_incluster_config(  # type: ignore[no-untyped-call]
            configuration,
            try_refresh_token=False,
            token_filename=token_file,
            cert_filename=ca_file,
            environ=dict(environ),
        )

    embedded = Embedded(impersonation=() if acting is None else acting.headers())
    return await _first_load(configuration, load, "in-cluster", clock, embedded)


async def kubeconfig_credentials(
    path: str,
    context: str | None = None,
    *,
    acting: Acting | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Credentials:
    """Use one context of a kubeconfig file, or of several joined by colons; none is written to."""
    configuration, embedded = _blank_configuration(), Embedded()
    load = Kubeconfig(path, context, configuration, embedded, acting).load
    return await _first_load(configuration, load, FIELD, clock, embedded)


async def _first_load(
    configuration: Configuration,
    load: Loader,
    path: str,
    clock: Callable[[], float],
    embedded: Embedded,
) -> Credentials:
    try:
        await _bounded(load(forced=False))
        return Credentials(configuration, load, embedded=embedded, clock=clock)
    except ConfigError:
        raise
    except _READ_FAILURES as failure:
        away = isinstance(failure, OSError | aiohttp.ClientError)
        broken = not away or isinstance(failure, ssl.SSLError)
        kind = ConfigError if broken else UnreadableFileError
        raise kind(path, str(failure) or type(failure).__name__) from failure


async def _bounded(load: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(WITHIN.credentials):
            await load
    except TimeoutError as error:
        raise TimeoutError(f"no credentials in {WITHIN.credentials:g} s") from error


def _blank_configuration() -> Configuration:
    # Not Configuration.set_default: nothing here is global.
    return Configuration(host="http://localhost:8080")


def _context(material: TLSMaterial | None) -> ssl.SSLContext | None:
    return None if material is None else material.context()
