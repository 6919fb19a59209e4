"""Where credentials come from, and how they stay good: token files, plugins, certificates."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import shlex
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from extender.core.errors import ConfigError, ExtenderError
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import (
    in_cluster_credentials,
    kubeconfig_credentials,
    load_credentials,
    namespace_of_context,
)
from extender.core.kube.limits import RequestSeconds
from tests.clock import Clock
from tests.kube.fake_api import FakeApi
from tests.kube.pulse import Pulse
from tests.kube.rig import PATH

# The library compares expiries by a function that newer Pythons deprecate.
pytestmark = pytest.mark.filterwarnings("ignore:.*utcnow:DeprecationWarning")


def kubeconfig(
    folder: Path, user: dict[str, Any], server: str = "http://127.0.0.1:1", **cluster: Any
) -> str:
    """Write a kubeconfig file with one current context and one other."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [
            {"name": "c", "cluster": {"server": server, **cluster}},
            {"name": "d", "cluster": {"server": "http://other:1"}},
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "main", "context": {"cluster": "c", "user": "u"}},
            {"name": "other", "context": {"cluster": "d", "user": "u"}},
        ],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


async def test_token_of_a_kubeconfig(tmp_path: Path) -> None:
    found = await kubeconfig_credentials(kubeconfig(tmp_path, {"token": "abc"}))
    assert found.host == "http://127.0.0.1:1"
    assert await found.authorization() == "Bearer abc"
    assert found.tls is None


async def test_other_context_by_name(tmp_path: Path) -> None:
    found = await kubeconfig_credentials(kubeconfig(tmp_path, {"token": "abc"}), "other")
    assert found.host == "http://other:1"


async def test_user_with_a_password(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"username": "me", "password": "pw"})
    found = await kubeconfig_credentials(path)
    assert await found.authorization() == f"Basic {base64.b64encode(b'me:pw').decode()}"


async def test_proxy_and_server_name_of_a_kubeconfig(tmp_path: Path) -> None:
    path = kubeconfig(
        tmp_path, {}, **{"proxy-url": "http://proxy:8080", "tls-server-name": "kube.test"}
    )
    found = await kubeconfig_credentials(path)
    assert (found.proxy, found.tls_server_name) == ("http://proxy:8080", "kube.test")
    assert await found.authorization() is None


@pytest.mark.parametrize(
    ("text", "context"),
    [
        pytest.param(None, None, id="no such file"),
        pytest.param("", None, id="an empty file"),
        pytest.param("a: [b", None, id="no YAML"),
        pytest.param("[1, 2]", None, id="YAML of another kind"),
        pytest.param("apiVersion: v1\nkind: Config\n", None, id="nothing in it"),
        pytest.param("good", "missing", id="a context that is not there"),
    ],
)
async def test_unusable_kubeconfig_names_the_setting(
    tmp_path: Path, text: str | None, context: str | None
) -> None:
    path = tmp_path / "kubeconfig"
    if text == "good":
        kubeconfig(tmp_path, {})
    elif text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=r"^clientConnection\.kubeconfig: .+"):
        await kubeconfig_credentials(str(path), context)


async def test_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    token = tmp_path / "token"
    token.write_text("first\n")
    path = kubeconfig(tmp_path, {"tokenFile": "token"})
    found = await kubeconfig_credentials(path, clock=clock)
    token.write_text("second\n")
    assert await found.authorization() == "Bearer first"
    clock.now = 60.0
    assert await found.authorization() == "Bearer second"
    token.unlink()
    clock.now = 120.0
    assert await found.authorization() == "Bearer second"


# Plugins


