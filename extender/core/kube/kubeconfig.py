"""One context of a kubeconfig file as a configuration, its secrets kept in memory.

`clientcmd` reads the files. kubernetes_asyncio gets what is left to it: users of an identity
provider, and the configuration to fill. It would write embedded certificates and keys into the
temporary folder, where they stay when the process is killed, and which a container with a read-only
root does not have.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import ssl
from typing import Any, Final

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.dateutil import parse_rfc3339
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
from kubernetes_asyncio.config.openid import OpenIDRequestor

from extender.core.certificates import fingerprint
from extender.core.kube.clientcmd import Acting, Chosen, bearer, choose, header
from extender.core.kube.kubeconfig_file import files_of
from extender.core.kube.plugin import run_plugin
from extender.core.kube.tls_material import Embedded

EARLY: Final = dt.timedelta(minutes=5)
"""How long before its end a plugin's credential is replaced, as kubernetes_asyncio does it."""

_GO_ZERO_TIME: Final = "0001-01-01T00:00:00Z"
"""What Go writes for no time, which client-go takes for no end."""


class Kubeconfig:
    """Fills a configuration from one context, and again when the files have changed.

    `paths` are joined as in $KUBECONFIG; `context` None is the files' current one. What the files
    carry themselves instead of naming other files goes to `embedded`.
    """

    def __init__(
        self,
        paths: str,
        context: str | None,
        configuration: Configuration,
        embedded: Embedded,
        acting: Acting | None = None,
    ) -> None:
        self._paths = paths
        self._files = files_of(paths)
        self._context = context
        self._acting = acting
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
        self._embedded.impersonation = loader.embedded.impersonation
        self._loader, self._read = loader, read

    def _open(self) -> _Loader:
        loader = _Loader(choose(self._paths, self._context, self._acting))
        if self._loader is not None and loader.server != self._loader.server:
            # Connections, metrics and everything learnt so far belong to the old one.
            raise ConfigException(f"the server is now {loader.server}: restart to use it")
        return loader


class _Loader(KubeConfigLoader):
    """The library's reader of one context, without the places where it makes files."""

    def __init__(self, chosen: Chosen) -> None:
        super().__init__(_for_library(chosen))
        self._chosen = chosen
        self.server = chosen.server
        user, cluster = chosen.user, chosen.cluster
        self.embedded = Embedded(
            ca=_decoded(cluster.certificate_authority_data, "certificate-authority-data"),
            certificate=_decoded(user.client_certificate_data, "client-certificate-data"),
            key=_decoded(user.client_key_data, "client-key-data"),
            impersonation=user.impersonation(),
        )
        self._good_until: dt.datetime | None = None

    def forget_plugin(self) -> None:
        """Ask the plugin anew, whatever it said."""
        self._good_until = None

    async def _load_authentication(self) -> None:
        """Do as client-go does: a plugin is for those who have nothing else."""
        user = self._chosen.user
        if found := header(user):
            self.token = found
        elif user.auth_provider:
            await super()._load_authentication()
        elif user.exec and not (user.client_certificate or user.client_certificate_data):
            await self.load_from_exec_plugin()

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin when its credential is about to end; take a token, a certificate or both.

        One that names no expiry is kept until it is refused.
        """
        if self._good_until is not None and dt.datetime.now(dt.UTC) < self._good_until:
            return True
        plugin = self._chosen.user.exec
        assert plugin  # noqa: S101 - for a user with a plugin
        status = await run_plugin(plugin, self._chosen)
        token = status.get("token")
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        if not token and not certificate:
            raise ConfigException("exec: the plugin gave neither token nor clientCertificateData")
        if bool(certificate) != bool(key):
            raise ConfigException("exec: clientCertificateData and clientKeyData belong together")
        expiry = status.get("expirationTimestamp")
        if expiry and expiry != _GO_ZERO_TIME:
            try:
                self._good_until = parse_rfc3339(expiry) - EARLY
            except OverflowError as error:
                raise ConfigException(f"exec: expirationTimestamp {expiry!r}: {error}") from error
        else:
            self._good_until = dt.datetime.max.replace(tzinfo=dt.UTC)
        if token:
            self.token = bearer(str(token))
        if certificate and key:
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


def _for_library(chosen: Chosen) -> dict[str, Any]:
    """Write one context without what the library would read wrongly, or make files of.

    Fields that may have been there before are there, empty: it would keep what it read then.
    """
    cluster, user = chosen.cluster, chosen.user
    embedded = cluster.certificate_authority_data
    where = _given({"certificate-authority": None if embedded else cluster.certificate_authority})
    where |= {
        "server": chosen.server,
        "insecure-skip-tls-verify": bool(cluster.insecure_skip_tls_verify),
        "tls-server-name": cluster.tls_server_name or "",
        "proxy-url": cluster.proxy_url or "",
    }
    certificate = None if user.client_certificate_data else user.client_certificate
    with_key = (
        user.client_certificate or user.client_certificate_data
    ) and not user.client_key_data
    who = {
        "client-certificate": certificate,
        "client-key": user.client_key if with_key else None,
        "auth-provider": user.auth_provider,
    }
    return {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": where}],
        "users": [{"name": "it", "user": _given(who)}],
    }


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _decoded(data: str | None, name: str) -> bytes | None:
    if not data:
        return None
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except binascii.Error as error:
        raise ConfigException(f"{name} is not base64: {error}") from error
