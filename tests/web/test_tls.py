"""TLS between real sockets: who gets through, and what happens when files change."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.x509 import load_pem_x509_certificate

from extender.core.certificates import not_after
from extender.core.errors import ConfigError, UnreadableFileError
from extender.core.ports import Remark
from extender.core.web.tls import ServerTLS

NAMES = ("localhost", "127.0.0.1")


@dataclasses.dataclass
class Files:
    """The three files in a directory of their own."""

    directory: Path

    @property
    def cert(self) -> Path:
        """The server's certificate chain."""
        return self.directory / "tls.crt"

    @property
    def key(self) -> Path:
        """Its key."""
        return self.directory / "tls.key"

    @property
    def client_ca(self) -> Path:
        """The CAs that clients have to be of."""
        return self.directory / "ca.crt"

    def write_pair(self, issued: trustme.LeafCert) -> None:
        """Write certificate and key, one after the other."""
        self.cert.write_bytes(b"".join(one.bytes() for one in issued.cert_chain_pems))
        self.key.write_bytes(issued.private_key_pem.bytes())


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    """Trusted by clients, and by the server for clients."""
    return trustme.CA()


@pytest.fixture
def files(tmp_path: Path, ca: trustme.CA) -> Files:
    made = Files(tmp_path)
    made.write_pair(ca.issue_cert(*NAMES))
    ca.cert_pem.write_to_path(str(made.client_ca))
    return made


@contextlib.asynccontextmanager
async def listening(tls: ServerTLS) -> AsyncIterator[int]:
    """Greet whoever gets through, echo one line, and yield the port."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            writer.write(b"hello\n")
            writer.write(await reader.readline())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=tls.context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def client(ca: trustme.CA, issuer: trustme.CA | None = None) -> ssl.SSLContext:
    """Trust `ca`, and show a certificate of `issuer` if there is one."""
    context = ssl.create_default_context()
    ca.configure_trust(context)
    if issuer is not None:
        issuer.issue_cert("scheduler").configure_cert(context)
    return context


async def visit(port: int, context: ssl.SSLContext, name: str = "localhost") -> str:
    """Connect, be greeted, and return the serial number of the server's certificate."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname=name
    )
    try:
        assert await reader.readline() == b"hello\n"
        writer.write(b"bye\n")
        assert await reader.readline() == b"bye\n"
        return str(writer.get_extra_info("peercert")["serialNumber"])
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()


REFUSED = (ssl.SSLError, ConnectionError, AssertionError)


def serial(issued: trustme.LeafCert) -> str:
    certificate = load_pem_x509_certificate(issued.cert_chain_pems[0].bytes())
    text = f"{certificate.serial_number:X}"
    return text if len(text) % 2 == 0 else "0" + text


async def test_a_client_that_trusts_the_ca_is_greeted(files: Files, ca: trustme.CA) -> None:
    async with listening(ServerTLS(files.cert, files.key)) as port:
        await visit(port, client(ca))


async def test_a_client_that_does_not_trust_the_ca_leaves(files: Files) -> None:
    async with listening(ServerTLS(files.cert, files.key)) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await visit(port, client(trustme.CA()))


@pytest.mark.parametrize("attribute", ["context", "_current"])
def test_old_versions_and_resumption_are_off(files: Files, attribute: str) -> None:
    context: ssl.SSLContext = getattr(ServerTLS(files.cert, files.key), attribute)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.num_tickets == 0
    assert ssl.OP_NO_TICKET in context.options


@pytest.mark.parametrize("name", NAMES)
async def test_clients_are_known_by_their_ca(files: Files, ca: trustme.CA, name: str) -> None:
    tls = ServerTLS(files.cert, files.key, files.client_ca)
    async with listening(tls) as port:
        await visit(port, client(ca, ca), name)
        with pytest.raises(REFUSED):
            await visit(port, client(ca), name)
        with pytest.raises(REFUSED):
            await visit(port, client(ca, trustme.CA()), name)


@pytest.mark.parametrize("name", NAMES)
async def test_a_new_pair_is_shown_to_new_connections(
    files: Files, ca: trustme.CA, name: str
) -> None:
    outcomes: list[bool] = []
    tls = ServerTLS(files.cert, files.key, on_reload=outcomes.append)
    async with listening(tls) as port:
        before = await visit(port, client(ca), name)
        issued = ca.issue_cert(*NAMES)
        files.write_pair(issued)
        tls.refresh()
        after = await visit(port, client(ca), name)
    assert before != after == serial(issued)
    assert outcomes == [True]


