"""What a scheduling cycle costs beside one with an echo, in instructions, and what was accepted."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bench.instructions.callgrind import count
from bench.instructions.cycles import CYCLES, ECHO, OURS, name_of
from bench.workloads import MIXED

GROWTH: Final = 1.1
"""A ratio may be this many times the accepted one. Of the same program, runs differ by 1 %."""
ACCEPTED: Final = Path(__file__).parents[1] / "results" / "instructions.json"
PYTHON: Final = ".".join(platform.python_version_tuple()[:2])

Ratios = Mapping[str, float]
"""Ours divided by the echo's, by the rules of the pods."""


def measure(again: int = 0) -> tuple[Ratios, Mapping[str, int]]:
    """Return the ratios, and the instructions of a cycle by side and rules; some 10 s.

    With `again`, the program reads every request so many times more.
    """
    found = count("bench.instructions.cycles", str(again))
    cycles = {name: total // CYCLES for name, total in found.items()}
    ratios = {
        rules.value: cycles[name_of(OURS, rules)] / cycles[name_of(ECHO, rules)] for rules in MIXED
    }
    return ratios, cycles


def accepted() -> tuple[Ratios, str]:
    """Return the ratios that were accepted last, and the minor version of Python they are for."""
    found = json.loads(ACCEPTED.read_text(encoding="utf-8"))
    return found["ratios"], found["python"]


def accept(ratios: Ratios) -> None:
    rounded = {rules: round(ratio, 3) for rules, ratio in ratios.items()}
    text = json.dumps({"python": PYTHON, "ratios": rounded}, indent=2)
    ACCEPTED.write_text(text + "\n", encoding="utf-8")


def grown(ratios: Ratios, before: Ratios) -> Iterator[str]:
    """Say which ratios are too large beside the accepted ones, and what to do."""
    for rules, ratio in ratios.items():
        if ratio > GROWTH * before[rules]:
            yield (
                f"{rules}: a cycle takes {ratio:.3f} times the instructions of one with an echo, "
                f"and {before[rules]:.3f} were accepted ({ratio / before[rules] - 1:+.0%}). If it "
                "is worth that: python -m bench.instructions --accept, and commit "
                f"bench/results/{ACCEPTED.name}"
            )