class Plugin:
    """An exec plugin that prints what its file says and counts its runs."""

    def __init__(self, folder: Path) -> None:
        self._says = folder / "says.json"
        self._runs = folder / "runs"
        self._runs.write_text("")
        script = folder / "plugin.sh"
        script.write_text(
            f"echo run >> {shlex.quote(str(self._runs))}\nexec cat {shlex.quote(str(self._says))}\n"
        )
        self.user = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "/bin/sh",
                "args": [str(script)],
            }
        }

    @property
    def runs(self) -> int:
        return len(self._runs.read_text().splitlines())

    def say(self, token: str, *, minutes: float | None = None) -> None:
        """Make it give a token, with an expiry in so many minutes from now."""
        given: dict[str, str] = {"token": token}
        if minutes is not None:
            expiry = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)
            given["expirationTimestamp"] = expiry.strftime("%Y-%m-%dT%H:%M:%SZ")
        api_version = self.user["exec"]["apiVersion"]
        credential = {"apiVersion": api_version, "kind": "ExecCredential", "status": given}
        self._says.write_text(json.dumps(credential))

    def fail(self) -> None:
        self._says.unlink()

    def hang(self, *, stubborn: bool) -> Path:
        """Make it wait for a child without end; return where both write who they are."""
        pids = self._runs.with_name("pids")
        written = f"echo run >> {shlex.quote(str(self._runs))}\n"
        written += "trap '' TERM INT\n" if stubborn else ""
        written += f"sleep 1000 & echo $$ $! >> {shlex.quote(str(pids))}\nwait\n"
        self._runs.with_name("plugin.sh").write_text(written)
        return pids


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    if sys.platform == "win32":
        pytest.skip("the plugin is a shell script")
    return Plugin(tmp_path)


@pytest.mark.parametrize(
    ("minutes", "runs", "header"),
    [
        pytest.param(None, 1, "Bearer first", id="a token without expiry is kept"),
        pytest.param(60, 1, "Bearer first", id="a token that holds for long is kept"),
        pytest.param(4, 2, "Bearer second", id="a token about to expire is replaced"),
    ],
)
async def test_plugin_runs_when_its_token_is_about_to_expire(
    tmp_path: Path, plugin: Plugin, minutes: float | None, runs: int, header: str
) -> None:
    clock = Clock()
    plugin.say("first", minutes=minutes)
    found = await kubeconfig_credentials(kubeconfig(tmp_path, plugin.user), clock=clock)
    plugin.say("second", minutes=60)
    clock.now = 60.0
    assert await found.authorization() == header
    assert plugin.runs == runs


async def test_plugin_that_fails_once_is_asked_again(tmp_path: Path, plugin: Plugin) -> None:
    clock = Clock()
    plugin.say("first", minutes=4)
    found = await kubeconfig_credentials(kubeconfig(tmp_path, plugin.user), clock=clock)
    plugin.fail()
    clock.now = 60.0
    assert await found.authorization() == "Bearer first"
    plugin.say("second", minutes=60)
    assert await found.authorization() == "Bearer first"
    clock.now = 120.0
    assert await found.authorization() == "Bearer second"
    assert plugin.runs == 3


@pytest.mark.parametrize(
    "minutes", [pytest.param(None, id="without expiry"), pytest.param(60, id="with an expiry")]
)
async def test_refused_token_of_a_plugin_is_replaced_at_once(
    tmp_path: Path, plugin: Plugin, minutes: float | None
) -> None:
    plugin.say("first", minutes=minutes)
    found = await kubeconfig_credentials(kubeconfig(tmp_path, plugin.user), clock=Clock())
    plugin.say("second", minutes=minutes)
    assert await found.renew("Bearer first")
    assert await found.authorization() == "Bearer second"
    assert not await found.renew("Bearer second")
    assert await found.renew("Bearer first")
    assert plugin.runs == 3


async def test_plugin_that_fails_at_the_start_is_an_error(tmp_path: Path, plugin: Plugin) -> None:
    with pytest.raises(ConfigError, match=r"^clientConnection\.kubeconfig: .+"):
        await kubeconfig_credentials(kubeconfig(tmp_path, plugin.user))


HANGING = RequestSeconds(credentials=1.5, reading=0.1)


@pytest.mark.parametrize("stubborn", [False, True], ids=["a plain one", "one that ignores signals"])
async def test_plugin_that_hangs_is_ended_and_waited_for_only_shortly(
    tmp_path: Path, plugin: Plugin, monkeypatch: pytest.MonkeyPatch, *, stubborn: bool
) -> None:
    monkeypatch.setattr("extender.core.kube.credentials.WITHIN", HANGING)
    clock = Clock()
    plugin.say("first", minutes=4)
    found = await kubeconfig_credentials(kubeconfig(tmp_path, plugin.user), clock=clock)
    pids = plugin.hang(stubborn=stubborn)
    clock.now = 60.0
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await found.authorization() == "Bearer first"
    # The reading goes on: nobody else waits for it, and it is the only one.
    assert asyncio.all_tasks() - {asyncio.current_task()}
    assert loop.time() - began < HANGING.credentials
    assert await found.authorization() == "Bearer first"
    assert not await found.renew("Bearer first")
    assert plugin.runs == 2 + 1
    assert_gone(pids)


