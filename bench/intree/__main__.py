"""Measure the extender beside the scheduler's own plugin: `python -m bench.intree`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.intree import namespaces, scenarios
from bench.intree.driver import cycles_program, running_cycles
from bench.intree.report import Results, as_json, as_markdown
from bench.intree.workshop import Workshop
from bench.output import add_files, put_out_measured
from bench.servers import echo_server
from bench.workloads import Rules
from tests.e2e.controlplane.toolchain import MissingToolError


def main() -> None:
    args = _arguments()
    plan = scenarios.Plan(
        args.nodes,
        tuple(args.names),
        args.rounds,
        args.calls,
        args.pause_ms / 1000,
        tuple(sorted(args.pods)),
        tuple(Rules[name] for name in args.rules),
    )
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        try:
            built = cycles_program(_progress)
        except MissingToolError as missing:
            print(f"skipped, the scheduler's plugin cannot be built here: {missing}")
            return
        cycles = stack.enter_context(running_cycles(built))
        echo = stack.enter_context(echo_server("echo"))
        workshop = Workshop(cycles, echo, directory, _progress)
        found = [scenarios.measure(plan, rules, workshop) for rules in plan.rules]
        kinds = () if args.no_namespaces else namespaces.Kind
        compared = [namespaces.compare(kind, workshop) for kind in kinds]
    results = Results(plan, found, compared)
    put_out_measured(args, as_markdown(results), as_json(results))
    if results.differences:
        sys.exit(f"answers differ: {results.differences[0]}")


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.intree", description=__doc__)
    known = [rules.name for rules in Rules if rules is not Rules.LIMIT]  # in-tree has no such rule
    parser.add_argument("--rules", nargs="+", choices=known, default=known)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, nargs="+", default=[1000, 10_000, 50_000, 150_000])
    parser.add_argument("--names", type=int, nargs="+", default=[500, 5000], help="nodes per call")
    parser.add_argument("--rounds", type=int, default=5, help="medians of them count")
    parser.add_argument("--calls", type=int, default=48, help="cycles per round and side")
    parser.add_argument("--pause-ms", type=float, default=2.0, help="rest before each call")
    parser.add_argument("--no-namespaces", action="store_true", help="leave KEP-2249 out")
    add_files(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
