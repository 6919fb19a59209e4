"""Start the program as a process, and wait for what it says."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp

WAIT = 60.0
"""Seconds after which a test that waits has failed."""

_SERVING = re.compile(r"callbacks at (https?://[\w.:-]+), operations at (http://[\w.:-]+)")


@dataclass(frozen=True, slots=True)
class Program:
    """The process, and the URLs that it serves."""

    process: asyncio.subprocess.Process
    callbacks: str
    operations: str


@contextlib.asynccontextmanager
async def started(command: list[str], environ: dict[str, str]) -> AsyncIterator[Program]:
    """Run it until the block ends, and yield it once it serves."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd="/",
        env=environ,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WAIT):
            yield await _serving(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _serving(process: asyncio.subprocess.Process) -> Program:
    assert process.stderr is not None
    said = []
    async for line in process.stderr:
        said.append(line.decode())
        if found := _SERVING.search(said[-1]):
            return Program(process, found[1], found[2])
    raise AssertionError(f"it ended: {''.join(said)}")


async def until_ready(url: str) -> str:
    """Return the verbose report once all is well."""
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{url}/readyz?verbose") as response:
                if response.status == 200:
                    return await response.text()
            await asyncio.sleep(0.05)
