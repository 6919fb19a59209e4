"""Connections that wait, however many, take neither callbacks nor probes down."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import trustme

from extender.runtime import running
from tests.test_runtime import SAMPLES, WAIT, configuration, get, post

FILES = 400
"""Open files that the program may have: 80 connections to callbacks after the reserve."""

IDLE = 500


@contextlib.asynccontextmanager
async def idling(host: str, port: int, number: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Hold connections that say nothing; some may be closed meanwhile."""
    opened: list[asyncio.StreamWriter] = []
    try:
        for _ in range(number):
            with contextlib.suppress(ConnectionError):
                opened.append((await asyncio.open_connection(host, port))[1])
        yield opened
    finally:
        for writer in opened:
            writer.close()
        await asyncio.gather(*(one.wait_closed() for one in opened), return_exceptions=True)


def place(url: str) -> tuple[str, int]:
    host, _, port = url.rstrip("/").removeprefix("http://").rpartition(":")
    return host, int(port)


async def test_with_few_files_left_callbacks_and_probes_are_answered() -> None:
    serve = [
        sys.executable,
        "-m",
        "extender",
        "serve",
        "--mode=replace",
        "--port=0",
        "--ops-port=0",
    ]
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *serve),
        *("--cluster", str(SAMPLES / "cluster.yaml")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        async with asyncio.timeout(WAIT):
            assert process.stdout is not None
            urls = [(await process.stdout.readline()).decode().split()[1] for _ in "12"]
            callbacks, operations = urls[0], urls[1].rstrip("/")
            question = (SAMPLES / "refused.json").read_bytes()
            async with idling(*place(callbacks), IDLE), idling(*place(operations), IDLE):
                for _ in range(3):
                    assert (await post(f"{callbacks}/filter", question))["Error"] == ""
                    assert (await get(f"{operations}/readyz"))[0] == 200
                _, metrics = await get(f"{operations}/metrics")
        for port, most in (("callbacks", 80), ("operations", 64)):
            (number,) = re.findall(rf'connections{{port="{port}"}} (\S+)', metrics)
            assert most / 2 < float(number) <= most
    finally:
        process.kill()
        await process.communicate()


async def test_hundreds_of_unfinished_questions_keep_no_probe_out() -> None:
    """Most are refused for their number at once, and linger while their bodies may still come."""
    half = (
        b"POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000\r\n\r\n{"
    )
    opened: list[asyncio.StreamWriter] = []
    async with running(configuration()) as program, asyncio.timeout(WAIT):
        try:
            for number in range(600):
                opened.append((await asyncio.open_connection(*place(program.ops_url)))[1])
                opened[-1].write(half)
                if number % 15 == 14:
                    path = ("livez", "readyz", "metrics")[number // 15 % 3]
                    assert (await get(f"{program.ops_url}/{path}"))[0] == 200
        finally:
            for writer in opened:
                writer.close()
            await asyncio.gather(*(one.wait_closed() for one in opened), return_exceptions=True)


@pytest.mark.parametrize("files", [6, 8, 10, 100])
async def test_too_few_files_for_anything_are_said_in_one_line(files: int) -> None:
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"),
        *(sys.executable, "-m", "extender", "serve"),
        *("--port=0", "--ops-port=0", "--cluster", str(SAMPLES / "cluster.yaml")),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(process.communicate(), WAIT)
    assert process.returncode == 1
    (line,) = said.decode().splitlines()
    assert f"the limit of open files is {files}, and at least 336 are needed" in line


@pytest.mark.parametrize(
    ("name", "let_in"),
    [
        pytest.param("scheduler.test", True, id="allowed"),
        pytest.param("kubelet.test", False, id="not"),
    ],
)
async def test_over_tls_a_client_is_known_by_its_name(
    tmp_path: Path, name: str, *, let_in: bool
) -> None:
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    for file, content in {
        "tls.crt": issued.cert_chain_pems[0].bytes(),
        "tls.key": issued.private_key_pem.bytes(),
        "ca.crt": ca.cert_pem.bytes(),
        "config.yaml": b"apiVersion: affinity-extender.io/v1\n"
        b"kind: AffinityExtenderConfiguration\n"
        b"serving: {allowedClientNames: [scheduler.test]}\n",
    }.items():
        (tmp_path / file).write_bytes(content)
    client = ssl.create_default_context()
    ca.configure_trust(client)
    ca.issue_cert(name).configure_cert(client)
    settings = configuration(
        mode="replace",
        config=str(tmp_path / "config.yaml"),
        tls_cert_file=str(tmp_path / "tls.crt"),
        tls_private_key_file=str(tmp_path / "tls.key"),
        client_ca_file=str(tmp_path / "ca.crt"),
    )
    async with running(settings) as program, aiohttp.ClientSession() as session:
        url = f"{program.callbacks_url}/filter"
        question = (SAMPLES / "refused.json").read_bytes()
        if let_in:
            async with session.post(url, data=question, ssl=client) as response:
                assert (await response.json())["Error"] == ""
        else:
            with pytest.raises(aiohttp.ClientError):
                await session.post(url, data=question, ssl=client)
        _, report = await get(f"{program.ops_url}/readyz?verbose")
        assert "[+]tls-certificate ok" in report
        _, metrics = await get(f"{program.ops_url}/metrics")
    failed = 'affinity_extender_tls_handshake_failures_total{reason="client_name"}'
    assert f"{failed} {0.0 if let_in else 1.0}" in metrics
    assert (
        'affinity_extender_tls_certificate_expiration_timestamp_seconds{port="callbacks"}'
        in metrics
    )
