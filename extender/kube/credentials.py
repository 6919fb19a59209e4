"""Where the API server is and who we are there, always with a token that still holds.

kubernetes_asyncio reads the files and runs the plugins; when that happens, and what becomes of a
failure, is decided here: its own refresh task ends at the first plugin that fails.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import os
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
)

from extender.errors import ConfigError
from extender.kube.repeats import RepeatingLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

logger = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 60.0
"""Age at which a token is read again, as in client-go: a kubelet rotates it long before its end."""

READ_SECONDS: Final = 30.0
"""Patience with one reading: an exec plugin may ask its own servers."""

# Whatever a broken file, plugin or identity provider makes the library raise. It asserts in places.
_READ_FAILURES = (
    ConfigException,
    OSError,
    TimeoutError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    AssertionError,
    yaml.YAMLError,
)

_NEVER = dt.datetime.max.replace(tzinfo=dt.UTC)
_LONG_AGO = dt.datetime.min.replace(tzinfo=dt.UTC) + dt.timedelta(days=1)


class Loader(Protocol):
    """Fills the configuration from its files; `forced` gives up what a plugin said to keep."""

    async def __call__(self, *, forced: bool) -> None:
        """Read everything again."""


class Credentials:
    """One API server's address and TLS set-up, and our identity there.

    `load` fills the configuration again; the first load has been done by the caller. Tokens are
    kept while a later load fails: the old one may hold for a long time yet.
    """

    def __init__(
        self,
        configuration: Configuration,
        load: Loader,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configuration = configuration
        self._load = load
        self._clock = clock
        self._loading = asyncio.Lock()
        self._loaded_at = clock()
        self._failures = RepeatingLog(logger, "reading credentials", clock)
        self._certificate = self._certificate_version()
        self.tls = _tls_context(configuration)

    @property
    def host(self) -> str:
        """The base address, which may have a path."""
        return str(self._configuration.host)

    @property
    def proxy(self) -> str | None:
        """The proxy named in the kubeconfig file."""
        return self._configuration.proxy or None

    @property
    def tls_server_name(self) -> str | None:
        """The name to expect in the server's certificate, when it is not the host's."""
        return self._configuration.tls_server_name or None

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, read again when it is a minute old."""
        if self._is_old():
            async with self._loading:
                if self._is_old():
                    await self._reload(forced=False)
        return self._header()

    async def renew(self, refused: str | None) -> bool:
        """Replace a header that was refused; say whether there is a different one now.

        Callers that were refused at the same time share one renewal.
        """
        async with self._loading:
            if self._header() == refused:
                await self._reload(forced=True)
            return self._header() != refused

    def _is_old(self) -> bool:
        return self._clock() - self._loaded_at >= REFRESH_SECONDS

    def _header(self) -> str | None:
        token = self._configuration.api_key.get("BearerToken")
        # Token files often end in a newline, which no header may hold.
        return str(token).strip() if token else None

    async def _reload(self, *, forced: bool) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self._load(forced=forced)
            self._reload_certificate()
        except _READ_FAILURES as failure:
            self._failures.warning(f"{type(failure).__name__}: {failure}; keeping what we have")
        else:
            self._failures.recovered("works again")
        self._loaded_at = self._clock()

    def _reload_certificate(self) -> None:
        version = self._certificate_version()
        if self.tls is not None and version is not None and version != self._certificate:
            # New handshakes of a live context use what was loaded last.
            self.tls.load_cert_chain(version[0], self._configuration.key_file)
            logger.info("loaded a new client certificate")
        self._certificate = version

    def _certificate_version(self) -> tuple[str, int] | None:
        name = self._configuration.cert_file
        return (name, Path(name).stat().st_mtime_ns) if name else None


async def load_credentials(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    environ: Mapping[str, str] = os.environ,
) -> Credentials:
    """Take `kubeconfig`, else the Pod's service account, else $KUBECONFIG or ~/.kube/config."""
    if kubeconfig is None and context is None and environ.get(SERVICE_HOST_ENV_NAME):
        return await in_cluster_credentials(environ=environ, clock=clock)
    default = environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return await kubeconfig_credentials(kubeconfig or default, context, clock=clock)


async def in_cluster_credentials(
    *,
    token_file: str = SERVICE_TOKEN_FILENAME,
    ca_file: str = SERVICE_CERT_FILENAME,
    environ: Mapping[str, str] = os.environ,
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

    return await _first_load(configuration, load, "in-cluster", clock)


async def kubeconfig_credentials(
    path: str, context: str | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Credentials:
    """Use one context of a kubeconfig file, or of several joined by colons; none is written to."""
    if not _any_file(path):
        raise ConfigError("clientConnection.kubeconfig", f"no such file: {path}")
    configuration = _blank_configuration()
    loader: Any = None

    async def load(*, forced: bool) -> None:
        nonlocal loader
        if loader is None:
            loader = await load_kube_config(
                config_file=path,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
        else:
            if forced:
                loader.exec_plugin_expiry = _LONG_AGO
            await loader.load_and_set(configuration)
        if getattr(loader, "exec_plugin_expiry", _LONG_AGO) == _LONG_AGO:
            # A plugin that names no expiry is asked again only when its token is refused.
            loader.exec_plugin_expiry = _NEVER

    return await _first_load(configuration, load, "clientConnection.kubeconfig", clock)


def _any_file(path: str) -> bool:
    return any(Path(name).expanduser().is_file() for name in path.split(os.pathsep) if name)


async def _first_load(
    configuration: Configuration,
    load: Loader,
    path: str,
    clock: Callable[[], float],
) -> Credentials:
    try:
        async with asyncio.timeout(READ_SECONDS):
            await load(forced=False)
        return Credentials(configuration, load, clock=clock)
    except _READ_FAILURES as failure:
        raise ConfigError(path, str(failure) or type(failure).__name__) from failure


def _blank_configuration() -> Configuration:
    # Not Configuration.set_default: nothing here is global.
    return Configuration(host="http://localhost:8080")


def _tls_context(configuration: Configuration) -> ssl.SSLContext | None:
    if not str(configuration.host).startswith("https"):
        return None
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # Certificates made by kubeadm and others lack extensions that Python 3.13 would insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
