"""Measure the extender against a server that answers at once: `python -m bench`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.measure import Plan, measure
from bench.output import add_files, put_out
from bench.report import ECHO, OTHER, Load, Results, as_json, as_markdown
from bench.servers import Server, echo_server, extender_server
from bench.workloads import write_cluster
from tests.e2e.judging import EVERYWHERE


def main() -> None:
    args = _arguments()
    plan = Plan(args.nodes, tuple(args.names), args.rounds, args.calls, args.pause_ms / 1000)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        servers = [stack.enter_context(echo_server(ECHO))]
        loads = []
        for pods in sorted(args.pods):
            server, load = _start(stack, directory, plan.nodes, pods, args.against)
            servers += server
            loads.append(load)
        results = Results(plan, loads, measure(servers, plan, _progress))
    _progress("")
    put_out(args, as_markdown(results), as_json(results))


def _start(
    stack: ExitStack, directory: Path, nodes: int, pods: int, against: Path | None
) -> tuple[list[Server], Load]:
    name = f"{pods} pods"
    file = directory / f"cluster-{pods}.json"
    _progress(f"writing a cluster of {pods:,} pods")
    write_cluster(file, nodes, pods)
    size = file.stat().st_size / 1e6
    _progress(f"loading {pods:,} pods, {size:.0f} MB")
    config = directory / "config.json"
    config.write_text(EVERYWHERE)
    options = ("--config", str(config))
    server = stack.enter_context(extender_server(name, file, *options))
    servers = [server]
    if against is not None:
        other = extender_server(name + OTHER, file, *options, tree=against.resolve())
        servers.append(stack.enter_context(other))
    file.unlink()
    return servers, Load(name, pods, size, server.ready_after, *server.memory())


def _progress(line: str) -> None:
    """Show what goes on, on one line, where somebody is there to see it."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer calls, and no 150,000 pods")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, nargs="+", help="cluster sizes to compare")
    parser.add_argument("--names", type=int, nargs="+", default=[500, 5000], help="nodes per call")
    parser.add_argument("--rounds", type=int, default=5, help="medians of them count")
    parser.add_argument("--calls", type=int, help="cycles per round, server and kind of question")
    parser.add_argument("--pause-ms", type=float, default=2.0, help="rest before each call")
    parser.add_argument(
        "--against", type=Path, metavar="TREE", help="another checkout with its .venv, to compare"
    )
    add_files(parser)
    args = parser.parse_args()
    args.pods = args.pods or ([1_000, 50_000] if args.quick else [1_000, 50_000, 150_000])
    args.calls = args.calls or (24 if args.quick else 72)
    return args


if __name__ == "__main__":
    main()
