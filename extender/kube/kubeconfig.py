"""One context of a kubeconfig file: read by the library, its secrets kept in memory.

kubernetes_asyncio writes embedded certificates and keys into the temporary folder, where they stay
when the process is killed, and which a container with a read-only root does not have.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import os
import ssl
from pathlib import Path
from typing import Any, Final

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.dateutil import parse_rfc3339
from kubernetes_asyncio.config.exec_provider import ExecProvider
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger
from kubernetes_asyncio.config.openid import OpenIDRequestor

from extender.certificates import fingerprint
from extender.kube.tls_material import Embedded

EARLY: Final = dt.timedelta(minutes=5)
"""How long before its end a plugin's credential is replaced, as kubernetes_asyncio does it."""


class Kubeconfig:
    """Fills a configuration from one context, and again when the files have changed.

    `paths` are joined as in $KUBECONFIG; `context` None is the files' current one. What the files
    carry themselves instead of naming other files goes to `embedded`.
    """

    def __init__(
        self, paths: str, context: str | None, configuration: Configuration, embedded: Embedded
    ) -> None:
        self._paths = paths
        self._files = [Path(name).expanduser() for name in paths.split(os.pathsep) if name]
        self._context = context
        self._configuration = configuration
        self._embedded = embedded
        self._loader: _Loader | None = None
        self._read: bytes | None = None

    async def load(self, *, forced: bool) -> None:
        """Read again what may have changed; `forced` also what a plugin said to keep."""
        read = fingerprint(self._files)
        loader = self._loader
        if loader is None or read != self._read:
            loader = self._open()
        if forced:
            loader.forget_plugin()
        await loader.load_and_set(self._configuration)
        if loader is not self._loader and not hasattr(loader, "token"):
            self._configuration.api_key.pop("BearerToken", None)
        self._embedded.ca = loader.embedded.ca
        self._embedded.certificate = loader.embedded.certificate
        self._embedded.key = loader.embedded.key
        self._loader, self._read = loader, read

    def _open(self) -> _Loader:
        loader = _Loader(KubeConfigMerger(self._paths).config, self._context)
        if self._loader is not None and loader.server != self._loader.server:
            # Connections, metrics and everything learnt so far belong to the old one.
            raise ConfigException(f"the server is now {loader.server}: restart to use it")
        return loader


class _Loader(KubeConfigLoader):
    """The library's reader of one context, without the three places where it makes files."""

    _cluster: Any
    _user: Any

    def __init__(self, config: Any, context: str | None) -> None:
        super().__init__(config, active_context=context, config_base_path=None)
        user, cluster = self._user, self._cluster
        # Taken away, so that the library finds nothing to write.
        self.embedded = Embedded(
            ca=_take(cluster, "certificate-authority"),
            certificate=_take(user, "client-certificate"),
            key=_take(user, "client-key"),
        )
        self._good_until: dt.datetime | None = None

    @property
    def server(self) -> object:
        """The server's address, as it is written."""
        return self._cluster.safe_get("server") if self._cluster else None

    def forget_plugin(self) -> None:
        """Ask the plugin anew, whatever it said."""
        self._good_until = None

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin when its credential is about to end; take a token, a certificate or both.

        One that names no expiry is kept until it is refused.
        """
        if self._good_until is not None and dt.datetime.now(dt.UTC) < self._good_until:
            return True
        assert self._user  # noqa: S101 - the library calls this for a user with a plugin
        status = await ExecProvider(self._user["exec"]).run()
        token = status.get("token")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        if not token and not certificate:
            raise ConfigException("exec: the plugin gave neither token nor clientCertificateData")
        if bool(certificate) != bool(key):
            raise ConfigException("exec: clientCertificateData and clientKeyData belong together")
        expiry = status.get("expirationTimestamp")
        if expiry:
            self._good_until = parse_rfc3339(expiry) - EARLY
        else:
            self._good_until = dt.datetime.max.replace(tzinfo=dt.UTC)
        if token:
            self.token = f"Bearer {token}"
        if certificate:
            self.embedded.certificate, self.embedded.key = certificate.encode(), key.encode()
        return True

    async def _refresh_oidc(self, provider: Any) -> None:
        """Get a new token from the identity provider, without a file for its CA."""
        config = provider["config"]
        if "refresh-token" not in config:
            raise ConfigException("oidc: the id-token has ended, and there is no refresh-token")
        ca = self._retrieve_oidc_cacert(provider)
        # The library would take any server for the provider where no CA is named, and choke on the
        # file that it makes where one is: a context of ours is right in both cases.
        trust = ssl.create_default_context(cadata=ca and ca.decode("ascii", "ignore"))
        requestor = OpenIDRequestor(
            config["client-id"], config["client-secret"], config["idp-issuer-url"], trust
        )
        answer = await requestor.refresh_token(config["refresh-token"])
        config.value["id-token"] = answer["id_token"]
        config.value["refresh-token"] = answer["refresh_token"]


def _take(node: Any, name: str) -> bytes | None:
    """Remove what is embedded under a name, which goes before a file of that name; decode it."""
    if not node or not node.safe_get(f"{name}-data"):
        return None
    node.value.pop(name, None)
    try:
        return base64.b64decode("".join(node.value.pop(f"{name}-data").split()), validate=True)
    except binascii.Error as error:
        raise ConfigException(f"{name}-data is not base64: {error}") from error
