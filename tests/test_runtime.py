"""The whole program: started as people start it, asked, and stopped."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import aiohttp
import pytest

from extender.core.config.layers import load
from extender.core.errors import ExtenderError
from extender.core.offline import ClusterFileError
from extender.runtime import announcement, running
from tests.builders import ZONE, node, pod, selector, term

SAMPLES = Path("extender/samples")
WAIT = 60.0
"""Seconds after which a test that waits has failed."""


def configuration(**flags: str | list[str]) -> Any:
    """Load a configuration from flags, on free ports."""
    known = {"port": "0", "ops_port": "0", "cluster": [str(SAMPLES / "cluster.yaml")]}
    return load(Namespace(**known | flags), Path.read_text)


async def post(url: str, body: bytes) -> Any:
    async with aiohttp.ClientSession() as session, session.post(url, data=body) as response:
        return await response.json()


async def until_closed(host: str, port: int) -> None:
    """Return once nobody listens there any more."""
    with suppress(ConnectionRefusedError):
        while True:
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
            await asyncio.sleep(0.01)


async def get(url: str) -> tuple[int, str]:
    """Ask the operations port."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_the_sample_shows_a_pod_that_fits_nowhere() -> None:
    async with running(configuration(mode="replace")) as program:
        question = (SAMPLES / "refused.json").read_bytes()
        answer = await post(f"{program.callbacks_url}/filter", question)
        assert answer["NodeNames"] == []
        assert set(answer["FailedAndUnresolvableNodes"]) == set(json.loads(question)["NodeNames"])


async def proposes_what_shows_it(mode: str) -> None:
    """Run the line that a program prints; its answer says why nodes refuse the sample's pod."""
    settings = configuration(mode=mode)
    async with running(settings) as program:
        *_, line = announcement(settings, program)
        *_, data, url = shlex.split(line)
        assert data == f"@{SAMPLES / 'refused.json'}"
        answer = await post(url, (SAMPLES / "refused.json").read_bytes())
        assert "node(s) didn't match pod anti-affinity rules" in str(answer)


async def test_what_is_proposed_to_be_tried_shows_it() -> None:
    await proposes_what_shows_it("replace")


async def test_the_operations_port_does_not_follow_the_callbacks_to_another_address() -> None:
    async with running(configuration(bind_address="127.0.0.2")) as program:
        assert program.callbacks_url.startswith("http://127.0.0.2:")
        assert program.ops_url.startswith("http://127.0.0.1:")
        assert (await get(f"{program.ops_url}/livez"))[0] == 200


async def test_gates_hold_for_what_is_read_and_for_what_is_asked(tmp_path: Path) -> None:
    web = {"app": "web", "version": "1"}
    placed = pod("placed").labels(web).on("a")
    guest = pod("guest").labels(app="web", version="2")
    keys = {"matchLabelKeys": ["version"]}
    guard = pod("guard").labels(web).on("b").anti_affinity(term(ZONE, selector(app="web"), **keys))
    asked = guest.anti_affinity(term(ZONE, selector(app="web"), **keys))
    things = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"}), placed, guard]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"kind": "List", "items": things}))

    for gates, fitting in (("", ["a", "b"]), ("MatchLabelKeysInPodAffinity=false", [])):
        settings = configuration(mode="replace", cluster=[str(cluster)], feature_gates=gates)
        async with running(settings) as program:
            answers = [
                await post(
                    f"{program.callbacks_url}/filter",
                    json.dumps({"Pod": each, "NodeNames": ["a", "b"]}).encode(),
                )
                for each in (guest, asked)
            ]
        assert [answer["NodeNames"] for answer in answers] == [fitting or ["a"], fitting]


async def test_readiness_fails_first_while_callbacks_go_on() -> None:
    async with running(configuration(mode="replace")) as program:
        assert (await get(f"{program.ops_url}/readyz"))[0] == 200
        program.lifecycle.stopping = True
        status, text = await get(f"{program.ops_url}/readyz")
        assert status == 503
        assert "shutdown" in text
        question = (SAMPLES / "refused.json").read_bytes()
        assert (await post(f"{program.callbacks_url}/filter", question))["Error"] == ""


