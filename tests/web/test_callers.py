"""Whose requests are answered: not those that a browser sends for somebody else's page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from yarl import URL

from extender.runtime import running
from tests.test_runtime import configuration
from tests.web.attacking import JSON, QUESTION, Answer, ask, request

HEADER = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"


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
    async with running(configuration(mode="replace", config=str(file))) as program:
        yield Asked(program.callbacks_url, program.ops_url)


QUESTIONS = (
    ("GET /readyz", (), b""),
    ("GET /explain?pod=x", (), b""),
    ("GET /", (), b""),
    ("POST /explain", (JSON,), QUESTION),
    ("POST /filter", (JSON,), QUESTION),
)


OURS: Mapping[str, str] = {
    "the address, as kubectl port-forward and curl have it": "127.0.0.1:PORT",
    "localhost": "localhost:PORT",
    "localhost, in full and in capitals": "LOCALHOST.",
    "a pod's address, as of probes and Prometheus": "10.244.1.17:PORT",
    "an IPv6 address": "[::1]:PORT",
    "an IPv6 address without a port": "[fd00::1]",
    "an IPv4 address written as IPv6": "[::ffff:10.0.0.1]:80",
    "a Service of the same namespace": "affinity-extender",
    "a Service": "affinity-extender.kube-system.svc:PORT",
    "a Service in full": "affinity-extender.kube-system.svc.cluster.local.",
    "a name that is configured": "ops.EXAMPLE.com:8443",
}


async def test_names_of_this_server_are_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        for case, host in OURS.items():
            for line, headers, body in QUESTIONS:
                answer = await program.say(line, *headers, body=body, host=host)
                assert answer.status in {200, 404}, (case, line, answer)


OTHERS: Mapping[str, str] = {
    "a name made to resolve to loopback": "evil.example:PORT",
    "beside one that is configured": "evil.example.com",
    "that ends like one that is configured": "xops.example.com",
    "that begins like loopback": "localhost.evil.example",
    "that begins like an address": "127.0.0.1.evil.example",
    "that looks like a Service": "x.svc.evil.example",
    "that begins like a cluster's domain": "svc.cluster.local.evil.example",
    "of a service that resolves to anything": "127.0.0.1.nip.io:PORT",
    "an address as no browser sends it": "0x7f.0.0.1",
    "in brackets": "[evil.example]:80",
}


async def test_other_names_are_not(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        for case, host in OTHERS.items():
            for line, headers, body in QUESTIONS:
                answer = await program.say(line, *headers, body=body, host=host)
                assert answer.status == 403, (case, line, answer)
                assert b"allowedHosts" in answer.body


HERE = "127.0.0.1:PORT"


PAGES_OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    "a page of another site": ("Origin: https://evil.example",),
    "a page without an origin": ("Origin: null",),
    "a page of another port": ("Origin: http://127.0.0.1:8080",),
    "a page of the usual port": ("Origin: http://127.0.0.1",),
    "an origin with a path": ("Origin: http://evil.example/@127.0.0.1:PORT",),
    "fetched by another site": ("Sec-Fetch-Site: cross-site",),
    "fetched by another port": ("Sec-Fetch-Site: same-site",),
    "in a frame of another site": (
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Dest: iframe",
    ),
    "as an image of another site": (
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: no-cors",
        "Sec-Fetch-Dest: image",
    ),
}


async def test_pages_of_others_are_not_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        for case, headers in PAGES_OF_OTHERS.items():
            for line, own, body in QUESTIONS:
                answer = await program.say(line, *own, *headers, body=body, host=HERE)
                assert answer.status == 403, (case, line, answer)


OWN_PAGE: Mapping[str, tuple[str, ...]] = {
    "its own page": ("Origin: http://127.0.0.1:PORT",),
    "fetched by its own page": ("Sec-Fetch-Site: same-origin",),
    "typed by a person": ("Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"),
}


async def test_its_own_page_is(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        for case, headers in OWN_PAGE.items():
            for line, own, body in QUESTIONS:
                answer = await program.say(line, *own, *headers, body=body, host=HERE)
                assert answer.status in {200, 404}, (case, line, answer)


async def test_a_link_elsewhere_opens_the_page_and_sends_no_form(tmp_path: Path) -> None:
    told = "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"
    async with serving(tmp_path) as program:
        assert (await program.say("GET /", *told, host=HERE)).status == 200
        for line, own, body in QUESTIONS[-2:]:
            assert (await program.say(line, *own, *told, body=body, host=HERE)).status == 403


TYPES: Mapping[str, tuple[str | None, int]] = {
    "JSON, as kube-scheduler says": ("application/json", 200),
    "JSON in UTF-8": ("application/json; charset=utf-8", 200),
    "JSON in capitals": ("Application/JSON", 200),
    "none": (None, 200),
    "text, as a form may send it": ("text/plain", 415),
    "a form": ("application/x-www-form-urlencoded", 415),
    "a form with files": ("multipart/form-data; boundary=x", 415),
    "text that names JSON as well": ("text/plain; application/json", 415),
    "something else": ("application/xml", 415),
}


async def test_a_body_is_json(tmp_path: Path) -> None:
    async with serving(tmp_path) as program:
        for case, (kind, status) in TYPES.items():
            headers = () if kind is None else (f"Content-Type: {kind}",)
            for line, _, body in QUESTIONS[-2:]:
                answer = await program.say(line, *headers, body=body, host=HERE)
                assert answer.status == status, (case, line, answer)


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
