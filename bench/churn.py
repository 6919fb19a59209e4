"""What a stream of pod events does to the slowest answers: `python -m bench.churn`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from typing import IO

from bench.connection import Connection
from bench.output import add_files, put_out_measured
from bench.servers import Server, extender_at
from bench.tables import table
from bench.workloads import Question, Rules, questions

NODES = 5000
TARGET = 1.5
"""The 99th percentile under churn ÷ without."""
_CALLS = 250
_PAUSE = 0.002


@dataclass(frozen=True, slots=True)
class Tail:
    """Microseconds of a call, from the last byte sent until the last one received."""

    median: float
    p99: float


@dataclass(frozen=True, slots=True)
class Churn:
    """Calls to one extender, with and without events."""

    pods: int
    rate: int
    """Events a second: a pod is deleted, or one takes its place."""
    quiet: Tail
    busy: Tail

    @property
    def ratio(self) -> float:
        """Return how much longer the slowest calls take."""
        return self.busy.p99 / self.quiet.p99


class Api:
    """An API server in another process, with a cluster whose pods come and go as told."""

    def __init__(self, url: str, commands: IO[str]) -> None:
        self.url = url
        self._commands = commands

    def churn(self, rate: int) -> None:
        self._commands.write(f"{rate}\n")
        self._commands.flush()


def measure(pods: int, rate: int, rounds: int) -> Churn:
    asked = questions(Rules.PREFERRED, NODES, 500, [Rules.PREFERRED])
    samples: dict[int, list[float]] = {0: [], rate: []}
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, api_of(NODES, pods) as api:
        kubeconfig = kubeconfig_in(Path(directory), api.url)
        with extender_at("churn", kubeconfig) as server:
            for _ in range(rounds):
                for events in samples:
                    api.churn(events)
                    samples[events] += times(server, asked, _CALLS)
            if server.total("affinity_extender_watch_events_total") < rate * rounds / 2:
                raise RuntimeError("the extender has seen too few events to speak of churn")
            api.churn(0)  # nobody is to be sent any while the extender ends
    return Churn(pods, rate, _tail(samples[0]), _tail(samples[rate]))


def times(server: Server, asked: Sequence[Question], calls: int) -> list[float]:
    """Return the microseconds of `calls` calls of filter and, in between, of prioritize."""
    found: list[float] = []
    with Connection(server.port) as connection:
        for call in range(calls):
            question = asked[call % len(asked)]
            names = question.names
            for path in ("/filter", "/prioritize"):
                body = json.dumps(question.about(names), separators=(",", ":")).encode()
                time.sleep(_PAUSE)
                start = time.perf_counter_ns()
                answer = connection.post(path, body)
                found.append((time.perf_counter_ns() - start) / 1000)
                if path == "/filter":
                    names = json.loads(answer)["NodeNames"]
    return found


def _tail(spent: Sequence[float]) -> Tail:
    cuts = quantiles(spent, n=100)
    return Tail(cuts[49], cuts[98])


@contextmanager
def api_of(nodes: int, pods: int) -> Iterator[Api]:
    command = [sys.executable, "-m", "bench.churning_api", str(nodes), str(pods)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipe to the API server")
        try:
            yield Api(process.stdout.readline().strip(), process.stdin)
        finally:
            process.terminate()


def kubeconfig_in(directory: Path, url: str) -> Path:
    """Write a kubeconfig for an API server that asks for no credentials."""
    file = directory / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": url}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def as_markdown(churn: Churn) -> str:
    rows = [
        ("no events", f"{churn.quiet.median:.0f}", f"{churn.quiet.p99:.0f}"),
        (f"{churn.rate} a second", f"{churn.busy.median:.0f}", f"{churn.busy.p99:.0f}"),
    ]
    verdict = "met" if churn.ratio <= TARGET else "**not met**"
    return (
        f"{churn.pods:,} pods, 500 names, preferred rules; µs from the last byte sent to the last "
        f"received.\n\n{table(('pod events', 'median', 'p99'), rows)}\n\n"
        f"p99 with events ÷ without: {churn.ratio:.2f} (target ≤ {TARGET:g}, {verdict})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.churn", description=__doc__)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--rate", type=int, default=200, help="pod events a second")
    parser.add_argument("--rounds", type=int, default=5)
    add_files(parser)
    args = parser.parse_args()
    found = measure(args.pods, args.rate, args.rounds)
    put_out_measured(args, as_markdown(found), asdict(found))


if __name__ == "__main__":
    main()
