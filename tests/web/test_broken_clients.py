"""Clients that hang up, or send what is no request: counted as what they are, and no more."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

import extender
from extender.core.callbacks.filtering import Filters
from extender.core.config.layers import load
from extender.core.errors import MESSAGE_BYTES
from extender.core.logs import JsonFormatter, TextFormatter
from extender.runtime import running
from tests.circles import left_in_circles

SAMPLES = Path(extender.__file__).with_name("samples")
HEAD = b"POST /filter HTTP/1.1\r\nHost: extender\r\n"
MANY = 20


@dataclass
class Server:
    """A program that serves, asked over plain sockets."""

    callbacks: URL
    ops: URL

    async def send(self, data: bytes, *, hang_up: bool, to: URL | None = None) -> bytes:
        """Send bytes; return all that comes back, or hang up at once."""
        port = to or self.callbacks
        reader, writer = await asyncio.open_connection(port.host, port.port)
        writer.write(data)
        await writer.drain()
        if not hang_up:
            answer = await asyncio.wait_for(reader.read(), 10.0)
            writer.close()
            return answer
        writer.transport.abort()
        return b""

    async def metric(self, name: str, **labels: str) -> float:
        """Return the value of one series."""
        async with aiohttp.ClientSession() as session, session.get(self.ops / "metrics") as answer:
            text = await answer.text()
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        for line in text.splitlines():
            series, _, value = line.rpartition(" ")
            if series.startswith(f"{name}{{") and wanted <= set(
                series[:-1].split("{")[1].split(",")
            ):
                return float(value)
        return 0.0

    async def counted(self, verb: str, code: int, number: int) -> None:
        """Wait until so many calls have been counted."""
        name = "affinity_extender_request_duration_seconds_count"
        async with asyncio.timeout(10.0):
            while await self.metric(name, verb=verb, code=str(code)) < number:
                pass  # each look is a request of its own

    async def plugin_errors(self) -> float:
        """Return how often a plugin is said to have failed."""
        name = "affinity_extender_plugin_execution_duration_seconds_count"
        plugin = "InterPodAffinity"
        return await self.metric(name, extension_point="Filter", plugin=plugin, status="Error")

    async def is_well(self) -> bool:
        """Return whether a question is answered."""
        question = (SAMPLES / "refused.json").read_bytes()
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.callbacks / "filter", data=question) as answer,
        ):
            return bool(json.loads(await answer.read())["Error"] == "")


@asynccontextmanager
async def serving(caplog: pytest.LogCaptureFixture) -> AsyncIterator[Server]:
    """Serve the sample cluster; what was logged until then is forgotten."""
    cluster = [str(SAMPLES / "cluster.yaml")]
    flags = Namespace(port="0", ops_port="0", cluster=cluster, mode="replace")
    async with running(load(flags, Path.read_text)) as program:
        caplog.clear()
        yield Server(URL(program.callbacks_url), URL(program.ops_url))


def loud(caplog: pytest.LogCaptureFixture) -> list[Any]:
    """Return what was logged as if it were our fault, or with a stack trace.

    The sample cluster has a broken rule, which is reported as well.
    """
    return [
        each
        for each in caplog.records
        if (each.levelno > logging.INFO and not each.getMessage().startswith("required anti-"))
        or each.exc_info
    ]


async def test_who_hangs_up_within_a_request_is_no_error_of_a_plugin(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with serving(caplog) as server:
        with left_in_circles(web.BaseRequest) as found:
            for _ in range(MANY):
                await server.send(HEAD + b"Content-Length: 1000\r\n\r\n{", hang_up=True)
            await server.counted("filter", 499, MANY)
        assert not found, "what came of a body would be kept until everything is walked"
        assert await server.plugin_errors() == 0
        assert await server.metric("affinity_extender_schedule_attempts_total", result="error") == 0
        assert await server.is_well()
    assert loud(caplog) == []


async def test_who_hangs_up_within_a_question_leaves_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    head = HEAD.replace(b"/filter", b"/explain") + b"Content-Type: application/json\r\n"
    async with serving(caplog) as server:
        with left_in_circles(web.BaseRequest) as found:
            for _ in range(MANY):
                await server.send(
                    head + b"Content-Length: 1000\r\n\r\n{", hang_up=True, to=server.ops
                )
                assert await server.is_well()
        assert not found


async def test_who_hangs_up_before_the_answer_is_counted_as_such(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()
    answer = Filters.answer

    async def late(self: Filters, body: bytes) -> bytes:
        asked.set()
        await gone.wait()
        return await answer(self, body)

    monkeypatch.setattr(Filters, "answer", late)
    question = (SAMPLES / "refused.json").read_bytes()
    async with serving(caplog) as server:
        _, writer = await asyncio.open_connection(server.callbacks.host, server.callbacks.port)
        writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(question) + question)
        await asyncio.wait_for(asked.wait(), 10.0)
        writer.transport.abort()
        # The server has to hear of it first: it is what another call waits for as well.
        await server.metric("affinity_extender_build_info")
        gone.set()
        await server.counted("filter", 499, 1)
        assert await server.plugin_errors() == 0
    assert loud(caplog) == []


@pytest.mark.parametrize(
    ("request_bytes", "verb"),
    [
        pytest.param(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{", "malformed", id="a broken chunk"
        ),
        pytest.param(HEAD + b"Content-Length: x\r\n\r\n", "malformed", id="a length of x"),
        pytest.param(HEAD + b"X: " + b"y" * 20_000 + b"\r\n\r\n", "malformed", id="a long header"),
        pytest.param(b"GARBAGE\r\n\r\n", "malformed", id="garbage"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01", "malformed", id="TLS"),
        pytest.param(HEAD + b"Content-Length: 1\r\n\r\n{", "filter", id="half a body"),
    ],
)
async def test_what_is_no_request_is_a_client_error_and_a_line_now_and_then(
    caplog: pytest.LogCaptureFixture, request_bytes: bytes, verb: str
) -> None:
    caplog.set_level(logging.INFO)
    request_bytes = request_bytes.replace(b"Host: extender", b"Host: extender\r\nConnection: close")
    async with serving(caplog) as server:
        for _ in range(MANY):
            answer = await server.send(request_bytes, hang_up=False)
            assert answer.split(b" ")[1] == b"400"
        await server.counted(verb, 400, MANY)
        assert await server.plugin_errors() == 0
        assert await server.is_well()
    assert loud(caplog) == []
    assert len(caplog.records) <= 3


async def test_a_fault_of_ours_leaves_one_stack_trace_however_often_it_is_met(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Filters, __: bytes) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(Filters, "answer", broken)
    question = (SAMPLES / "refused.json").read_bytes()
    async with serving(caplog) as server, aiohttp.ClientSession() as session:
        for _ in range(MANY):
            async with session.post(server.callbacks / "filter", data=question) as answer:
                assert json.loads(await answer.read())["Error"] == "ZeroDivisionError"
        assert await server.plugin_errors() == MANY
    traces = [each.getMessage() for each in caplog.records if each.exc_info]
    assert traces == ["filter failed unexpectedly"]


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
async def test_an_answer_and_a_line_quote_no_more_than_a_line_holds(
    caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    long = "%s\n\x1b[2J" * 500_000
    pod = {"metadata": {"name": "x", "labels": {"app": "web"}}, "spec": {"affinity": {}}}
    pod["spec"] = {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "", "labelSelector": {"matchLabels": {long: long}}}
                ]
            }
        }
    }
    body = {
        "Pod": pod,
        "NodeNames": [long],
        "NodeNameToVictims": {long: {"Pods": [{"metadata": {"name": 5}}]}},
        "PodName": long,
        "PodNamespace": long,
        "PodUID": long,
        "Node": long,
    }
    async with serving(caplog) as server, aiohttp.ClientSession() as session:
        if verb == "bind":
            body = {key: body[key] for key in ("PodName", "PodNamespace", "PodUID", "Node")}
        sent = io.BytesIO(json.dumps(body).encode())
        async with session.post(server.callbacks / verb, data=sent) as response:
            answer = await response.read()
    assert response.status == 200
    assert len(answer) <= 2 * MESSAGE_BYTES
    assert b"%" not in answer
    for record in caplog.records:
        assert len(TextFormatter().format(record)) <= 2 * MESSAGE_BYTES
        assert len(JsonFormatter().format(record)) <= 8 * MESSAGE_BYTES
