"""What became of upstream's suites, kept from run to run: all of them together take hours."""

from __future__ import annotations

import fcntl
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from msgspec import convert

from tests.upstream.modes import MODES
from tests.upstream.running import Results

if TYPE_CHECKING:
    from pathlib import Path


def kept(path: Path, release: str) -> dict[str, dict[str, Results]]:
    """Read the results of a release, by suite and mode; none where there is no such file."""
    if not path.exists():
        return {}
    suites = json.loads(path.read_text(encoding="utf-8")).get(release, {})
    return {
        suite: {mode: convert(by_mode[mode], Results) for mode in MODES if mode in by_mode}
        for suite, by_mode in suites.items()
    }


def keep(path: Path, release: str, suite: str, mode: str, found: Results) -> None:
    """Put one result in the place of an earlier one; runs side by side may write one file."""
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        everything = json.loads(file.read() or "{}")
        everything.setdefault(release, {}).setdefault(suite, {})[mode] = asdict(found)
        file.truncate(0)
        json.dump(everything, file, indent=1, sort_keys=True)
        file.write("\n")
