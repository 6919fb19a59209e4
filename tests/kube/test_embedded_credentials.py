"""Certificates and keys that a kubeconfig file carries itself: never in a file, and rotated."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shlex
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import trustme
import yaml
from aiohttp import web
from cryptography.hazmat.primitives import serialization

from extender.core.errors import ConfigError, UnreadableError
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import in_cluster_credentials, kubeconfig_credentials
from extender.core.kube.failures import NoAnswerError
from extender.core.kube.tls_material import memory_file
from tests.clock import Clock
from tests.kube.fake_api import FakeApi
from tests.kube.pulse import Pulse
from tests.kube.rig import PATH


@pytest.fixture(autouse=True)
def _no_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a temporary file")

    for name in ("mkstemp", "NamedTemporaryFile", "TemporaryFile"):
        monkeypatch.setattr(tempfile, name, refuse)


@pytest.fixture(scope="module")
def servers() -> trustme.CA:
    """Issuer of the API server's certificate."""
    return trustme.CA()


@pytest.fixture(scope="module")
def clients() -> trustme.CA:
    """Issuer of the clients' certificates."""
    return trustme.CA()


@pytest.fixture
def context(servers: trustme.CA, clients: trustme.CA) -> ssl.SSLContext:
    """TLS of a server that asks for a certificate of `clients`."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    servers.issue_cert("127.0.0.1").configure_cert(made)
    clients.configure_trust(made)
    made.verify_mode = ssl.CERT_REQUIRED
    return made


@pytest.fixture
async def api(context: ssl.SSLContext) -> AsyncIterator[FakeApi]:
    """Listen with that."""
    async with FakeApi(Pulse(), tls=context) as served:
        served.collection(PATH)
        yield served


def data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def user_of(authority: trustme.CA) -> dict[str, Any]:
    issued = authority.issue_cert("client@test")
    return {
        "client-certificate-data": data(b"".join(one.bytes() for one in issued.cert_chain_pems)),
        "client-key-data": data(issued.private_key_pem.bytes()),
    }


def write(folder: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:
    """Write a kubeconfig file, over an earlier one."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def ca(authority: trustme.CA) -> dict[str, str]:
    return {"certificate-authority-data": data(authority.cert_pem.bytes())}


