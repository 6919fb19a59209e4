"""What a person sees of a run."""

from __future__ import annotations

import asyncio
import io

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
        assert terminal.getvalue().endswith("small: [step: 01] create pods 1/2 0 s")
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