async def test_each_last_answer_sends_the_scheduler_to_another_replica() -> None:
    question = (SAMPLES / "refused.json").read_bytes()
    async with (
        running(configuration(mode="replace")) as program,
        aiohttp.ClientSession() as session,
    ):
        said = []
        for program.lifecycle.stopping in (False, True):
            async with session.post(f"{program.callbacks_url}/filter", data=question) as answer:
                said.append(answer.headers.get("Connection"))
        assert said == [None, "close"]


@pytest.mark.parametrize(
    ("mode", "status"),
    [
        pytest.param("replace", 200, id="replace judges preemption"),
        pytest.param("assist", 200, id="assist judges it by annotations, and adds no victims"),
        pytest.param("shadow", 404, id="shadow leaves it to the scheduler"),
    ],
)
async def test_preemption_and_its_budgets_go_with_the_hard_rules(mode: str, status: int) -> None:
    async with running(configuration(mode=mode)) as program, aiohttp.ClientSession() as session:
        body = {"Pod": {"metadata": {"name": "new"}}, "NodeNameToMetaVictims": {}}
        async with session.post(f"{program.callbacks_url}/preempt", json=body) as response:
            assert response.status == status
        _, checks = await get(f"{program.ops_url}/readyz?verbose")
        _, metrics = await get(f"{program.ops_url}/metrics")
        for text in (checks, metrics):
            assert ("poddisruptionbudgets" in text) is (mode == "replace")


async def test_metrics_show_the_cluster() -> None:
    async with running(configuration()) as program:
        _, metrics = await get(f"{program.ops_url}/metrics")
        assert 'affinity_extender_cache_objects{resource="nodes"} 9.0' in metrics
        assert 'affinity_extender_cache_synced{resource="pods"} 1.0' in metrics


async def test_an_occupied_port_is_said_in_one_line() -> None:
    async with running(configuration()) as program:
        port = program.callbacks_url.rpartition(":")[2]
        with pytest.raises(ExtenderError, match=f"cannot listen on 127.0.0.1:{port}"):
            async with running(configuration(port=port)):
                pass


async def test_the_end_of_a_task_that_should_not_end_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def defective(*_: object, **__: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr("extender.runtime.keep_expiring", defective)
    async with running(configuration()):
        pass
    assert "expiry has ended" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_a_broken_cluster_file_keeps_the_program_from_starting(tmp_path: Path) -> None:
    broken = tmp_path / "cluster.json"
    broken.write_text('{"kind":"List","items":[{"kind":"Pod","metadata":{"name":7}}]}')
    with pytest.raises(ClusterFileError, match=r"cluster.json: object 0 \(Pod\): metadata.name: "):
        async with running(configuration(cluster=[str(broken)])):
            pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_a_signal_ends_the_program_after_the_calls_in_flight(number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "extender", "serve", "--mode", "replace", "--port", "0"),
        *("--ops-port", "0", "--cluster", str(SAMPLES / "cluster.yaml")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        async with asyncio.timeout(WAIT):
            assert process.stdout is not None
            callbacks, page = [(await process.stdout.readline()).decode().split() for _ in "12"]
            host, port = callbacks[1].removeprefix("http://").split(":")
            ops_port = page[1].removesuffix("/").rpartition(":")[2]
            reader, writer = await asyncio.open_connection(host, int(port))
            body = (SAMPLES / "refused.json").read_bytes()
            head = f"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body[:10])
            await writer.drain()
            # Answered only once the server has begun to read the call above.
            assert (await post(f"http://{host}:{port}/filter", body))["Error"] == ""
            process.send_signal(number)
            # The last byte comes when the program is stopping for sure.
            await until_closed(host, int(ops_port))
            writer.write(body[10:])
            assert (await reader.readline()).split()[1] == b"200"
            writer.close()
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