@pytest.fixture(params=["memory file", "old kernel", "pipe"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand keys to OpenSSL in each of the ways there are."""
    real = os.memfd_create

    def old(name: str, flags: int) -> int:
        if flags != os.MFD_CLOEXEC:
            raise OSError(22, "Invalid argument")
        return real(name, flags)

    if request.param == "old kernel":
        monkeypatch.setattr(os, "memfd_create", old)
    elif request.param == "pipe":
        monkeypatch.delattr(os, "memfd_create")


@pytest.mark.usefixtures("way")
async def test_embedded_certificates_get_through(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    opened = len(os.listdir("/dev/fd"))  # noqa: PTH208 - Path.iterdir opens one lazily
    found = await kubeconfig_credentials(write(tmp_path, api.url, user_of(clients), **ca(servers)))
    assert len(os.listdir("/dev/fd")) == opened, "descriptors are given back"  # noqa: PTH208
    async with ApiClient(found) as client:
        await client.get(PATH, {})


async def test_a_file_that_is_named_as_well_is_not_looked_at(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    named = {"client-certificate": "none.pem", "client-key": "none.pem"}
    path = write(
        tmp_path,
        api.url,
        named | user_of(clients),
        **{"certificate-authority": "none.pem"},
        **ca(servers),
    )
    async with ApiClient(await kubeconfig_credentials(path)) as client:
        await client.get(PATH, {})


async def test_a_rotated_kubeconfig_is_taken_over(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    clock = Clock()
    other = trustme.CA()
    path = write(tmp_path, api.url, user_of(other), **ca(other))
    async with ApiClient(await kubeconfig_credentials(path, clock=clock)) as client:
        with pytest.raises(NoAnswerError, match="certificate of the server is not trusted"):
            await client.get(PATH, {})
        write(tmp_path, api.url, user_of(clients), **ca(servers))
        clock.now = 60.0
        await client.get(PATH, {})


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"client-certificate-data": "!", "client-key-data": "!"}, id="no base64"),
        pytest.param(
            {"client-certificate-data": data(b"x"), "client-key-data": data(b"x")}, id="no PEM"
        ),
    ],
)
async def test_a_broken_rotation_keeps_what_there_is_until_it_is_mended(
    tmp_path: Path,
    servers: trustme.CA,
    clients: trustme.CA,
    broken: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    path = write(tmp_path, "https://127.0.0.1:1", user_of(clients), **ca(servers))
    found = await kubeconfig_credentials(path, clock=clock)
    before = found.tls
    write(tmp_path, "https://127.0.0.1:1", broken, **ca(servers))
    clock.now = 60.0
    assert await found.authorization() is None
    assert found.tls is before
    assert "keeping what we have" in caplog.text
    write(tmp_path, "https://127.0.0.1:1", user_of(clients), **ca(servers))
    clock.now = 120.0
    await found.authorization()
    assert found.tls is not before


async def test_another_server_needs_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    found = await kubeconfig_credentials(
        write(tmp_path, "http://one:1", {"token": "a"}), clock=clock
    )
    write(tmp_path, "http://two:1", {"token": "b"})
    clock.now = 60.0
    assert await found.authorization() == "Bearer a"
    assert found.host == "http://one:1"
    assert "the server is now http://two:1: restart to use it" in caplog.text


async def test_a_token_that_is_gone_from_the_file_is_not_sent_any_more(tmp_path: Path) -> None:
    clock = Clock()
    found = await kubeconfig_credentials(
        write(tmp_path, "http://one:1", {"token": "a"}), clock=clock
    )
    write(tmp_path, "http://one:1", {})
    clock.now = 60.0
    assert await found.authorization() is None


@pytest.mark.parametrize("source", ["service account", "kubeconfig"])
async def test_a_rotated_ca_file_of_the_api_server_is_read_again(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA, source: str
) -> None:
    clock = Clock()
    ca_file, token_file = tmp_path / "ca.crt", tmp_path / "token"
    trustme.CA().cert_pem.write_to_path(str(ca_file))
    token_file.write_text("first")
    if source == "kubeconfig":
        path = write(tmp_path, api.url, user_of(clients), **{"certificate-authority": "ca.crt"})
        found = await kubeconfig_credentials(path, clock=clock)
        async with ApiClient(found) as client:
            with pytest.raises(NoAnswerError, match="certificate of the server is not trusted"):
                await client.get(PATH, {})
            servers.cert_pem.write_to_path(str(ca_file))
            clock.now = 60.0
            await client.get(PATH, {})
        return
    port = str(api.port)
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
    found = await in_cluster_credentials(
        token_file=str(token_file), ca_file=str(ca_file), environ=environ, clock=clock
    )
    before = found.tls
    servers.cert_pem.write_to_path(str(ca_file))
    clock.now = 60.0
    await found.authorization()
    assert found.tls is not None
    assert before is not None
    trusted = [each.get_ca_certs(binary_form=True) for each in (before, found.tls)]
    assert trusted[1] == [ssl.PEM_cert_to_DER_cert(servers.cert_pem.bytes().decode())]
    assert trusted[0] != trusted[1]


async def test_a_ca_with_remarks_in_any_language_is_read(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    (tmp_path / "ca.pem").write_bytes("# Schlüssel für alle\n".encode() + servers.cert_pem.bytes())
    path = write(tmp_path, api.url, user_of(clients), **{"certificate-authority": "ca.pem"})
    async with ApiClient(await kubeconfig_credentials(path)) as client:
        await client.get(PATH, {})


async def test_a_key_with_a_password_is_refused_instead_of_asked_for(
    tmp_path: Path, clients: trustme.CA, servers: trustme.CA
) -> None:
    user = user_of(clients)
    key = serialization.load_pem_private_key(base64.b64decode(user["client-key-data"]), None)
    user["client-key-data"] = data(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    path = write(tmp_path, "https://127.0.0.1:1", user, **ca(servers))
    with pytest.raises(ConfigError, match="protected by a password"):
        await kubeconfig_credentials(path)


# Plugins


def plugin(folder: Path, status: dict[str, Any]) -> dict[str, Any]:
    """Make an exec plugin that says this, and return its user."""
    api_version = "client.authentication.k8s.io/v1"
    said = folder / "said.json"
    said.write_text(
        json.dumps({"apiVersion": api_version, "kind": "ExecCredential", "status": status})
    )
    run = {"apiVersion": api_version, "command": "/bin/sh"}
    return {"exec": {**run, "args": ["-c", f"cat {shlex.quote(str(said))}"]}}


def given(authority: trustme.CA) -> dict[str, Any]:
    issued = authority.issue_cert("client@test")
    return {
        "clientCertificateData": issued.cert_chain_pems[0].bytes().decode(),
        "clientKeyData": issued.private_key_pem.bytes().decode(),
    }


async def test_the_certificate_of_a_plugin_gets_through_and_is_renewed(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    clock = Clock()
    ending = {"expirationTimestamp": "2020-01-01T00:00:00Z"}
    user = plugin(tmp_path, {**given(trustme.CA()), **ending})
    path = write(tmp_path, api.url, user, **ca(servers))
    async with ApiClient(await kubeconfig_credentials(path, clock=clock)) as client:
        with pytest.raises(NoAnswerError):
            await client.get(PATH, {})
        plugin(tmp_path, {**given(clients), **ending})
        clock.now = 60.0
        await client.get(PATH, {})


async def test_a_refused_certificate_of_a_plugin_is_replaced(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    path = write(tmp_path, api.url, plugin(tmp_path, given(clients)), **ca(servers))
    found = await kubeconfig_credentials(path, clock=Clock())
    assert not await found.renew(None)
    plugin(tmp_path, given(clients))
    assert await found.renew(None)


async def test_a_plugin_may_give_a_token_and_a_certificate(
    tmp_path: Path, api: FakeApi, servers: trustme.CA, clients: trustme.CA
) -> None:
    api.tokens = {"both"}
    user = plugin(tmp_path, {**given(clients), "token": "both"})
    path = write(tmp_path, api.url, user, **ca(servers))
    async with ApiClient(await kubeconfig_credentials(path)) as client:
        await client.get(PATH, {})


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param({}, "gave neither token nor clientCertificateData", id="nothing"),
        pytest.param({"clientCertificateData": "x"}, "belong together", id="no key"),
        pytest.param({"token": "x", "clientKeyData": "x"}, "belong together", id="a key alone"),
    ],
)
async def test_a_plugin_that_gives_too_little_is_an_error(
    tmp_path: Path, status: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, "https://127.0.0.1:1", plugin(tmp_path, status))
    with pytest.raises(ConfigError, match=message):
        await kubeconfig_credentials(path)


# OpenID Connect


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the library's
@pytest.mark.parametrize("named", [True, False], ids=["a CA of its own", "no CA named"])
async def test_an_identity_provider_is_verified_without_a_file(
    tmp_path: Path, servers: trustme.CA, *, named: bool
) -> None:
    async def discover(request: web.Request) -> web.Response:
        return web.json_response({"token_endpoint": f"https://{request.host}/token"})

    async def token(_: web.Request) -> web.Response:
        return web.json_response({"id_token": "new", "refresh_token": "next"})

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    servers.issue_cert("127.0.0.1").configure_cert(tls)
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", discover)
    app.router.add_post("/token", token)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    config = {
        "client-id": "i",
        "client-secret": "s",
        "idp-issuer-url": f"https://127.0.0.1:{runner.addresses[0][1]}",
        "refresh-token": "r",
    }
    if named:
        config["idp-certificate-authority-data"] = data(servers.cert_pem.bytes())
    user = {"auth-provider": {"name": "oidc", "config": config}}
    path = write(tmp_path, "http://127.0.0.1:1", user)
    try:
        if named:
            assert await (await kubeconfig_credentials(path)).authorization() == "Bearer new"
        else:
            with pytest.raises(ConfigError, match="certificate verify failed"):
                await kubeconfig_credentials(path)
    finally:
        await runner.cleanup()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the library's
async def test_an_identity_provider_that_hangs_up_costs_no_credentials(tmp_path: Path) -> None:
    hanging_up = False
    ended = f"x.{data(json.dumps({'exp': 0}).encode())}.x"

    async def answer(request: web.Request) -> web.Response:
        if hanging_up and request.transport is not None:
            request.transport.close()
        where = f"http://{request.host}/token"
        return web.json_response({"token_endpoint": where, "id_token": ended, "refresh_token": "b"})

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    config = {
        "client-id": "i",
        "client-secret": "s",
        "idp-issuer-url": f"http://127.0.0.1:{runner.addresses[0][1]}",
        "refresh-token": "r",
    }
    user = {"auth-provider": {"name": "oidc", "config": config}}
    path = write(tmp_path, "http://127.0.0.1:1", user)
    try:
        found = await kubeconfig_credentials(path)
        hanging_up = True
        assert not await found.renew(f"Bearer {ended}")
        assert await found.authorization() == f"Bearer {ended}"
        with pytest.raises(UnreadableError, match="disconnected"):
            await kubeconfig_credentials(path)
    finally:
        await runner.cleanup()


# Memory files


@pytest.mark.usefixtures("way")
def test_a_memory_file_is_read_by_its_name() -> None:
    with memory_file(b"secret") as name, open(name, "rb") as opened:  # noqa: PTH123 - no folder
        assert opened.read() == b"secret"


def test_more_than_a_pipe_holds_is_an_error_and_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(OSError), memory_file(bytes(8 << 20)):  # noqa: PT011 - any
        pass


async def test_when_the_certificate_ends_is_told(
    tmp_path: Path, servers: trustme.CA, clients: trustme.CA
) -> None:
    ends = dt.datetime(2031, 5, 6, 7, 8, 9, tzinfo=dt.UTC)
    issued = clients.issue_cert("client@test", not_after=ends)
    user = {
        "client-certificate-data": data(b"".join(one.bytes() for one in issued.cert_chain_pems)),
        "client-key-data": data(issued.private_key_pem.bytes()),
    }
    found = await kubeconfig_credentials(write(tmp_path, "https://a.test", user, **ca(servers)))
    assert found.certificate_ends == ends.timestamp()
    found = await kubeconfig_credentials(write(tmp_path, "https://a.test", {}, **ca(servers)))
    assert found.certificate_ends is None
