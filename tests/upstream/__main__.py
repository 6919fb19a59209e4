"""Run upstream's integration suites with the extender: `python -m tests.upstream`.

Each suite runs as it is, then with the files of `scheduler-config/` and the extender. Whatever
fails then and not alone has to stand in `expected.py`, with the reason.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from tests.e2e.controlplane.binaries import KUBERNETES, ensure
from tests.upstream.copying import compiled
from tests.upstream.integration import INTEGRATION, SUITES
from tests.upstream.modes import MODES
from tests.upstream.report import report, unexpected
from tests.upstream.results import keep, kept
from tests.upstream.running import run

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites, write the report, and tell whether something failed that must not."""
    args = _arguments(arguments)
    programs = compiled(INTEGRATION, args.release, _say)
    etcd = ensure(_say).folder
    for suite, mode in product(args.suites, args.modes):
        if args.resume and mode in kept(args.results, args.release).get(suite, {}):
            continue
        _say(f"{suite}, {mode}")
        program = Path(programs[f"{Path(suite).name}.test"])
        found = run(program, mode, etcd, args.logs / f"{Path(suite).name}-{mode}", args.run)
        _say(f"{suite}, {mode}: {found.in_short()}")
        if not args.run:
            keep(args.results, args.release, suite, mode, found)
    results = kept(args.results, args.release)
    args.report.write_text(report(results, args.release), encoding="utf-8")
    wrong = unexpected(results)
    for each in wrong:
        _say(f"not expected: {each}")
    return 1 if wrong else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("--release", default=KUBERNETES)
    parser.add_argument("--suites", type=_split, default=SUITES, help="folders, comma-separated")
    parser.add_argument("--modes", type=_split, default=MODES, help=", ".join(MODES))
    parser.add_argument("--run", default="", help="only tests whose name matches, as for go test")
    parser.add_argument(
        "--resume", action="store_true", help="leave out what results.json has of this release"
    )
    parser.add_argument("--logs", type=Path, default=Path(gettempdir()) / "upstream")
    parser.add_argument("--results", type=Path, default=_HERE / "results.json")
    parser.add_argument("--report", type=Path, default=_HERE / "report.md")
    return parser.parse_args(arguments)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _say(line: str) -> None:
    sys.stderr.write(f"upstream: {line}\n")


if __name__ == "__main__":
    sys.exit(main())
