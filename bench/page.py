"""What the page costs, and how long it holds the event loop: `python -m bench.page`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import median
from time import thread_time
from typing import Any, Final
from urllib.parse import urlencode

import uvloop
from aiohttp.test_utils import make_mocked_request

from bench.clusters import RULES, mixed_cluster
from bench.output import add_files, put_out_measured
from bench.tables import table
from bench.turns import Turns
from bench.workloads import HOST, ZONE
from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.cluster.state import ClusterState
from extender.core.config import Config
from extender.core.config.document import decode
from extender.core.config.features import facets
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.parts import Context, Program, build_parts
from extender.core.resources import book
from extender.core.source import Source, StillPicture
from extender.core.warm_up import WarmUp
from extender.core.web.app import LastCalls
from extender.core.web.offered import Response, Route
from extender.core.wire.objects import PodReader

NODES, PODS = 5000, 150_000
TARGET_HELD_MS = 50.0
EVERYWHERE: Final[Mapping[str, Any]] = {"namespaceSelector": {}}
"""With rules in annotations, all features with pages are on."""
_TIMES = 7


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    add_files(parser)
    args = parser.parse_args()
    config = decode({"apiVersion": API_VERSION, "kind": KIND, "annotations": EVERYWHERE})
    reader = PodReader(rules=RULES, node_selection=True, facets=facets(config))
    state = mixed_cluster(NODES, PODS, reader)
    book(config, state)
    lines = uvloop.run(_measure(config, state))
    head = ("page", "median, ms", "slowest, ms", "held at most, ms", "KB")
    size = (
        f"{NODES:,} nodes, {PODS:,} pods; each page {_TIMES} times. Processor time, which a busy "
        f"machine does not change. Target: {TARGET_HELD_MS:g} ms held."
    )
    report = f"{size}\n\n{table(head, lines)}"
    put_out_measured(args, report, {"pages": [list(each) for each in lines]})


ASKED: Final[Sequence[tuple[str, str, Mapping[str, str]]]] = (
    ("overview", "/", {}),
    ("pods that wait, searched", "/page/explain", {"q": "7"}),
    ("an explanation", "/page/explain", {}),
    ("rules, sorted", "/page/domains", {"sort": "carriers"}),
    ("rules, searched", "/page/domains", {"q": "app-1"}),
    ("a rule", "/page/domains", {"term": "1", "sort": "matched"}),
    ("hostnames, the last part", "/page/domains", {"key": HOST, "page": "50"}),
    ("a zone", "/page/domains", {"key": ZONE, "value": "zone-1"}),
    ("violations", "/page/violations", {}),
    ("quotas", "/page/quotas", {}),
    ("activity", "/page/activity", {}),
)


async def _measure(config: Config, state: ClusterState) -> Sequence[Sequence[str]]:
    metrics = Metrics()
    source, refused = Source("bench", StillPicture({}, {})), RefusedPods(state)
    warm_up, history = WarmUp(state, metrics), History()
    shared = config, source, state, metrics, lambda: None, warm_up, history
    context = Context(*shared, refused=refused)
    parts, turns = build_parts(context), Turns()
    sections = tuple(chain.from_iterable(each.sections for each in parts))
    for each in parts:
        each.built(Program({}, sections, LastCalls(()), "-"))
    routes = {each.path: each for part in parts for each in part.routes}
    some = next(key for key, each in state.pods.items() if each.pod_class.affinity)
    lines = []
    for name, path, query in ASKED:
        asked = dict(query)
        if name == "an explanation":
            asked["namespace"], _, asked["pod"] = some.partition("/")
        spent, held, size = [], 0.0, 0
        for _ in range(_TIMES):
            await asyncio.sleep(0.02)
            start = thread_time()
            longest, answer = await turns.longest(_answer(routes[path], asked))
            body = answer.body
            assert answer.status == 200, body  # noqa: S101 - nothing to measure otherwise
            assert isinstance(body, bytes)  # noqa: S101
            spent.append(1000 * (thread_time() - start))
            held, size = max(held, longest), len(body) // 1000
        lines.append((name, *_digits((median(spent), max(spent), held)), f"{size}"))
    return lines


async def _answer(route: Route, asked: Mapping[str, str]) -> Response:
    return await route.get(make_mocked_request("GET", f"{route.path}?{urlencode(asked)}"))


def _digits(numbers: Iterable[float]) -> Sequence[str]:
    return [f"{each:.1f}" for each in numbers]


if __name__ == "__main__":
    main()
