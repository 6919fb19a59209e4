"""Measure whole schedulers on a real control plane: `python -m bench.scheduler bursts`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench.output import add_files, put_out_measured
from bench.scheduler import (
    annotated,
    bursts,
    candidates,
    comparing,
    hints,
    preemptors,
    rates,
    ready,
    waiting,
)
from bench.scheduler.cluster import opened
from bench.scheduler.workloads import WORKLOADS


def main() -> None:
    args = _arguments()
    outcomes: Sequence[Any] = asyncio.run(args.measure(args))
    numbers = {"outcomes": [asdict(each) for each in outcomes]}
    put_out_measured(args, args.as_markdown(outcomes), numbers)


async def _bursts(args: argparse.Namespace) -> Sequence[bursts.Outcome]:
    async with opened() as bench:
        return await bursts.measure(bench, args.repeats)


async def _waiting(args: argparse.Namespace) -> Sequence[waiting.Outcome]:
    async with opened() as bench:
        return await waiting.measure(bench, args.pods)


async def _preemptors(args: argparse.Namespace) -> Sequence[preemptors.Outcome]:
    async with opened() as bench:
        return await preemptors.measure(bench, args.preemptors, args.repeats)


async def _candidates(args: argparse.Namespace) -> Sequence[candidates.Outcome]:
    async with opened() as bench:
        return await candidates.measure(bench, args.nodes, args.preemptors)


async def _hints(args: argparse.Namespace) -> Sequence[hints.Outcome]:
    async with opened() as bench:
        return await hints.measure(bench, args.nodes, args.pods, hints.SIDES)


async def _comparing(args: argparse.Namespace) -> Sequence[comparing.Compared]:
    async with opened() as bench:
        return await comparing.measure(bench, args.scenarios, args.first)


async def _rates(args: argparse.Namespace) -> Sequence[rates.Outcome]:
    texts = [text.lower() for text in args.only]
    chosen = [each for each in WORKLOADS if any(text in each.name.lower() for text in texts)]
    async with opened() as bench:
        return [
            outcome
            for workload in chosen
            for outcome in await rates.measure(bench, workload, args.rounds, args.modes)
        ]


async def _annotated(args: argparse.Namespace) -> Sequence[annotated.Outcome]:
    cases = [annotated.CASES[name](args.scale) for name in args.cases]
    async with opened() as bench:
        return await annotated.measure(bench, cases, args.rounds, args.only or ())


async def _ready(args: argparse.Namespace) -> Sequence[ready.Outcome]:
    return await ready.measure(args.pods, args.starts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler", description=__doc__)
    what = parser.add_subparsers(required=True)
    of_bursts = what.add_parser("bursts", help=bursts.__doc__)
    of_bursts.add_argument("--repeats", type=int, default=5)
    of_bursts.set_defaults(measure=_bursts, as_markdown=bursts.as_markdown)
    of_waiting = what.add_parser("waiting", help=waiting.__doc__)
    of_waiting.add_argument("--pods", type=int, default=1000, help="how many wait")
    of_waiting.set_defaults(measure=_waiting, as_markdown=waiting.as_markdown)
    of_preemptors = what.add_parser("preemptors", help=preemptors.__doc__)
    of_preemptors.add_argument("--preemptors", type=int, default=300)
    of_preemptors.add_argument("--repeats", type=int, default=3)
    of_preemptors.set_defaults(measure=_preemptors, as_markdown=preemptors.as_markdown)
    of_candidates = what.add_parser("candidates", help=candidates.__doc__)
    of_candidates.add_argument("--nodes", type=int, default=5000)
    of_candidates.add_argument("--preemptors", type=int, default=5, help="with each setting")
    of_candidates.set_defaults(measure=_candidates, as_markdown=candidates.as_markdown)
    of_hints = what.add_parser("hints", help=hints.__doc__)
    of_hints.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 5000])
    of_hints.add_argument("--pods", type=int, default=7, help="in each case, fewer if they wait")
    of_hints.set_defaults(measure=_hints, as_markdown=hints.as_markdown)
    of_comparing = what.add_parser("preemptions", help=comparing.__doc__)
    of_comparing.add_argument("--scenarios", type=int, default=100)
    of_comparing.add_argument("--first", type=int, default=1, help="the seed of the first one")
    of_comparing.set_defaults(measure=_comparing, as_markdown=comparing.as_markdown)
    of_rates = what.add_parser("rates", help=rates.__doc__)
    of_rates.add_argument("--rounds", type=int, default=1, help="the middle one counts")
    names = "; ".join(each.name for each in WORKLOADS)
    of_rates.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help=f"workloads like these: {names}"
    )
    of_rates.add_argument(
        "--modes", nargs="+", choices=(*rates.MODES, *rates.FURTHER), default=rates.MODES
    )
    of_rates.set_defaults(measure=_rates, as_markdown=rates.as_markdown)
    of_annotated = what.add_parser("annotations", help=annotated.__doc__)
    of_annotated.add_argument("--cases", nargs="+", choices=annotated.CASES, required=True)
    of_annotated.add_argument(
        "--scale", type=float, default=1.0, help="from 0.1; 1 is the published size"
    )
    of_annotated.add_argument("--rounds", type=int, default=1, help="the best one counts")
    of_annotated.add_argument("--only", nargs="+", metavar="SIDE", help="by name, of those printed")
    of_annotated.set_defaults(measure=_annotated, as_markdown=annotated.as_markdown)
    of_ready = what.add_parser("ready", help=ready.__doc__)
    of_ready.add_argument("--pods", type=int, default=150_000, help="how many are there")
    of_ready.add_argument("--starts", type=int, default=3)
    of_ready.set_defaults(measure=_ready, as_markdown=ready.as_markdown)
    for each in what.choices.values():
        add_files(each)
    return parser.parse_args()


if __name__ == "__main__":
    main()
