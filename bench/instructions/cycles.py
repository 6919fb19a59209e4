"""Scheduling cycles within one process, whose instructions are counted.

The program and the echo each answer the bytes of HTTP requests through aiohttp's own protocol, in
an event loop like the program's. There is no socket, and no pod waits for another one's bind, so
every run does nearly the same: what is left of time is in which bucket of a histogram a call falls.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias
from unittest.mock import patch

import uvloop
from aiohttp import web

from bench import echo
from bench.instructions.callgrind import Counter
from bench.workloads import MIXED, QUESTIONS, Question, Rules, cluster_items, questions, write_list
from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.config import API_VERSION, KIND, Config, Mode
from extender.core.controllers.context import Clocks
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.source import empty_state, open_source
from extender.core.warm_up import WarmUp
from extender.core.web.connections import Connection, Connections, ServerLog
from extender.core.wire.extender_args import Envelope, read_envelope
from extender.wiring import build_callbacks

NODES: Final = 1_000
PODS: Final = 2_000
NAMES: Final = 500
AFTERWARDS: Final = 4
"""Turns of the event loop after an answer, by when all is done that was put off until then."""
CYCLES: Final = QUESTIONS
"""That are counted of each kind, after as many that warm up."""
OURS: Final = "ours"
ECHO: Final = "echo"

Call: TypeAlias = tuple[str, bytes]
"""A path and a body."""


def name_of(side: str, rules: Rules) -> str:
    return f"{side}-{rules.name}"


class _Client(asyncio.Transport):
    """The other end of a connection: takes what is answered."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self._protocol: Any = None
        self._heard: list[bytes] = []
        self._answered = asyncio.Event()

    def connect(self, protocol: asyncio.Protocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is left open."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._heard.append(bytes(data))
        self._answered.set()

    def writelines(self, parts: Any) -> None:
        self._heard.extend(map(bytes, parts))
        self._answered.set()

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a request as Go does; return the body of the answer."""
        self._heard.clear()
        self._answered.clear()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:10280\r\nUser-Agent: Go-http-client/1.1\r\n"
            f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n"
            "Accept-Encoding: gzip\r\n\r\n"
        )
        self._protocol.data_received(head.encode() + body)
        await self._answered.wait()
        for _ in range(AFTERWARDS):
            await asyncio.sleep(0)
        header, _, answer = b"".join(self._heard).partition(b"\r\n\r\n")
        if not header.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(header.decode())
        return answer


async def _extender(parts: AsyncExitStack, folder: Path) -> _Client:
    """Connect to the program, over a cluster whose applications take turns in the rules."""
    file = folder / "cluster.json"
    write_list(file, cluster_items(NODES, PODS, MIXED))
    config = Config(api_version=API_VERSION, kind=KIND, mode=Mode.REPLACE, cluster_files=(file,))
    metrics = Metrics()
    state = empty_state(config)
    source = await open_source(config, state, metrics, parts)
    seconds = count()  # between any two looks at it: no pod waits for the one before
    context = Context(
        config,
        source,
        state,
        metrics,
        lambda: None,
        WarmUp(state, metrics),
        History(),
        Clocks(lambda: float(next(seconds)), lambda: 0.0, lambda: 0.5),
        refused=RefusedPods(state),
    )
    deciding = [each for each in build_parts(context) if each.in_flight is not None]
    app = build_callbacks(context, deciding)
    connections = Connections("callbacks", 10, config.serving, metrics)
    log = ServerLog()
    return await _connect(app, lambda server: Connection(server, connections, log))


async def _connect(
    app: web.Application,
    protocol: Callable[[web.Server], asyncio.Protocol],
) -> _Client:
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    client = _Client()
    server = runner.server
    assert server is not None  # noqa: S101 - the runner has been set up
    client.connect(protocol(server))
    return client


async def _calls(client: _Client, rules: Rules) -> list[Call]:
    """Go once through the questions; return the calls that this took, to be repeated."""
    calls: list[Call] = []
    for question in questions(rules, NODES, NAMES):
        filtering = "/filter", _body(question, question.names)
        names = json.loads(await client.post(*filtering))["NodeNames"]
        # What the echo is to say; the program knows by itself.
        hosts = len(names) if rules.score else 0
        scoring = f"/prioritize?hosts={hosts}", _body(question, names)
        if bool(json.loads(await client.post(*scoring))) is not rules.score:
            raise ConnectionError(f"prioritize is not as expected for {rules.value}")
        calls += filtering, scoring
    return calls


def _body(question: Question, names: list[str]) -> bytes:
    return json.dumps(question.about(names), separators=(",", ":")).encode()


async def _count(counter: Counter, sides: Mapping[str, _Client]) -> None:
    kinds = [
        (name_of(side, rules), client, await _calls(client, rules))
        for rules in MIXED
        for side, client in sides.items()
    ]
    gc.collect()
    gc.disable()
    counter.start()
    for name, client, calls in kinds:
        for call in calls:
            await client.post(*call)
        counter.end("warm-up")
        for call in calls:
            await client.post(*call)
        counter.end(name)


def _repeated(again: int) -> Callable[[bytes], Envelope]:
    def read_all(body: bytes) -> Envelope:
        for _ in range(again):
            read_envelope(body)
        return read_envelope(body)

    return read_all


async def _main(again: int) -> None:
    """Count; with `again`, the program reads every request so many times more, for nothing."""
    logging.disable()
    async with AsyncExitStack() as parts:
        if again:
            parts.enter_context(
                patch("extender.core.callbacks.requests.read_envelope", _repeated(again))
            )
        folder = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="instructions-")))
        ours = await _extender(parts, folder)
        yardstick = await _connect(echo.application(), lambda server: server())
        await _count(Counter(), {ECHO: yardstick, OURS: ours})


if __name__ == "__main__":
    uvloop.run(_main(int(sys.argv[1])))
