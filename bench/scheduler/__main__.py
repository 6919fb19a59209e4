"""Measure whole schedulers on a real control plane: `python -m bench.scheduler bursts`."""

from __future__ import annotations

import argparse
import asyncio

from bench.scheduler import bursts, rates, waiting
from bench.scheduler.cluster import opened
from bench.scheduler.workloads import WORKLOADS


def main() -> None:
    """Run one of the measurements, and print its report."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    of_bursts = what.add_parser("bursts", help=bursts.__doc__)
    of_bursts.add_argument("--repeats", type=int, default=5)
    of_waiting = what.add_parser("waiting", help=waiting.__doc__)
    of_waiting.add_argument("--pods", type=int, default=1000, help="how many wait")
    of_rates = what.add_parser("rates", help=rates.__doc__)
    of_rates.add_argument("--rounds", type=int, default=1, help="the best one counts")
    names = "; ".join(each.name for each in WORKLOADS)
    of_rates.add_argument("--only", default="", metavar="TEXT", help=f"workloads like it: {names}")
    print(asyncio.run(_run(parser.parse_args())))


async def _run(args: argparse.Namespace) -> str:
    async with opened() as bench:
        if args.what == "bursts":
            return bursts.as_markdown(await bursts.measure(bench, args.repeats))
        if args.what == "waiting":
            return waiting.as_markdown(await waiting.measure(bench, args.pods))
        outcomes = []
        for workload in WORKLOADS:
            if args.only.lower() in workload.name.lower():
                outcomes += await rates.measure(bench, workload, args.rounds)
        return rates.as_markdown(outcomes)


if __name__ == "__main__":
    main()
