"""Cases drawn from a seed, and what is kept of one that was answered differently."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from hypothesis import HealthCheck, Phase, given, seed, settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hypothesis.strategies import SearchStrategy

    from tests.conformance.asking import Release

Case = dict[str, Any]


class Difference(Protocol):
    """What Kubernetes came to, and what the extender did."""

    @property
    def theirs(self) -> object:
        """Return what Kubernetes came to."""

    @property
    def ours(self) -> object:
        """Return what the extender came to."""


def look_at_each(
    cases: SearchStrategy[Case], look: Callable[[Case], None], *, start: int, examples: int
) -> None:
    """Draw so many cases; one that fails is made as small as possible."""

    @seed(start)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def each(case: Case) -> None:
        look(case)

    each()


ROUNDS = 8
"""In which what is drawn has to be of use: rare causes are not in every one."""


def look_until(
    enough: Callable[[], bool],
    cases: SearchStrategy[Case],
    look: Callable[[Case], None],
    *,
    start: int,
    examples: int,
) -> None:
    """Draw so many cases, and as many again while they are not `enough`, for some rounds."""
    for number in range(ROUNDS):
        look_at_each(cases, look, start=start + number, examples=examples)
        if enough():
            return


def file_for(folder: Path, release: Release, start: int) -> Path:
    """Return where the case of a run is kept that was answered differently."""
    return folder / f"{datetime.now(UTC):%Y-%m-%d}-{release}-{start}.json"


def keep(case: Case, file: Path, release: Release, found: Difference) -> NoReturn:
    """Write a case that was answered differently to its file, and fail.

    While a case shrinks the file is written again and again; the smallest comes last and stays.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(case, indent=1) + "\n")
    raise AssertionError(
        f"Kubernetes {release}: {found.theirs}\n        the extender: {found.ours}\n"
        f"the case, kept in {file}:\n{file.read_text()}"
    )
