"""PEM files: when certificates end, which have changed, and keys that need no password."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NoReturn

_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

_VERSION, _UTC_TIME = 0xA0, 0x17


def not_after(pem: bytes) -> dt.datetime:
    """Return the end of the first to end of a chain of certificates; raise ValueError for none."""
    ends = [_not_after(ssl.PEM_cert_to_DER_cert(one.decode("ascii"))) for one in _PEM.findall(pem)]
    return min(ends)


def _not_after(der: bytes) -> dt.datetime:
    certificate, _ = _element(der, 0)
    fields, _ = _element(certificate, 0)
    at = 0
    if fields[0] == _VERSION:
        _, at = _element(fields, at)
    for _ in ("serial number", "signature algorithm", "issuer"):  # RFC 5280, 4.1
        _, at = _element(fields, at)
    validity, _ = _element(fields, at)
    _, at = _element(validity, 0)
    content, _ = _element(validity, at)
    text = content.decode("ascii")
    if validity[at] == _UTC_TIME:
        text = ("20" if text < "50" else "19") + text  # RFC 5280, 4.1.2.5.1
    return dt.datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=dt.UTC)


def _element(der: bytes, at: int) -> tuple[bytes, int]:
    """Return the content of the element there, and where the next one begins."""
    length, start = der[at + 1], at + 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[at + 2 : start], "big")
    return der[start : start + length], start + length


def fingerprint(files: Iterable[Path]) -> bytes:
    """Digest the content of files; one that cannot be read counts as its error."""
    digest = hashlib.sha256()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            content = str(error).encode()
        digest.update(hashlib.sha256(content).digest())
    return digest.digest()


def no_password() -> NoReturn:
    """Refuse to decrypt; without this, OpenSSL would ask on the terminal and wait."""
    raise ValueError("the private key is protected by a password; use one without")
