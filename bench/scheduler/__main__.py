"""Measure whole schedulers on a real control plane: `python -m bench.scheduler bursts`."""

from __future__ import annotations

import argparse
import asyncio

from bench.scheduler import bursts, waiting
from bench.scheduler.cluster import opened


def main() -> None:
    """Run one of the measurements, and print its report."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    of_bursts = what.add_parser("bursts", help=bursts.__doc__)
    of_bursts.add_argument("--repeats", type=int, default=5)
    of_waiting = what.add_parser("waiting", help=waiting.__doc__)
    of_waiting.add_argument("--pods", type=int, default=1000, help="how many wait")
    print(asyncio.run(_run(parser.parse_args())))


async def _run(args: argparse.Namespace) -> str:
    async with opened() as bench:
        if args.what == "bursts":
            return bursts.as_markdown(await bursts.measure(bench, args.repeats))
        return waiting.as_markdown(await waiting.measure(bench, args.pods))


if __name__ == "__main__":
    main()
