"""Run faults on a real control plane: `python -m tests.e2e.faults --seconds 600`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.controlplane.binaries import ensure
from tests.e2e.faults.campaign import run
from tests.e2e.faults.report import add


def main() -> int:
    """Return 0 if no rule was broken and no pod stuck."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.faults", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="of faults")
    parser.add_argument("--seed", type=int, help="of an earlier run")
    parser.add_argument("--only", default="", help="faults with this in their names: restore")
    parser.add_argument("--report", type=Path, help="add the run to this report, and its JSON")
    parser.add_argument("--logs", type=Path, help="a new folder for data and logs, which are kept")
    args = parser.parse_args()
    seed = int.from_bytes(os.urandom(3)) if args.seed is None else args.seed
    _say(f"seed {seed}, {args.seconds:.0f} s of faults")
    with _folder(args.logs) as folder:
        result = asyncio.run(run(ensure(_say), folder, seed, args.seconds, _say, only=args.only))
    for rule, what in result.wrong:
        _say(f"{rule}: {what}")
    for each in result.errors:
        _say(f"the extender logged an error: {each}")
    if args.report is not None:
        add(result, args.report)
    return 1 if result.wrong else 0


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        yield Path(folder)


def _say(line: str) -> None:
    sys.stderr.write(f"faults: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
