"""What a person sees of a run."""

from __future__ import annotations

import asyncio
import io
import re

import pytest

from clusterload.progress import Progress


class Terminal(io.StringIO):
    """A stream on which a line can change."""

    def isatty(self) -> bool:
        return True


async def test_a_terminal_shows_a_line_that_changes() -> None:
    terminal = Terminal()
    progress = Progress(terminal)
    async with progress.test("small"):
        progress.step("[step: 01] create pods")
        progress.expect(2)
        progress.done()
        await asyncio.sleep(0)
        assert terminal.getvalue().endswith("small: [step: 01] create pods, 0 s: 1 of 2 objects")
        progress.step_ended(ok=True)

    assert "small: [step: 01] create pods: ok after 0.0 s\n" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


async def test_elsewhere_there_is_a_line_a_step() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    async with progress.test("small"):
        progress.step("[step: 01] create pods")
        progress.step_ended(ok=False)

    assert stream.getvalue() == "small: [step: 01] create pods: FAILED after 0.0 s\n"


class Told(io.StringIO):
    """A stream that tells of each line."""

    def __init__(self) -> None:
        super().__init__()
        self.told = asyncio.Event()

    def write(self, text: str) -> int:
        self.told.set()
        return super().write(text)


async def test_what_is_waited_for_is_shown_as_long_as_it_is() -> None:
    progress = Progress(io.StringIO())
    run = 0
    progress.step("wait")
    with (
        progress.waiting("Pods", lambda: f"{run} of 3 pods run"),
        progress.waiting("Scrape", lambda: "a pause of 5 s"),
    ):
        run = 2
        assert progress.line() == ": wait, 0 s: Pods: 2 of 3 pods run; Scrape: a pause of 5 s"
    assert progress.line() == ": wait, 0 s"


async def test_a_long_step_says_now_and_then_what_it_waits_for() -> None:
    stream = Told()
    progress = Progress(stream, said_s=0.001)
    async with asyncio.timeout(10), progress.test("small"):
        progress.step("wait")
        with progress.waiting("Pods", lambda: "1 of 3 pods run"):
            await stream.told.wait()
            first, *_ = stream.getvalue().splitlines()
            assert re.fullmatch(r"small: wait, \d+ s: Pods: 1 of 3 pods run", first)


async def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    progress = Progress(terminal)
    async with progress.test("small"):
        progress.step("wait for the pods")
        await asyncio.sleep(0)
        assert terminal.getvalue().endswith("\r\x1b[Ksmall: wait for the")
