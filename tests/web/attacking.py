"""A program in a process of its own, attacked over plain sockets: what it takes and who waits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import extender

SAMPLES: Final = Path(extender.__file__).with_name("samples")
WAIT: Final = 20.0
"""Seconds after which a test that waits has failed."""
QUESTION: Final = (SAMPLES / "refused.json").read_bytes()
JSON: Final = "Content-Type: application/json"


def request(line: str, *headers: str, body: bytes = b"", host: str = "127.0.0.1") -> bytes:
    """Write a request; without a header about its length a body has its own."""
    told = [f"{line} HTTP/1.1", f"Host: {host}", *headers]
    lengths = ("content-length:", "transfer-encoding:")
    if body and not any(each.lower().startswith(lengths) for each in headers):
        told.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*told, "", "")).encode() + body


def chunked(parts: Iterable[bytes]) -> bytes:
    """Write a body in chunks."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back until the server closed."""

    status: int
    head: bytes
    body: bytes


async def ask(port: int, data: bytes) -> Answer:
    """Send bytes, and return what comes back until the server closes; it has to."""
    came = b""
    async with asyncio.timeout(WAIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(data)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            with contextlib.suppress(ConnectionError):
                while some := await reader.read(1 << 16):
                    came += some
        finally:
            writer.close()
    head, _, body = came.partition(b"\r\n\r\n")
    return Answer(int(head.split()[1]) if head else 0, head, body)


@dataclass(frozen=True, slots=True)
class Attacked:
    """The process, and its ports."""

    pid: int
    callbacks: int
    operations: int

    def memory(self) -> tuple[int, int]:
        """Return what it has resident, and the most that it ever had, in MiB."""
        told = Path(f"/proc/{self.pid}/status").read_text()
        sizes = {name: int(kib) >> 10 for name, kib in re.findall(r"(\w+):\s+(\d+) kB", told)}
        return sizes["VmRSS"], sizes["VmHWM"]

    async def slowest_call(self, until: asyncio.Event) -> float:
        """Ask filter again and again; return the longest that an answer took, in seconds."""
        slowest = 0.0
        call = request("POST /filter", JSON, "Connection: close", body=QUESTION)
        while True:
            start = perf_counter()
            answer = await ask(self.callbacks, call)
            slowest = max(slowest, perf_counter() - start)
            assert answer.status == 200
            if until.is_set():
                return slowest


@contextlib.asynccontextmanager
async def attacked(cluster: Path = SAMPLES / "cluster.yaml") -> AsyncIterator[Attacked]:
    """Start the program over a cluster from a file."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "extender", "serve", "--mode=replace", "--port=0", "--ops-port=0"),
        *("--cluster", str(cluster)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        async with asyncio.timeout(WAIT):
            assert process.stdout is not None
            lines = [(await process.stdout.readline()).decode() for _ in "12"]
        ports = [int(re.findall(r":(\d+)", line)[0]) for line in lines]
        yield Attacked(process.pid, *ports)
        assert process.returncode is None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
