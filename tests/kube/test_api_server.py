"""Whom commands ask and as whom, in which namespace, and what they say when that fails."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp.web import json_response

from affinityctl import cli
from tests.builders import node, pod, workload
from tests.kube.fake_api import FakeApi, answering, failure, status
from tests.kube.live import made_current, pointing_to
from tests.kube.pulse import Pulse
from tests.kube.rig import Rig
from tests.kube.test_client import server_context


def kubeconfig(folder: Path, server: str, **context: str) -> Path:
    content = pointing_to(server)
    content["contexts"][0]["context"] |= context
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return path


async def answered(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    return await asyncio.to_thread(cli.kubectl, line.split()), capsys.readouterr()


@pytest.mark.parametrize(
    ("further", "named", "found"),
    [
        pytest.param("", "shop", "shop/p fits", id="the context's"),
        pytest.param("-n default", "shop", "default/p fits", id="the flag's"),
        pytest.param("", "", "default/p fits", id="neither"),
    ],
)
async def test_the_namespace_that_is_meant(
    *,
    further: str,
    named: str,
    found: str,
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_current(rig, [node("n"), pod("p"), pod("p", "shop")], tmp_path, monkeypatch)
    kubeconfig(tmp_path, str(rig.api.url), **{"namespace": named} if named else {})
    code, said = await answered(f"explain p {further}", capsys)
    assert (code, said.err) == (0, "")
    assert said.out.startswith(found)


async def test_a_workload_is_looked_for_in_the_context_s_namespace(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_current(rig, [node("n")], tmp_path, monkeypatch)
    kubeconfig(tmp_path, str(rig.api.url), namespace="shop")
    code, said = await answered("simulate --restart deployment/web", capsys)
    assert code == 2
    assert "deployment shop/web: is not in the cluster" in said.err


@pytest.mark.parametrize(
    ("allowed", "policy", "waits", "note"),
    [
        pytest.param(True, "Parallel", "2 wait", "", id="as it says"),
        pytest.param(
            False,
            "Parallel",
            "1 waits, 1 not created",
            "no right to list statefulsets, so each is taken to be OrderedReady\n",
            id="not told",
        ),
    ],
)
async def test_stateful_sets_are_asked_for_where_their_pods_may_go(
    *,
    allowed: bool,
    policy: str,
    waits: str,
    note: str,
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = workload("StatefulSet", "db", pod("t"), replicas=2, podManagementPolicy=policy)
    made["metadata"]["namespace"] = "default"
    there = [pod(f"db-{number}").owned_by("StatefulSet/db").on("n") for number in range(2)]
    made_current(rig, [node("n"), made, *there], tmp_path, monkeypatch)
    if not allowed:
        refusal = answering(lambda: failure(403, "Forbidden", "no"))
        rig.api.collection("/apis/apps/v1/statefulsets").lists.append(refusal)
    code, said = await answered("simulate --lose n", capsys)
    assert (code, said.err.partition("note: ")[2]) == (1, note)
    assert said.out.startswith(f"Lose n: 2 pods lost, {waits}\n")


async def test_one_may_ask_as_somebody_else(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_current(rig, [node("n"), pod("p")], tmp_path, monkeypatch)
    code, _ = await answered("explain p --as jo --as-group dev --as-group all", capsys)
    assert code == 0
    assert rig.api.seen
    for each in rig.api.seen:
        assert each.headers["Impersonate-User"] == "jo"
    assert cli.kubectl(["explain", "p", "--as", "jo", "--cluster", "x"]) == 2
    assert "--as: has no use beside --cluster" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "reason", "advice"),
    [
        (401, "Unauthorized", "the token or certificate has expired, or is another cluster's"),
        (403, "Forbidden", "ask for that right; `kubectl auth can-i --list`"),
        (404, "NotFound", "is that the address of an API server?"),
        (429, "TooManyRequests", "it has too much to do, or is not well: try again later"),
        (503, "ServiceUnavailable", "it has too much to do, or is not well: try again later"),
    ],
)
async def test_what_to_do_about_a_refusal(
    *,
    code: int,
    reason: str,
    advice: str,
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_current(rig, [], tmp_path, monkeypatch)
    refusal = answering(lambda: failure(code, reason, "no"))
    rig.api.collection("/api/v1/namespaces").lists.append(refusal)
    exit_code, said = await answered("explain p", capsys)
    assert exit_code == 3
    assert f"{rig.api.url}: {code} {reason}: no; {advice}" in said.err


@pytest.mark.parametrize("command", ["explain p", "dump"])
async def test_a_server_that_says_when_to_come_again_is_asked_again(
    command: str,
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_current(rig, [node("n"), pod("p")], tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    busy = status(429, "TooManyRequests", "slow", retryAfterSeconds=0.01)
    pods = rig.api.collection("/api/v1/pods")
    pods.lists += [answering(lambda: json_response(busy, status=429))] * 3
    code, said = await answered(command, capsys)
    assert (code, [*pods.lists]) == (0, []), said.err


async def test_a_server_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, f"http://127.0.0.1:{port}")))
    code, said = await answered("simulate", capsys)
    assert code == 3
    assert f"no connection to 127.0.0.1:{port}: Connection refused; does `kubectl" in said.err
    kubeconfig(tmp_path, "http://no-such-host.invalid:6443")
    code, said = await answered("simulate", capsys)
    assert code == 3
    assert "the name no-such-host.invalid cannot be resolved; " in said.err


async def test_a_server_that_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with FakeApi(Pulse(), tls=server_context(trustme.CA(), "127.0.0.1")) as api:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, api.url)))
        code, said = await answered("simulate", capsys)
    assert code == 3
    assert "the certificate of the server is not trusted: " in said.err
    assert said.err.endswith("the certificate-authority-data of this cluster\n")
    assert "SSLContext" not in said.err
