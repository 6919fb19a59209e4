"""What a connection to the API server needs of TLS, as bytes; equal bytes make equal contexts."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from extender.kube.memory_files import memory_file

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration


@dataclass(slots=True)
class Embedded:
    """PEM that a kubeconfig file or its plugin carries itself, instead of naming files."""

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None


@dataclass(frozen=True, slots=True)
class TLSMaterial:
    """Whom to trust, and who we are; all PEM."""

    ca: bytes | None
    """None trusts the CAs of the system."""

    certificate: bytes | None
    """The client's certificate and its chain; None shows none."""

    key: bytes | None
    """Its private key; None: in the same text as the certificate."""

    verify: bool
    """False takes any server for the API server."""

    def context(self) -> ssl.SSLContext:
        """Build a client's context; raise OSError or ValueError for what is no key or certificate.

        Nothing is written to a file system on the way: OpenSSL takes a CA as text, but a private
        key only from a file, which here is one in memory.
        """
        # Only its base64 matters; comments in any language may stand around it.
        ca = None if self.ca is None else self.ca.decode("ascii", "ignore")
        context = ssl.create_default_context(cadata=ca)
        # Certificates made by kubeadm and others lack extensions that Python 3.13 would insist on.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate is not None:
            with (
                memory_file(self.certificate) as certificate,
                memory_file(self.key or self.certificate) as key,
            ):
                context.load_cert_chain(certificate, key, password=_no_password)
        return context


def read_material(configuration: Configuration, embedded: Embedded) -> TLSMaterial | None:
    """Read what is embedded and the files that are named; None for a server without TLS.

    Raises OSError for a file that cannot be read.
    """
    if not str(configuration.host).startswith("https"):
        return None
    return TLSMaterial(
        ca=embedded.ca or _content(configuration.ssl_ca_cert),
        certificate=embedded.certificate or _content(configuration.cert_file),
        key=embedded.key or _content(configuration.key_file),
        verify=bool(configuration.verify_ssl),
    )


def _content(name: str | None) -> bytes | None:
    return Path(name).read_bytes() if name else None


def _no_password() -> NoReturn:
    """Refuse to decrypt; without this, OpenSSL would ask on the terminal and wait."""
    raise ValueError("the private key is protected by a password; use one without")
