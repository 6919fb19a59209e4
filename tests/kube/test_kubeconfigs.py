"""Several files, paths relative to theirs, whom to act for, and what is refused, as by clientcmd.

tests/e2e/test_kubeconfig_differential.py compares far more cases with client-go itself.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from affinityctl import cli
from extender.core.errors import ConfigError
from extender.core.kube.client import ApiClient
from extender.core.kube.clientcmd import Acting, choose
from extender.core.kube.credentials import (
    in_cluster_credentials,
    kubeconfig_credentials,
    load_credentials,
    namespace_of_context,
)
from extender.core.kube.plugin import cluster_info
from tests.kube.live import made_current
from tests.kube.rig import PATH, Rig


def config(name: str, user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """Build a kubeconfig whose context, cluster and user have this name."""
    return {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.test", **cluster}}],
        "users": [{"name": name, "user": user or {"token": name}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": name}}],
    }


def written(folder: Path, **contents: Any) -> str:
    """Write each file, into a folder of its own; return them joined as in $KUBECONFIG."""
    paths = []
    for name, content in contents.items():
        path = folder / name / "config"
        path.parent.mkdir(exist_ok=True)
        if content is not None:
            path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        paths.append(str(path))
    return os.pathsep.join(paths)


A, B = config("a"), config("b")
NO_CURRENT = {**A, "current-context": ""}


@pytest.mark.parametrize(
    ("files", "context", "asked"),
    [
        pytest.param({"one": A, "two": B}, None, "a", id="the first current context"),
        pytest.param({"one": A, "two": B}, "b", "b", id="a context of the second file"),
        pytest.param({"one": A, "two": ""}, None, "a", id="an empty second file"),
        pytest.param({"one": "", "two": B}, None, "b", id="an empty first file"),
        pytest.param({"one": A, "two": None}, None, "a", id="no second file"),
        pytest.param({"one": None, "two": B}, None, "b", id="no first file"),
        pytest.param(
            {"one": A, "two": {**B, "current-context": ""}}, None, "a", id="an empty current one"
        ),
        pytest.param({"one": NO_CURRENT, "two": B}, None, "b", id="only the second has one"),
        pytest.param({"one": A, "two": "users:\n"}, None, "a", id="null for a list"),
        pytest.param(
            {"one": A, "two": {**config("a"), "clusters": config("b")["clusters"]}},
            None,
            "a",
            id="a name in both files",
        ),
        pytest.param({"one": {**A, "users": []}, "two": A}, None, "a", id="a user of the second"),
    ],
)
async def test_the_first_of_several_files_that_says_something_wins(
    tmp_path: Path, files: dict[str, Any], context: str | None, asked: str
) -> None:
    paths = written(tmp_path, **files)
    found = await load_credentials(None, context, environ={"KUBECONFIG": paths})
    assert found.host == f"https://{asked}.test"
    assert await found.authorization() == f"Bearer {asked}"
    assert namespace_of_context(paths, context) == asked


async def test_a_path_begins_beside_the_file_that_names_it(tmp_path: Path) -> None:
    paths = written(tmp_path, one=NO_CURRENT | {"users": []}, two=config("a", {"tokenFile": "t"}))
    (tmp_path / "one" / "t").write_text("of-one")
    (tmp_path / "two" / "t").write_text("of-two")
    assert await (await kubeconfig_credentials(paths)).authorization() == "Bearer of-two"


@pytest.mark.parametrize(
    ("command", "run"),
    [("./plugin", "{}/one/plugin"), ("plugin", "plugin"), ("/bin/plugin", "/bin/plugin")],
)
def test_a_plugin_with_a_folder_lies_beside_the_file(
    tmp_path: Path, command: str, run: str
) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command}}
    plugin = choose(written(tmp_path, one=config("a", user))).user.exec
    assert plugin is not None
    assert plugin.command == run.format(tmp_path)


def test_a_plugin_is_told_of_its_cluster(tmp_path: Path) -> None:
    name = "client.authentication.k8s.io/exec"
    cluster = {
        "certificate-authority": "ca",
        "proxy-url": "http://proxy:1",
        "extensions": [{"name": "x", "extension": 1}, {"name": name, "extension": {"z": 2}}],
    }
    paths = written(tmp_path, one=config("a", None, **cluster))
    (tmp_path / "one" / "ca").write_text("PEM")
    assert cluster_info(choose(paths)) == {
        "server": "https://a.test",
        "certificate-authority-data": "UEVN",
        "proxy-url": "http://proxy:1",
        "config": {"z": 2},
    }


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        pytest.param({"token": "t", "tokenFile": "t"}, "Bearer of-file", id="a file first"),
        pytest.param({"token": "t", "tokenFile": "no"}, "Bearer t", id="until it is not there"),
        pytest.param({"token": "t", "tokenFile": "empty"}, "Bearer t", id="or empty"),
        pytest.param({"token": "", "tokenFile": "t"}, "Bearer of-file", id="an empty token"),
        pytest.param({"username": "u"}, "Basic dTo=", id="no password"),
        pytest.param(
            {
                "token": "t",
                "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"},
            },
            "Bearer t",
            id="a plugin is not run beside a token",
        ),
    ],
)
async def test_which_of_several_credentials_is_sent(
    tmp_path: Path, user: dict[str, Any], sent: str
) -> None:
    paths = written(tmp_path, one=config("a", user))
    (tmp_path / "one" / "t").write_text("of-file\n")
    (tmp_path / "one" / "empty").write_text("")
    assert await (await kubeconfig_credentials(paths)).authorization() == sent


# Impersonation

ROBOT = {
    "as": "robot",
    "as-uid": "7",
    "as-groups": ["dev", "ops"],
    "as-user-extra": {"why/é": ["x", "z"]},
}
AS_ROBOT = [
    ("Impersonate-User", "robot"),
    ("Impersonate-Uid", "7"),
    ("Impersonate-Group", "dev"),
    ("Impersonate-Group", "ops"),
    ("Impersonate-Extra-why%2F%C3%A9", "x"),
    ("Impersonate-Extra-why%2F%C3%A9", "z"),
]


@pytest.mark.parametrize(
    ("acting", "expected"),
    [
        pytest.param(None, AS_ROBOT, id="the kubeconfig's"),
        pytest.param(
            Acting("jo", ["web"]),
            [("Impersonate-User", "jo"), AS_ROBOT[1], ("Impersonate-Group", "web"), *AS_ROBOT[4:]],
            id="flags go first",
        ),
        pytest.param(
            Acting("jo"), [("Impersonate-User", "jo"), *AS_ROBOT[1:]], id="a user alone, as kubectl"
        ),
    ],
)
async def test_requests_are_made_as_whom_the_kubeconfig_names(
    tmp_path: Path, rig: Rig, acting: Acting | None, expected: list[tuple[str, str]]
) -> None:
    paths = written(tmp_path, one=config("a", ROBOT, server=rig.api.url))
    async with ApiClient(await kubeconfig_credentials(paths, acting=acting)) as client:
        await client.get(PATH, {})
    headers = rig.api.seen[0].headers.items()
    assert [each for each in headers if each[0].startswith("Impersonate")] == expected


async def test_whom_a_file_names_is_read_again(tmp_path: Path) -> None:
    now = 0.0
    paths = written(tmp_path, one=config("a", ROBOT))
    found = await kubeconfig_credentials(paths, clock=lambda: now)
    written(tmp_path, one=config("a", {"as": "other"}))
    now = 60.0
    await found.authorization()
    assert found.impersonation == (("Impersonate-User", "other"),)


async def test_flags_count_in_a_pod_as_well(tmp_path: Path) -> None:
    authority = tmp_path / "ca"
    trustme.CA().cert_pem.write_to_path(str(authority))
    (tmp_path / "token").write_text("t")
    found = await in_cluster_credentials(
        token_file=str(tmp_path / "token"),
        ca_file=str(authority),
        environ={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
        acting=Acting("jo", ["x"]),
    )
    assert found.impersonation == (("Impersonate-User", "jo"), ("Impersonate-Group", "x"))
    with pytest.raises(ConfigError, match="--as-group has no use without --as"):
        Acting(None, ["x"]).headers()


# What is refused

EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"}


def printing(said: Any) -> dict[str, Any]:
    """Return a user with a plugin that prints a text, or an answer with a status."""
    answer = {"kind": "ExecCredential", "apiVersion": EXEC["apiVersion"], "status": said}
    text = said if isinstance(said, str) else json.dumps(answer)
    return {"exec": {**EXEC, "command": "sh", "args": ["-c", 'printf %s "$0"', text]}}


async def test_go_s_zero_time_is_no_end(tmp_path: Path) -> None:
    """What a plugin in Go prints that names none; client-go takes it for that."""
    status = {"token": "it", "expirationTimestamp": "0001-01-01T00:00:00Z"}
    found = await kubeconfig_credentials(written(tmp_path, one=config("a", printing(status))))
    assert await found.authorization() == "Bearer it"


async def test_an_end_in_the_first_minute_of_all_times_is_refused(tmp_path: Path) -> None:
    status = {"token": "it", "expirationTimestamp": "0001-01-01T00:00:00"}
    with pytest.raises(ConfigError, match="exec: expirationTimestamp '0001-01-01T00:00:00': date"):
        await kubeconfig_credentials(written(tmp_path, one=config("a", printing(status))))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"clusters": [{"name": "a", "cluster": {}}]}, r"clusters\[a\]\.cluster\.server: missing"),
        (
            {"clusters": [{"name": "a", "cluster": {"server": "a.test:6443"}}]},
            r"clusters\[a\]\.cluster\.server: 'a.test:6443' is no http:// or https:// address",
        ),
        ({"clusters": []}, "clusters: no cluster is called 'a'"),
        ({"clusters": A["clusters"] * 2}, "clusters: 'a' is there twice"),
        ({"kind": "List"}, "found a List, expected a kubeconfig"),
        ({"apiVersion": "v2"}, "apiVersion: found v2, expected v1"),
        ({"current-context": 7}, r"current-context: Expected `str \| null`, got `int`"),
        (
            config("a", None, **{"proxy-url": "socks5://x:1"}),
            "proxy-url: .* scheme 'socks5'",
        ),
        (config("a", None, **{"proxy-url": "http://"}), r"proxy-url: not the address of a proxy"),
        (config("a", {"token": 7}), r"users\[0\]\.user\.token: Expected `str \| null`, got `int`"),
        (config("a", {"token": "t", "username": "u"}), r"both a token and a password"),
        (config("a", {"as-groups": ["x"]}), r"users\[a\]\.user\.as: missing beside"),
        (config("a", {"as": "a\nX: y"}), r"users\[a\]\.user\.as: a line end"),
        (config("a", {"token": "a\nX: y"}), "a line end in the token"),
        (config("a", {"tokenFile": "no"}), "No such file"),
        (config("a", {"client-certificate": "no", "client-key": "no"}), "no such file: .*/no"),
        (config("a", {"client-certificate-data": "eA=="}), r"client-key: missing"),
        (config("a", {"auth-provider": {"name": "azure"}}), r"'azure'; supported are oidc and gcp"),
        (config("a", {"exec": EXEC, "auth-provider": {"name": "oidc"}}), "beside auth-provider"),
        (config("a", {"exec": {**EXEC, "apiVersion": "v1"}}), r"exec\.apiVersion: 'v1'"),
        (config("a", {"exec": {**EXEC, "command": "no-such"}}), "no no-such; is it installed"),
        (
            config("a", {"exec": {**EXEC, "command": "no-such", "installHint": "get it"}}),
            "there is no no-such; get it",
        ),
        (config("a", printing({"token": "a\nX: y"})), "a line end in the token"),
        (config("a", printing("[" * 50_000)), "exec: sh printed no JSON"),
        (config("a", {"exec": {**EXEC, "command": ""}}), r"exec\.command: missing"),
        (config("a", {"exec": {**EXEC, "env": [{"value": "x"}]}}), "a variable without a name"),
        (config("a", {"exec": {**EXEC, "interactiveMode": "Often"}}), "interactiveMode: 'Often'"),
        (config("a", {"exec": {**EXEC, "interactiveMode": "Always"}}), "no terminal to ask on"),
    ],
)
async def test_what_is_refused_names_file_and_field(
    tmp_path: Path, changes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ConfigError, match=rf"^clientConnection\.kubeconfig: .*{said}"):
        await kubeconfig_credentials(written(tmp_path, one={**A, **changes}))


async def test_a_folder_is_no_kubeconfig_beside_another(tmp_path: Path) -> None:
    paths = written(tmp_path, one=A) + os.pathsep + str(tmp_path)
    with pytest.raises(ConfigError, match="Is a directory"):
        await kubeconfig_credentials(paths)


async def test_a_user_without_a_home_has_no_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(ConfigError, match="no such file: ~/"):
        await load_credentials(environ={})


# Commands


def test_validation_goes_by_the_same_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = config("b", {"client-certificate": "no.pem", "client-key": "no.pem"})
    for order, code in (({"one": A, "two": broken}, 0), ({"two": broken, "one": A}, 3)):
        line = ["serve", "--validate-only", "--kubeconfig", written(tmp_path, **order)]
        assert cli.main(line) == code
    assert "users[b].user.client-certificate: no such file: " in capsys.readouterr().err


async def test_a_live_cluster_without_nodes_is_not_called_a_file(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_current(rig, [], tmp_path, monkeypatch)
    assert await asyncio.to_thread(cli.kubectl, ["simulate"]) == 2
    said = capsys.readouterr().err
    assert "the cluster of the kubeconfig has no node" in said
    assert "--cluster" not in said
