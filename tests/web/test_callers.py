"""Whose requests are answered: not those that a browser sends for somebody else's page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from yarl import URL

from extender.runtime import running
from tests.test_runtime import configuration
from tests.web.attacking import JSON, QUESTION, Answer, ask, request

HEADER = "apiVersion: affinity-extender.io/v1alpha1\nkind: AffinityExtenderConfiguration\n"


class Asked:
    """The two ports of a program."""

    def __init__(self, callbacks: str, operations: str) -> None:
        self._ports = {"/filter": URL(callbacks).port or 0, "/prioritize": URL(callbacks).port or 0}
        self._operations = URL(operations).port or 0

    async def say(self, line: str, *headers: str, body: bytes = b"", host: str) -> Answer:
        """Ask whichever port has the path."""
        port = self._ports.get(line.split()[1], self._operations)
        told = (*headers, "Connection: close")
        host = host.replace("PORT", str(port))
        told = tuple(each.replace("PORT", str(port)) for each in told)
        return await ask(port, request(line, *told, body=body, host=host))


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Asked]:
    """Serve the sample, also as ops.example.com."""
    file = folder / "config.yaml"
    file.write_text(f"{HEADER}serving: {{allowedHosts: [Ops.example.com]}}\n")
    async with running(configuration(MODE="replace", CONFIG=str(file))) as program:
        yield Asked(program.callbacks_url, program.ops_url)


QUESTIONS = (
    ("GET /readyz", (), b""),
    ("GET /explain?pod=x", (), b""),
    ("GET /", (), b""),
    ("POST /explain", (JSON,), QUESTION),
    ("POST /filter", (JSON,), QUESTION),
)


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("127.0.0.1:PORT", id="the address, as kubectl port-forward and curl have it"),
        pytest.param("localhost:PORT", id="localhost"),
        pytest.param("LOCALHOST.", id="localhost, in full and in capitals"),
        pytest.param("10.244.1.17:PORT", id="a pod's address, as of probes and Prometheus"),
        pytest.param("[::1]:PORT", id="an IPv6 address"),
        pytest.param("[fd00::1]", id="an IPv6 address without a port"),
        pytest.param("[::ffff:10.0.0.1]:80", id="an IPv4 address written as IPv6"),
        pytest.param("affinity-extender", id="a Service of the same namespace"),
        pytest.param("affinity-extender.kube-system.svc:PORT", id="a Service"),
        pytest.param("affinity-extender.kube-system.svc.cluster.local.", id="a Service in full"),
        pytest.param("ops.EXAMPLE.com:8443", id="a name that is configured"),
    ],
)
async def test_names_of_this_server_are_answered(tmp_path: Path, host: str) -> None:
    async with serving(tmp_path) as program:
        for line, headers, body in QUESTIONS:
            answer = await program.say(line, *headers, body=body, host=host)
            assert answer.status in {200, 404}, (line, answer)


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("evil.example:PORT", id="a name made to resolve to loopback"),
        pytest.param("evil.example.com", id="beside one that is configured"),
        pytest.param("xops.example.com", id="that ends like one that is configured"),
        pytest.param("localhost.evil.example", id="that begins like loopback"),
        pytest.param("127.0.0.1.evil.example", id="that begins like an address"),
        pytest.param("x.svc.evil.example", id="that looks like a Service"),
        pytest.param("svc.cluster.local.evil.example", id="that begins like a cluster's domain"),
        pytest.param("127.0.0.1.nip.io:PORT", id="of a service that resolves to anything"),
        pytest.param("0x7f.0.0.1", id="an address as no browser sends it"),
        pytest.param("[evil.example]:80", id="in brackets"),
    ],
)
async def test_other_names_are_not(tmp_path: Path, host: str) -> None:
    async with serving(tmp_path) as program:
        for line, headers, body in QUESTIONS:
            answer = await program.say(line, *headers, body=body, host=host)
            assert answer.status == 403, (line, answer)
            assert b"allowedHosts" in answer.body


HERE = "127.0.0.1:PORT"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(("Origin: https://evil.example",), id="a page of another site"),
        pytest.param(("Origin: null",), id="a page without an origin"),
        pytest.param(("Origin: http://127.0.0.1:8080",), id="a page of another port"),
        pytest.param(("Origin: http://127.0.0.1",), id="a page of the usual port"),
        pytest.param(("Origin: http://evil.example/@127.0.0.1:PORT",), id="an origin with a path"),
        pytest.param(("Sec-Fetch-Site: cross-site",), id="fetched by another site"),
        pytest.param(("Sec-Fetch-Site: same-site",), id="fetched by another port"),
        pytest.param(
            ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"),
            id="in a frame of another site",
        ),
        pytest.param(
            ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
            id="as an image of another site",
        ),
    ],
)
async def test_pages_of_others_are_not_answered(tmp_path: Path, headers: tuple[str, ...]) -> None:
    async with serving(tmp_path) as program:
        for line, own, body in QUESTIONS:
            answer = await program.say(line, *own, *headers, body=body, host=HERE)
            assert answer.status == 403, (line, answer)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(("Origin: http://127.0.0.1:PORT",), id="its own page"),
        pytest.param(("Sec-Fetch-Site: same-origin",), id="fetched by its own page"),
        pytest.param(("Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"), id="typed by a person"),
    ],
)
async def test_its_own_page_is(tmp_path: Path, headers: tuple[str, ...]) -> None:
    async with serving(tmp_path) as program:
        for line, own, body in QUESTIONS:
            answer = await program.say(line, *own, *headers, body=body, host=HERE)
            assert answer.status in {200, 404}, (line, answer)


async def test_a_link_elsewhere_opens_the_page_and_sends_no_form(tmp_path: Path) -> None:
    told = "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"
    async with serving(tmp_path) as program:
        assert (await program.say("GET /", *told, host=HERE)).status == 200
        for line, own, body in QUESTIONS[-2:]:
            assert (await program.say(line, *own, *told, body=body, host=HERE)).status == 403


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        pytest.param("application/json", 200, id="JSON, as kube-scheduler says"),
        pytest.param("application/json; charset=utf-8", 200, id="JSON in UTF-8"),
        pytest.param("Application/JSON", 200, id="JSON in capitals"),
        pytest.param(None, 200, id="none"),
        pytest.param("text/plain", 415, id="text, as a form may send it"),
        pytest.param("application/x-www-form-urlencoded", 415, id="a form"),
        pytest.param("multipart/form-data; boundary=x", 415, id="a form with files"),
        pytest.param("text/plain; application/json", 415, id="text that names JSON as well"),
        pytest.param("application/xml", 415, id="something else"),
    ],
)
async def test_a_body_is_json(tmp_path: Path, kind: str | None, status: int) -> None:
    headers = () if kind is None else (f"Content-Type: {kind}",)
    async with serving(tmp_path) as program:
        for line, _, body in QUESTIONS[-2:]:
            answer = await program.say(line, *headers, body=body, host=HERE)
            assert answer.status == status, (line, answer)


async def test_no_answer_says_by_what_it_was_made(tmp_path: Path) -> None:
    asked = (
        *QUESTIONS,
        ("GET /nowhere", (), b""),
        ("DELETE /filter", (), b""),
        ("GET /metrics", ("Accept-Encoding: gzip",), b""),
        ("POST /filter", ("Content-Length: x",), b""),
        ("GARBAGE /filter", (), b""),
        ("GET /readyz", ("Origin: null",), b""),
    )
    async with serving(tmp_path) as program:
        for line, headers, body in asked:
            answer = await program.say(line, *headers, body=body, host=HERE)
            assert answer.status, line
            head = answer.head.lower()
            assert b"server:" not in head, line
            assert b"aiohttp" not in head + answer.body[:1000], line