async def test_plugin_that_hangs_at_the_start_is_ended(
    tmp_path: Path, plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extender.core.kube.credentials.WITHIN", HANGING)
    pids = plugin.hang(stubborn=False)
    with pytest.raises(ConfigError, match=r"^clientConnection\.kubeconfig: no credentials in"):
        await kubeconfig_credentials(kubeconfig(tmp_path, plugin.user))
    assert_gone(pids)


def assert_gone(pids: Path) -> None:
    """Fail if one of these processes still runs; one that has ended may wait to be reaped."""
    for pid in pids.read_text().split():
        stat = Path(f"/proc/{pid}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in {"Z", "X"}


# In the cluster


async def test_rotated_service_account_token_is_used(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    ca_file, token_file = tmp_path / "ca.crt", tmp_path / "token"
    authority.cert_pem.write_to_path(str(ca_file))
    token_file.write_text("first\n")
    clock = Clock()
    async with FakeApi(Pulse(), tls=context) as api:
        api.collection(PATH)
        api.tokens = {"first"}
        found = await in_cluster_credentials(
            token_file=str(token_file),
            ca_file=str(ca_file),
            environ={
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(api.port),
            },
            clock=clock,
        )
        async with ApiClient(found) as client:
            await client.get(PATH, {})
            token_file.write_text("second\n")
            api.tokens = {"first", "second"}
            clock.now = 60.0
            await client.get(PATH, {})
            token_file.write_text("third")
            api.tokens = {"third"}
            await client.get(PATH, {})
    assert [seen.headers["Authorization"] for seen in api.seen] == [
        "Bearer first",
        "Bearer second",
        "Bearer second",
        "Bearer third",
    ]


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="not in a Pod"),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
            id="a Pod without a token",
        ),
    ],
)
async def test_missing_service_account_is_an_error(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"^in-cluster: .+"):
        await in_cluster_credentials(token_file=str(tmp_path / "none"), environ=environ)


@pytest.mark.parametrize(
    ("named", "environ", "host"),
    [
        pytest.param(True, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "named", id="a file named"),
        pytest.param(False, {"KUBECONFIG": "other"}, "other", id="the file in the environment"),
    ],
)
async def test_choice_of_credentials(
    tmp_path: Path,
    named: bool,
    environ: dict[str, str],
    host: str,
) -> None:
    paths = {}
    for name in ("named", "other"):
        folder = tmp_path / name
        folder.mkdir()
        paths[name] = kubeconfig(folder, {}, server=f"http://{name}:1")
    environ = {key: paths.get(value, value) for key, value in environ.items()}
    found = await load_credentials(paths["named"] if named else None, environ=environ)
    assert found.host == f"http://{host}:1"


@pytest.mark.parametrize("named", [True, False])
def test_the_namespace_is_that_of_the_file_whose_credentials_are_taken(
    tmp_path: Path, named: bool
) -> None:
    path = tmp_path / "config"
    context = {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "here"}}
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [context],
                "clusters": [{"name": "c", "cluster": {"server": "http://x:1"}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    environ = {} if named else {"KUBECONFIG": str(path)}
    assert namespace_of_context(str(path) if named else None, None, environ) == "here"


async def test_pod_uses_its_service_account() -> None:
    with pytest.raises(ConfigError, match="in-cluster"):
        await load_credentials(
            environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        )


# Client certificates


async def test_rotated_client_certificate_is_used_for_new_connections(tmp_path: Path) -> None:
    servers, old, new = trustme.CA(), trustme.CA(), trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    servers.issue_cert("127.0.0.1").configure_cert(context)
    new.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    servers.cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    def write(authority: trustme.CA) -> None:
        certificate = authority.issue_cert("client@test")
        certificate.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "client.pem"))

    write(old)
    async with FakeApi(Pulse(), tls=context) as api:
        api.collection(PATH)
        user = {"client-certificate": "client.pem", "client-key": "client.pem"}
        authority = {"certificate-authority": "ca.pem"}
        clock = Clock()
        path = kubeconfig(tmp_path, user, api.url, **authority)
        async with ApiClient(await kubeconfig_credentials(path, clock=clock)) as client:
            with pytest.raises(ExtenderError):
                await client.get(PATH, {})
            write(new)
            clock.now = 60.0
            await client.get(PATH, {})
    assert len(api.seen) == 1
