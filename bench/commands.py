"""What the commands cost on a large dump, in some checkouts: `python -m bench.commands DIR...`.

Each checkout has its own .venv. The commands are run in turn, so that what else the machine does
falls on all of them.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.output import add_files, put_out_measured
from bench.tables import table
from bench.workloads import MIXED, cluster_items, write_list

NODES, PODS = 5_000, 50_000
TIMES: Final = 3
COMMANDS: Final = {
    "explain a pod": "explain team-99/app-499-99",
    "drain a node": "simulate --drain worker-00000.fleet.internal",
    "lose a zone": "simulate --lose zone=zone-1",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=__doc__)
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="DIR", help="a checkout")
    add_files(parser)
    args = parser.parse_args()
    spent: dict[str, dict[str, list[float]]] = {
        command: {each.name: [] for each in args.checkouts} for command in COMMANDS
    }
    with TemporaryDirectory() as folder:
        dump = Path(folder, "dump.json")
        write_list(dump, _owned(cluster_items(NODES, PODS, MIXED)))
        for _ in range(TIMES):
            for command, line in COMMANDS.items():
                for checkout in args.checkouts:
                    spent[command][checkout.name].append(_processor_time(checkout, line, dump))
    rows = [
        [
            command,
            *(f"{median(each):.1f} ({min(each):.1f}-{max(each):.1f})" for each in by.values()),
        ]
        for command, by in spent.items()
    ]
    head = ["", *(each.name for each in args.checkouts)]
    report = (
        f"{NODES:,} nodes, {PODS:,} pods; seconds of processor time, user and system, medians of "
        f"{TIMES} and ranges.\n\n{table(head, rows)}"
    )
    put_out_measured(args, report, {"seconds": spent})


def _owned(items: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Make owners controllers, without which pods that are evicted are gone for good."""
    for item in items:
        for owner in item["metadata"].get("ownerReferences", ()):
            owner["controller"] = True
        yield item


def _processor_time(checkout: Path, line: str, dump: Path) -> float:
    """Return the seconds of processor time that a command takes; RuntimeError if it fails."""
    before = getrusage(RUSAGE_CHILDREN)
    program = [str(checkout.resolve() / ".venv/bin/python"), "-m", "extender"]
    done = subprocess.run(
        [*program, *line.split(), "--cluster", str(dump)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode not in {0, 1, 4}:
        raise RuntimeError(f"{line} in {checkout}: {done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