async def test_an_open_connection_survives_a_change(files: Files, ca: trustme.CA) -> None:
    tls = ServerTLS(files.cert, files.key)
    async with listening(tls) as port:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client(ca), server_hostname="localhost"
        )
        assert await reader.readline() == b"hello\n"
        files.write_pair(ca.issue_cert(*NAMES))
        tls.refresh()
        writer.write(b"still here\n")
        assert await reader.readline() == b"still here\n"
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("name", NAMES)
async def test_a_new_client_ca_replaces_the_old_one(
    files: Files, ca: trustme.CA, name: str
) -> None:
    tls = ServerTLS(files.cert, files.key, files.client_ca)
    new = trustme.CA()
    async with listening(tls) as port:
        with pytest.raises(REFUSED):
            await visit(port, client(ca, new), name)
        new.cert_pem.write_to_path(str(files.client_ca))
        tls.refresh()
        await visit(port, client(ca, new), name)
        with pytest.raises(REFUSED):
            await visit(port, client(ca, ca), name)
        with pytest.raises(REFUSED):
            await visit(port, client(ca), name)


async def test_half_a_pair_keeps_the_old_one_until_the_rest_is_there(
    files: Files, ca: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes: list[bool] = []
    tls = ServerTLS(files.cert, files.key, on_reload=outcomes.append)
    issued = ca.issue_cert(*NAMES)
    async with listening(tls) as port:
        before = await visit(port, client(ca))
        files.cert.write_bytes(issued.cert_chain_pems[0].bytes())
        tls.refresh()
        tls.refresh()
        assert await visit(port, client(ca)) == before
        assert [one.levelname for one in caplog.records] == ["WARNING"], "told once"
        assert "key values mismatch" in caplog.text
        files.key.write_bytes(issued.private_key_pem.bytes())
        tls.refresh()
        assert await visit(port, client(ca)) == serial(issued)
    assert outcomes == [False, True]


async def test_a_pair_that_could_not_be_read_for_a_moment_is_taken_over_later(
    files: Files, ca: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where there are too many open files, just as a new certificate is mounted."""
    outcomes: list[bool] = []
    tls = ServerTLS(files.cert, files.key, on_reload=outcomes.append)
    issued = ca.issue_cert(*NAMES)
    files.write_pair(issued)
    with monkeypatch.context() as full:
        full.setattr(
            "extender.core.web.tls.unreadable",
            lambda _: [UnreadableFileError("serving.tlsCertFile", "too many open files")],
        )
        tls.refresh()
        assert isinstance(tls.check(), Remark)
    async with listening(tls) as port:
        tls.refresh()
        assert await visit(port, client(ca)) == serial(issued)
    assert outcomes == [False, True]
    assert tls.check() is None


@pytest.mark.parametrize("broken", ["cert", "key", "client_ca"])
async def test_a_file_that_goes_away_keeps_the_old_ones(
    files: Files, ca: trustme.CA, broken: str
) -> None:
    outcomes: list[bool] = []
    tls = ServerTLS(files.cert, files.key, files.client_ca, on_reload=outcomes.append)
    getattr(files, broken).unlink()
    tls.refresh()
    async with listening(tls) as port:
        await visit(port, client(ca, ca))
    assert outcomes == [False]


def test_files_that_are_written_again_unchanged_are_no_change(files: Files) -> None:
    outcomes: list[bool] = []
    tls = ServerTLS(files.cert, files.key, on_reload=outcomes.append)
    files.cert.write_bytes(files.cert.read_bytes())
    tls.refresh()
    assert outcomes == []


async def test_changes_are_followed_as_a_secret_is_mounted(tmp_path: Path, ca: trustme.CA) -> None:
    """The kubelet swaps a link to a directory, never the files themselves."""
    pairs = [ca.issue_cert(*NAMES) for _ in range(2)]
    for number, pair in enumerate(pairs):
        version = tmp_path / f"..{number}"
        version.mkdir()
        Files(version).write_pair(pair)
    data = tmp_path / "..data"
    data.symlink_to("..0")
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")

    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    mounted = Files(tmp_path)
    tls = ServerTLS(
        mounted.cert,
        mounted.key,
        on_reload=lambda _: loop.call_soon_threadsafe(changed.set),  # type: ignore[arg-type]
    )
    following = asyncio.create_task(tls.follow(interval=0.001))
    async with listening(tls) as port:
        assert await visit(port, client(ca)) == serial(pairs[0])
        fresh = tmp_path / "..data_tmp"
        fresh.symlink_to("..1")
        fresh.rename(data)
        async with asyncio.timeout(10):
            await changed.wait()
        assert await visit(port, client(ca)) == serial(pairs[1])
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


async def test_files_are_followed_after_an_unexpected_error(
    tmp_path: Path, ca: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path)
    files.write_pair(ca.issue_cert(*NAMES))
    tls, looked, looks = ServerTLS(files.cert, files.key), asyncio.Event(), 0

    async def without_threads(_: object) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise RuntimeError("can't start new thread")
        looked.set()

    monkeypatch.setattr(asyncio, "to_thread", without_threads)
    following = asyncio.create_task(tls.follow(interval=0.001))
    async with asyncio.timeout(10):
        await looked.wait()
    following.cancel()


def _without(name: str) -> str:
    return f"cannot read {{{name}}}: No such file or directory"


@pytest.mark.parametrize(
    ("file", "content", "path", "message"),
    [
        pytest.param("cert", None, "serving.tlsCertFile", _without("cert"), id="no certificate"),
        pytest.param("key", None, "serving.tlsPrivateKeyFile", _without("key"), id="no key"),
        pytest.param("client_ca", None, "serving.clientCAFile", _without("client_ca"), id="no CA"),
        pytest.param(
            "cert", b"x", "serving.tlsCertFile", "{cert} with the key {key}: ", id="not PEM"
        ),
        pytest.param(
            "key", b"x", "serving.tlsCertFile", "{cert} with the key {key}: ", id="a key not PEM"
        ),
        pytest.param("client_ca", b"x", "serving.clientCAFile", "{client_ca}: ", id="a CA not PEM"),
        pytest.param("client_ca", b"", "serving.clientCAFile", "{client_ca}: ", id="an empty CA"),
    ],
)
def test_files_that_cannot_be_used_at_the_start(
    files: Files, file: str, content: bytes | None, path: str, message: str
) -> None:
    target: Path = getattr(files, file)
    target.unlink() if content is None else target.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        ServerTLS(files.cert, files.key, files.client_ca)
    assert caught.value.path == path
    names = {"cert": files.cert, "key": files.key, "client_ca": files.client_ca}
    assert caught.value.message.startswith(message.format(**names))


def test_a_key_with_a_password_is_refused_instead_of_asked_for(files: Files) -> None:
    key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(ConfigError, match="protected by a password"):
        ServerTLS(files.cert, files.key)


# When it ends


def ending(ca: trustme.CA, days: float) -> tuple[trustme.LeafCert, dt.datetime]:
    """Issue a pair that ends so many days from now."""
    ends = (dt.datetime.now(dt.UTC) + dt.timedelta(days=days)).replace(microsecond=0)
    return ca.issue_cert(*NAMES, not_before=ends - dt.timedelta(days=30), not_after=ends), ends


@pytest.mark.parametrize(
    ("days", "said", "fails"),
    [
        pytest.param(30, None, False, id="it holds for long"),
        pytest.param(6, "ends on {}", False, id="it will end soon"),
        pytest.param(-1, "the certificate expired on {}", True, id="it has ended"),
    ],
)
def test_the_end_of_a_certificate_is_told(
    files: Files,
    ca: trustme.CA,
    caplog: pytest.LogCaptureFixture,
    days: float,
    said: str | None,
    *,
    fails: bool,
) -> None:
    issued, ends = ending(ca, days)
    files.write_pair(issued)
    told: list[float] = []
    tls = ServerTLS(files.cert, files.key, on_expiry=told.append)
    assert told == [ends.timestamp()]
    until = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    found = tls.check()
    assert found == (said and said.format(until))
    assert isinstance(found, Remark) == (said is not None and not fails)
    tls.warn_of_expiry()
    tls.warn_of_expiry()
    assert [until in line for line in caplog.messages] == ([] if said is None else [True])


def test_an_end_that_is_near_is_logged_once_an_hour(
    files: Files, ca: trustme.CA, caplog: pytest.LogCaptureFixture
) -> None:
    issued, ends = ending(ca, 6)
    files.write_pair(issued)
    now = ends.timestamp() - 3 * 3600
    tls = ServerTLS(files.cert, files.key, clock=lambda: now)
    for minutes in (0, 59, 60, 119, 120):
        now = ends.timestamp() - 3 * 3600 + minutes * 60
        tls.warn_of_expiry()
    assert len(caplog.messages) == 3


def test_files_of_no_use_are_told_and_do_not_fail_while_the_old_ones_hold(
    files: Files, ca: trustme.CA
) -> None:
    issued, ends = ending(ca, 30)
    files.write_pair(issued)
    now = ends.timestamp() - 86400 * 20
    tls = ServerTLS(files.cert, files.key, clock=lambda: now)
    files.cert.write_bytes(b"x")
    tls.refresh()
    found = tls.check()
    assert isinstance(found, Remark)
    assert "the files have changed and cannot be used: serving.tlsCertFile: " in found
    now = ends.timestamp()
    found = tls.check()
    assert found is not None
    assert not isinstance(found, Remark)
    assert found.startswith("the certificate expired on ")
    files.write_pair(ending(ca, 60)[0])
    tls.refresh()
    assert tls.check() is None


def test_the_first_to_end_of_a_chain_counts(ca: trustme.CA) -> None:
    late, ends = ending(ca, 20)
    early, first = ending(ca, 10)
    chain = b"".join(one.cert_chain_pems[0].bytes() for one in (late, early))
    assert not_after(chain) == first < ends


@pytest.mark.parametrize("year", [2049, 2050, 9999])
def test_years_are_read_in_both_forms(ca: trustme.CA, year: int) -> None:
    ends = dt.datetime(year, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
    issued = ca.issue_cert(*NAMES, not_after=ends)
    assert not_after(issued.cert_chain_pems[0].bytes()) == ends


def test_no_certificate_has_no_end() -> None:
    with pytest.raises(ValueError, match="empty"):
        not_after(b"")
