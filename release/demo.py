"""Record a terminal: commands with what they answer, one screen after the other, as an SVG."""

from __future__ import annotations

import contextlib
import io
import shlex
from html import escape
from pathlib import Path
from typing import Final

from affinityctl import cli

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "figures" / "demo.svg"
STUCK: Final = "docs/simulate/stuck.yaml"
COMMANDS: Final = (
    "affinity-extender explain db-3 -n data --cluster extender/samples/cluster.yaml",
    f"affinity-extender simulate --restart deployment/web -n shop --cluster {STUCK}",
    "affinity-extender advise --cluster extender/samples/cluster.yaml",
)
"""Of a checkout; their answers are the same each time."""

SECONDS: Final = 12
"""That a screen is there for."""
COLUMNS: Final = 82
ADVANCE, LINE, MARGIN = 8.43, 19, 16
"""Of a character and a line of 14 px, and around them, in px."""

_STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6d6d6;
  white-space: pre; }
.command { fill: #8ae234; font-weight: bold; }
.screen { opacity: 0; animation: shown %(cycle)ds step-end infinite; }
@keyframes shown { 0%% { opacity: 1; } %(share).2f%% { opacity: 0; } 100%% { opacity: 0; } }
@media (prefers-reduced-motion: reduce) {
  .screen { animation: none; }
  .screen.first { opacity: 1; }
}
"""


def main() -> None:
    FILE.write_text(recording())


def recording() -> str:
    screens = [[*prompt(command), *answer(command)] for command in COMMANDS]
    height = 2 * MARGIN + LINE * max(map(len, screens))
    width = round(2 * MARGIN + COLUMNS * ADVANCE)
    style = _STYLE % {"cycle": SECONDS * len(screens), "share": 100 / len(screens)}
    groups = "".join(_group(number, screen) for number, screen in enumerate(screens))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{escape('; '.join(COMMANDS))}</title>\n"
        f"<style>\n{style}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#1d1f21"/>\n{groups}</svg>\n'
    )


def prompt(command: str) -> list[str]:
    """Return the lines in which a command is typed."""
    if len(command) + 2 <= COLUMNS:
        return [f"$ {command}"]
    first, _, last = command.rpartition(" --")
    return [f"$ {first} \\", f"    --{last}"]


def answer(command: str) -> list[str]:
    """Run a command in the root of the repository, and return the lines that it prints."""
    output = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(output):
        cli.main(shlex.split(command)[1:])
    return output.getvalue().splitlines()


def _group(number: int, screen: list[str]) -> str:
    first = " first" if number == 0 else ""
    delay = f"animation-delay: {SECONDS * number}s"
    lines = "".join(
        _text(at, line, len(prompt(COMMANDS[number]))) for at, line in enumerate(screen)
    )
    return f'<g class="screen{first}" style="{delay}">\n{lines}</g>\n'


def _text(at: int, line: str, typed: int) -> str:
    kind = ' class="command"' if at < typed else ""
    return f'<text x="{MARGIN}" y="{MARGIN + LINE * at + 14}"{kind}>{escape(line)}</text>\n'


if __name__ == "__main__":
    main()
