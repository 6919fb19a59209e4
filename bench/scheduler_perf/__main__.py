"""Run upstream's scheduler benchmark with the extender: `python -m bench.scheduler_perf`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from msgspec import convert

from bench.output import add_files, put_out
from bench.scheduler_perf.building import pin, program, upstream
from bench.scheduler_perf.cases import LARGEST, SIZES, workloads
from bench.scheduler_perf.report import as_markdown
from bench.scheduler_perf.running import Benchmark, Outcome, run
from bench.scheduler_perf.sides import SIDES
from tests.e2e.controlplane.binaries import cache_folder, ensure
from tests.e2e.controlplane.toolchain import find_go


def main() -> None:
    args = _arguments()
    if args.pin:
        with TemporaryDirectory() as scratch:
            pin(find_go(cache_folder(), _say), Path(scratch), _say)
        return
    found = upstream(cache_folder(), _say)
    benchmark = Benchmark(program(_say), found, ensure(_say).folder)
    chosen = [each for each in workloads(found, args.size) if args.only in str(each)]
    outcomes: list[Outcome] = []
    folder = Path(mkdtemp(prefix="scheduler-perf-"))
    _say(f"logs and clusters are in {folder}")
    try:
        for workload, number, side in product(chosen, range(args.rounds), args.sides):
            place = folder / f"{workload.case}-{side.replace(', ', '-')}-{number}"
            outcome = run(benchmark, workload, side, place)
            outcomes.append(outcome)
            average = outcome.pods_per_second.get("Average", 0)
            _say(f"{workload}, {side}: {average:.0f} pods/s, {len(outcome.broken)} broken")
    finally:  # An hour's figures are not lost with the run that broke off.
        outcomes = _with_earlier(args.json, outcomes, list(map(str, workloads(found, args.size))))
        put_out(args, as_markdown(outcomes), {"outcomes": [asdict(each) for each in outcomes]})


def _with_earlier(path: Path | None, new: Sequence[Outcome], order: list[str]) -> list[Outcome]:
    """Return what was measured, and of other workloads what is in the file from before."""
    earlier: list[Outcome] = []
    if path is not None and path.exists():
        earlier = convert(json.loads(path.read_text(encoding="utf-8"))["outcomes"], list[Outcome])
    again = {each.workload for each in new}
    kept = [each for each in earlier if each.workload not in again]
    return sorted((*kept, *new), key=lambda each: order.index(each.workload))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler_perf", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default=LARGEST)
    parser.add_argument("--only", default="", help="workloads with this in their name")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--pin", action="store_true", help="write go.mod and go.sum anew, and end")
    add_files(parser)
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stderr.write(f"scheduler_perf: {line}\n")


if __name__ == "__main__":
    main()
