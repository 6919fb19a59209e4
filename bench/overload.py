"""What is bound when more binds are asked for than may be sent: `python -m bench.overload`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from statistics import quantiles

from bench.binding import binder_of, binds
from bench.output import add_files, put_out_measured
from bench.tables import table
from extender.core.callbacks.in_flight import InFlightPods
from extender.core.cluster.state import ClusterState
from extender.core.kube.client import ApiClient
from extender.core.kube.flowcontrol import FlowControl
from extender.core.kube.pacing import Timing
from extender.core.kube.reader import ObjectReader
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.interaction import interact
from extender.core.web.app import Callback
from extender.core.wire.objects import PodReader
from tests.answering import requests_of
from tests.builders import model_node, model_pod, node, pod
from tests.kube.binding_api import BindingApi
from tests.kube.pulse import Pulse
from tests.kube.rig import credentials_for
from tests.kube.virtual_loop import run_virtually

NODES = 100
TARGET = 0.9
"""What is bound ÷ the peak, or ÷ what is asked for where that is less."""
LOADS = (0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 1.5, 1.0, 0.8, 0.5)
"""What is asked for ÷ clientConnection.qps, one after the other."""
_SETTLE_SECONDS = 3.0
"""Not counted: the burst is used up, or what had waited is worked off."""
_BIND_SECONDS = 0.005
"""What the API server takes for a bind, about as with etcd on a fast disk."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One bind, in seconds since the start."""

    asked: float
    answered: float
    bound: bool


@dataclass(frozen=True, slots=True)
class Step:
    """So many binds asked for, for some seconds; all rates are a second."""

    offered: float
    bound: float
    refused: float
    p99: float
    """Seconds until an answer, of those given in the step."""


class Scheduler:
    """Asks for binds at a steady rate, each of another pod, and waits for none."""

    def __init__(self, api: BindingApi, state: ClusterState, binds: Callback) -> None:
        self._api = api
        self._state = state
        self._binds = binds
        self._now = asyncio.get_running_loop().time
        self._next = 0
        self._calls: set[asyncio.Task[None]] = set()
        self.ended: list[Ended] = []

    async def offer(self, rate: float, seconds: float) -> None:
        """Ask for `rate` binds a second."""
        for _ in range(round(rate * seconds)):
            call = asyncio.create_task(self._bind())
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
            await asyncio.sleep(1 / rate)

    async def finish(self) -> None:
        """Wait for what has not been answered."""
        await asyncio.gather(*self._calls)

    async def _bind(self) -> None:
        self._next += 1
        raw = pod(f"p{self._next}")
        self._api.pods.put(raw)
        self._state.upsert_pod(model_pod(raw))
        body = {
            "PodName": raw["metadata"]["name"],
            "PodNamespace": "default",
            "PodUID": raw["metadata"]["uid"],
            "Node": f"n{self._next % NODES}",
        }
        start = self._now()
        answer = json.loads(await self._binds.answer(json.dumps(body).encode()))
        self.ended.append(Ended(start, self._now(), not answer["Error"]))
        # As its end would: the extender is not to be measured with ever more pods.
        self._state.remove_pod("default/" + body["PodName"], body["PodUID"])
        self._api.pods.delete("default/" + body["PodName"])


@asynccontextmanager
async def _scheduler(qps: float) -> AsyncIterator[Scheduler]:
    clock = asyncio.get_running_loop().time
    timing = Timing(clock=clock)
    limit = FlowControl(qps, round(2 * qps), timing)
    state = ClusterState()
    for number in range(NODES):
        state.upsert_node(model_node(node(f"n{number}", {})))
    async with (
        BindingApi(Pulse(), seconds=_BIND_SECONDS, clock=clock) as api,
        ApiClient(credentials_for(api.url), limit=limit, timing=timing) as client,
    ):
        callback = binds(
            requests_of(state),
            (InterPodAffinity(),),
            InFlightPods(partial(interact, state)),
            clock,
            binder_of(client, ObjectReader(client, PodReader())),
        )
        yield Scheduler(api, state, callback)


async def measure(qps: float, seconds: float) -> list[Step]:
    """Ask for less than may be sent, then for more, then for less again."""
    steps = []
    async with _scheduler(qps) as scheduler:
        for load in LOADS:
            await scheduler.offer(load * qps, _SETTLE_SECONDS)
            before = len(scheduler.ended)
            await scheduler.offer(load * qps, seconds)
            steps.append(_step(scheduler.ended[before:], load * qps, seconds))
        await scheduler.finish()
    return steps


def _step(ended: Sequence[Ended], offered: float, seconds: float) -> Step:
    bound = sum(each.bound for each in ended)
    latency = quantiles([each.answered - each.asked for each in ended], n=100)[98]
    return Step(offered, bound / seconds, (len(ended) - bound) / seconds, latency)


def kept(step: Step, peak: float) -> float:
    """Return what is bound of what could be."""
    return step.bound / min(step.offered, peak)


def as_markdown(steps: Sequence[Step], qps: float) -> str:
    peak = max(step.bound for step in steps)
    rows = [
        (
            f"{step.offered:.0f}",
            f"{step.bound:.0f}",
            f"{step.refused:.0f}",
            f"{step.p99:.2f}",
            f"{kept(step, peak):.2f}",
        )
        for step in steps
    ]
    worst = min(kept(step, peak) for step in steps)
    verdict = "met" if worst >= TARGET else "**not met**"
    head = ("binds asked for", "bound", "refused", "p99, s", "bound ÷ possible")
    return (
        f"`clientConnection.qps: {qps:g}`, `burst` twice that; rates are a second, one "
        f"after the other, in virtual time.\n\n{table(head, rows)}\n\nPossible is what is "
        f"asked for, or the peak of {peak:.0f} if that is less. At the "
        f"worst {worst:.2f} (target ≥ {TARGET:g}, {verdict})."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.overload", description=__doc__)
    parser.add_argument("--qps", type=float, default=200.0, help="clientConnection.qps")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each rate, and 3 more")
    add_files(parser)
    args = parser.parse_args()
    # One line for each bind that is refused.
    logging.disable(logging.WARNING)
    steps = run_virtually(measure(args.qps, args.seconds))
    numbers = {"qps": args.qps, "steps": [asdict(step) for step in steps]}
    put_out_measured(args, as_markdown(steps, args.qps), numbers)


if __name__ == "__main__":
    main()
