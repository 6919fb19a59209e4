"""What clusters cost that are three and more times as large: `python -m bench.scale`.

Each cluster is started in turn, from an API server whose pods come and go, or from a file. Then
follow the activities that take long: see `bench.scale_turns`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from time import sleep

from bench import ratios, scale_turns
from bench.churn import api_of, kubeconfig_in, times
from bench.memory import keep_freed_memory
from bench.output import add_files, put_out_measured
from bench.ratios import Ratio
from bench.servers import Server, extender_at, extender_server
from bench.tables import table
from bench.workloads import Rules, cluster_items, questions, write_list

NAMES, RATE = 500, 500
"""Nodes asked about, and pod events a second."""
_SETTLING_S = 5.0
"""Until garbage of the start is gone and memory at rest shows."""
_CLUSTERS = (
    f"Preferred rules of 500 applications. A cycle is filter and prioritize for {NAMES} names, the "
    f"median with nothing else going on; then the slowest single calls under {RATE} pod events a "
    "second."
)
_TURNS = (
    "Longest turn of the event loop, garbage collector included, in processor time; target ≤ "
    f"{scale_turns.TARGET_MS:g} ms. A full walk of the collector comes once a day, or after "
    "hundreds of requests that failed oddly."
)
_ASKED = (Rules.PREFERRED,)


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    pods: int
    from_file: bool = False

    def __str__(self) -> str:
        where = ", from a file" if self.from_file else ""
        return f"{self.nodes:,} nodes, {self.pods:,} pods{where}"


USUAL, LARGE = Size(5_000, 150_000), Size(15_000, 500_000)
SIZES = (
    USUAL,
    LARGE,
    *(
        Size(nodes, pods, from_file=True)
        for nodes, pods in (
            (5_000, 150_000),
            (15_000, 500_000),
            (65_000, 1_000_000),
            (130_000, 2_000_000),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one start and the calls after it took."""

    size: Size
    ready: float
    """Seconds from the start of the process until /readyz said yes."""
    resident: float
    """MiB some seconds later, before the first call."""
    highest: float
    quiet: float
    """Median microseconds of filter and prioritize together, nothing else going on."""
    busy: tuple[float, float, float] | None
    """99 %, 99.9 % and the longest of the calls beside pod events, ms; None without an API server.
    """


def measure(size: Size, calls: int) -> Outcome:
    asked = questions(Rules.PREFERRED, size.nodes, NAMES, _ASKED)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        if size.from_file:
            file = Path(directory) / "cluster.json"
            write_list(file, cluster_items(size.nodes, size.pods, _ASKED))
            with extender_server(str(size), file) as server:
                return _asked(size, server, times(server, asked, calls), None)
        with (
            api_of(size.nodes, size.pods) as api,
            extender_at(str(size), kubeconfig_in(Path(directory), api.url)) as server,
        ):
            sleep(_SETTLING_S)
            memory = server.memory()
            quiet = times(server, asked, calls // 4)
            api.churn(RATE)
            sleep(1.0)
            busy = times(server, asked, calls)
            api.churn(0)  # nobody is to be sent any while the extender ends
            return _asked(size, server, quiet, busy, memory)


def _asked(
    size: Size,
    server: Server,
    quiet: Sequence[float],
    busy: Sequence[float] | None,
    memory: tuple[float, float] | None = None,
) -> Outcome:
    cuts = quantiles(busy, n=1000) if busy else []
    return Outcome(
        size,
        server.ready_after,
        *(memory or server.memory()),
        median(quiet[::2]) + median(quiet[1::2]),
        (cuts[989] / 1000, cuts[998] / 1000, max(busy) / 1000) if busy else None,
    )


def targets(outcomes: Sequence[Outcome]) -> list[Ratio]:
    """Compare the large cluster with what it is to take."""
    found = {each.size: each for each in outcomes}
    large, usual = found.get(LARGE), found.get(USUAL)
    if large is None or large.busy is None or usual is None:
        return []
    return [
        Ratio(f"{LARGE}: seconds until ready", large.ready, 30.0),
        Ratio(f"{LARGE}: MiB at rest", large.resident, 300.0),
        Ratio(f"{LARGE} ÷ {USUAL}: filter and prioritize", large.quiet / usual.quiet, 1.3),
        Ratio(f"{LARGE}: 99.9 % of calls under {RATE} events a second, ms", large.busy[1], 20.0),
    ]


def as_markdown(outcomes: Sequence[Outcome], turns: dict[str, float]) -> str:
    head = ("cluster", "ready, s", "resident, MiB", "highest, MiB", "cycle, µs", "p99, ms")
    rows = [
        (
            str(each.size),
            f"{each.ready:.1f}",
            f"{each.resident:.0f}",
            f"{each.highest:.0f}",
            f"{each.quiet:.0f}",
            *(("", "", "") if each.busy is None else (f"{spent:.1f}" for spent in each.busy)),
        )
        for each in outcomes
    ]
    parts = []
    if outcomes:
        found = targets(outcomes)
        parts += [
            _CLUSTERS,
            table((*head, "p99.9, ms", "longest, ms"), rows),
            *([ratios.as_markdown(found)] if found else []),
        ]
    if turns:
        parts += [
            _TURNS,
            table(("while", "ms"), [(what, f"{spent:.1f}") for what, spent in turns.items()]),
        ]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument(
        "--only", nargs="*", metavar="TEXT", help="sizes and activities with this in their names"
    )
    parser.add_argument("--calls", type=int, default=2000, help="of each cluster")
    add_files(parser)
    args = parser.parse_args()
    keep_freed_memory()

    def wanted(name: object) -> bool:
        return args.only is None or any(each in str(name) for each in args.only)

    outcomes = []
    for size in filter(wanted, SIZES):
        outcomes.append(measure(size, args.calls))
        print(outcomes[-1], file=sys.stderr)
    turns = asyncio.run(scale_turns.measure(wanted))
    numbers = {"clusters": [asdict(each) for each in outcomes], "turns": turns}
    put_out_measured(args, as_markdown(outcomes, turns), numbers)


if __name__ == "__main__":
    main()
