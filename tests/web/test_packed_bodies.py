"""Bodies that unpack to more than they say, or that are where none belongs: never unpacked."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from functools import cache

import pytest

from tests.web.attacking import JSON, QUESTION, Attacked, ask, attacked, chunked, request

pytestmark = pytest.mark.thorough

UNPACKED = 200 << 20
AT_A_TIME = 12
MOST_MIB = 48
"""More than it had before; one of these bodies alone would be 200."""
MOST_SECONDS = 2.0


@cache
def bomb() -> bytes:
    return gzip.compress(bytes(UNPACKED), 6)


async def test_what_would_unpack_costs_neither_memory_nor_the_time_of_others() -> None:
    packed = "Content-Encoding: gzip"
    async with attacked() as program:
        before, _ = program.memory()
        for line, port in (
            ("POST /filter", program.callbacks),
            ("GET /filter", program.callbacks),
            ("POST /explain", program.operations),
            ("GET /livez", program.operations),
        ):
            over = asyncio.Event()
            waiting = asyncio.create_task(program.slowest_call(over))
            attack = request(line, JSON, packed, body=bomb())
            answers = await asyncio.gather(*(ask(port, attack) for _ in range(AT_A_TIME)))
            over.set()
            assert {each.status for each in answers} <= {400, 405, 413, 415}, line
            assert await waiting < MOST_SECONDS, line
        _, most = program.memory()
        assert most - before < MOST_MIB


PACKED = {
    "gzip": gzip.compress(QUESTION),
    "deflate": zlib.compress(QUESTION),
    "br": QUESTION,
    "zstd": QUESTION,
    "x-gzip": gzip.compress(QUESTION),
    "GZIP": gzip.compress(QUESTION),
    "gzip, gzip": QUESTION,
    "identity, gzip": QUESTION,
    "nonsense": QUESTION,
}


async def both(program: Attacked, line: str, *headers: str, body: bytes) -> set[int]:
    """Ask on both ports, and return the statuses."""
    asked = request(line, *headers, body=body)
    answers = [await ask(port, asked) for port in (program.callbacks, program.operations)]
    return {each.status for each in answers}


async def test_any_encoding_of_a_body_is_refused_with_415_and_the_connection_closed() -> None:
    async with attacked() as program:
        for verb, port in (("/filter", program.callbacks), ("/explain", program.operations)):
            for encoding, body in PACKED.items():
                told = JSON, f"Content-Encoding: {encoding}"
                answer = await ask(port, request(f"POST {verb}", *told, body=body))
                assert answer.status == 415, encoding
                in_chunks = request(
                    f"POST {verb}",
                    *(*told, "Transfer-Encoding: chunked"),
                    body=chunked([body[:10], body[10:]]),
                )
                assert (await ask(port, in_chunks)).status == 415, encoding
            twice = JSON, "Content-Encoding: identity", "Content-Encoding: gzip"
            assert (await ask(port, request(f"POST {verb}", *twice, body=QUESTION))).status == 415


async def test_a_body_that_is_as_it_is_may_say_so() -> None:
    async with attacked() as program:
        for verb, port in (("/filter", program.callbacks), ("/explain", program.operations)):
            told = JSON, "Content-Encoding: identity", "Connection: close"
            assert (await ask(port, request(f"POST {verb}", *told, body=QUESTION))).status == 200


async def test_a_body_without_a_length_is_refused_however_it_is_coded() -> None:
    async with attacked() as program:
        for verb, port in (("/filter", program.callbacks), ("/explain", program.operations)):
            for coding in ("chunked", "gzip, chunked", "deflate, chunked", "gzip", "x, chunked"):
                told = JSON, f"Transfer-Encoding: {coding}"
                body = chunked([gzip.compress(QUESTION)])
                answer = await ask(port, request(f"POST {verb}", *told, body=body))
                assert answer.status == (400 if coding == "gzip" else 411), coding


async def test_many_small_chunks_trailers_and_large_headers_keep_nobody_waiting() -> None:
    tiny = JSON, "Transfer-Encoding: chunked"
    attacks = {
        "chunks of a byte": request("POST /filter", *tiny, body=b"1\r\nx\r\n" * 400_000),
        "long extensions": request(
            "POST /filter", *tiny, body=(b"1;" + b"a" * 4000 + b"\r\nx\r\n") * 600
        ),
        "trailers": request("POST /filter", *tiny, body=b"1\r\nx\r\n0\r\n" + b"x: y\r\n" * 100_000),
        "headers": request("POST /filter", *(f"X{n}: {'y' * 8000}" for n in range(120))),
        "a body of forms": request(
            "POST /explain",
            "Content-Type: multipart/form-data; boundary=x",
            body=b"--x\r\nContent-Encoding: gzip\r\n\r\n" + bomb(),
        ),
    }
    async with attacked() as program:
        before, _ = program.memory()
        for name, attack in attacks.items():
            over = asyncio.Event()
            waiting = asyncio.create_task(program.slowest_call(over))
            for port in (program.callbacks, program.operations):
                answers = await asyncio.gather(*(ask(port, attack) for _ in range(AT_A_TIME)))
                # None where the server stopped reading before all was sent.
                assert {each.status for each in answers} <= {0, 400, 404, 405, 411, 415}, name
            over.set()
            assert await waiting < MOST_SECONDS, name
        _, most = program.memory()
        assert most - before < MOST_MIB
