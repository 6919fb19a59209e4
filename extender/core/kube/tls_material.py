"""What a connection to the API server needs of TLS, as bytes; equal bytes make equal contexts."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubernetes_asyncio.client import Configuration

from extender.core.certificates import no_password


@dataclass(slots=True)
class Embedded:
    """What a kubeconfig or its plugin says, and a Configuration has no place for: PEM in it."""

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    impersonation: tuple[tuple[str, str], ...] = ()
    """Headers of each request."""


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
                context.load_cert_chain(certificate, key, password=no_password)
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


_NOT_EXECUTABLE: Final = 0x0008
"""MFD_NOEXEC_SEAL: Linux 6.3 and newer can be set up to refuse memory files without it."""


@contextlib.contextmanager
def memory_file(content: bytes) -> Iterator[str]:
    """Yield a file name under which this process, and no other user, reads `content`.

    Nothing is written to any file system, and nothing outlives the process, however it ends. Where
    there is no memfd (only Linux has it) the name is that of a pipe, which can be read once and
    holds what the kernel lets it, 16 KiB at least; where there is not even /dev/fd, an OSError says
    so.
    """
    folder = next((name for name in ("/proc/self/fd", "/dev/fd") if Path(name).is_dir()), None)
    if folder is None:
        raise OSError("embedded keys need /dev/fd, which is missing: use files instead")
    reader = _memfd(content)
    if reader is None:
        reader = _pipe(content)
    try:
        yield f"{folder}/{reader}"
    finally:
        os.close(reader)


def _memfd(content: bytes) -> int | None:
    """Open a memory file that holds `content`; None where the system has none."""
    if not hasattr(os, "memfd_create"):
        return None
    for flags in (os.MFD_CLOEXEC | _NOT_EXECUTABLE, os.MFD_CLOEXEC):
        with contextlib.suppress(OSError):
            opened = os.memfd_create("credentials", flags)
            return _written(opened, opened, content)
    return None


def _pipe(content: bytes) -> int:
    """Open a pipe with `content` in it and nothing to follow."""
    reader, writer = os.pipe()
    try:
        # More than it holds would otherwise wait for a reader that comes afterwards.
        os.set_blocking(writer, False)
        return _written(reader, writer, content)
    finally:
        os.close(writer)


def _written(reader: int, writer: int, content: bytes) -> int:
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(writer, rest) :]
    except OSError:
        os.close(reader)
        raise
    return reader
