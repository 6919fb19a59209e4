"""Rules in annotations beside what they stand for: pods placed a second, every place checked."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.production import MACHINES, Production
from bench.scheduler.cluster import say
from bench.scheduler.rates import QPS, Placed, build, place, remove
from bench.scheduler.workloads import perf_node, perf_pod
from bench.tables import table
from bench.workloads import AFFINITY_ANNOTATION
from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.judging import extending
from tests.e2e.objects import HOSTNAME, JSON, term
from tests.e2e.sandbox import Sandbox
from tests.e2e.scheduling import STOCK, Scheduler, bare, configured, shipped

RACK, JOB = "example.com/rack", "job"
JOBS, PODS_A_JOB, NODES_A_RACK = 250, 15, 20
"""JobSet's own test of exclusive placement: 250 jobs of 15 pods on 5,000 nodes
(github.com/kubernetes-sigs/jobset/issues/174). As many racks as jobs is ours: it does not say."""
TRACES = 0.42
"""Of the instances in both traces of `bench.production` that have a maximum on a node: 33,000."""
PACKED = {
    "name": "NodeResourcesFit",
    "args": {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
        }
    },
}
"""Fills one machine after the other, so that maxima are reached."""


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    mode: str
    pods: Callable[[], list[JSON]]
    judged: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """A cluster without pods, and who is compared on it."""

    name: str
    nodes: list[JSON]
    sides: Sequence[Side]
    check: Callable[[list[JSON], list[JSON]], tuple[int, str]]
    """Counts what is broken, from the objects of the API server alone; says what else it sees."""
    plugins: Sequence[JSON] = ()
    """Arguments of the scheduler's plugins."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One side, once."""

    case: str
    side: str
    pods: int
    placed: Placed
    broken: int | None
    seen: str
    load: float
    """Average of a minute, at the end."""


async def measure(
    sandbox: Sandbox, cases: Sequence[Case], rounds: int, only: Sequence[str]
) -> list[Outcome]:
    """Let the sides of each case place their pods in turn."""
    outcomes = []
    for case in cases:
        await build(sandbox, [], case.nodes)
        for _ in range(rounds):
            for side in case.sides:
                if not only or side.name in only:
                    outcomes.append(await _run(sandbox, case, side))
                    say(str(outcomes[-1]))
        await sandbox.clear()
    return outcomes


async def _run(sandbox: Sandbox, case: Case, side: Side) -> Outcome:
    pods = side.pods()
    placed = await place(sandbox, pods, _scheduled(sandbox, case, side))
    broken, seen = case.check(case.nodes, list(sandbox.pods.objects.values()))
    await remove(sandbox, pods)
    found = broken if side.judged else None
    return Outcome(case.name, side.name, len(pods), placed, found, seen, os.getloadavg()[0])


@asynccontextmanager
async def _scheduled(sandbox: Sandbox, case: Case, side: Side) -> AsyncIterator[Scheduler]:
    folder, control_plane = sandbox.folder(side.mode), sandbox.control_plane
    if side.mode == STOCK:
        profiles = {"profiles": [{"schedulerName": "default-scheduler"}]}
        config = _with_plugins(bare() | profiles, case)
        async with configured(control_plane, config, folder, qps=QPS) as alone:
            yield alone
        return
    async with extending(sandbox, side.mode, folder) as extender:
        config = _with_plugins(shipped(side.mode, extender.url, quotas=True), case)
        async with configured(control_plane, config, folder, qps=QPS) as scheduler:
            yield scheduler


def _with_plugins(config: JSON, case: Case) -> JSON:
    config["profiles"][0]["pluginConfig"] = list(case.plugins)
    return config


# At most so many on a node


def limits(scale: float) -> Case:
    """Return the pods of two production traces that have a maximum on a node."""
    apps = list(_apps(Production(scale=scale * TRACES)))
    machines = round(MACHINES * scale)
    plain, limited = (partial(_replicas, apps, annotated=each) for each in (False, True))
    return Case(
        f"At most N of an app on a node, {machines:,} nodes",
        [perf_node(number) for number in range(machines)],
        (
            Side("replace, anti-affinity", REPLACE, plain),
            Side("replace, maxMatchingPods", REPLACE, limited),
            Side("assist, maxMatchingPods", ASSIST, limited),
            Side("stock, anti-affinity", STOCK, plain),
        ),
        within_limits,
        (PACKED,),
    )


def _apps(made: Production) -> Iterator[tuple[str, int, int]]:
    """Yield name, instances and maximum of each app that has one, about itself."""
    own = (rule for rule in made.rules() if rule.app == rule.other)
    for size, rule in zip(made.sizes, own, strict=False):
        yield f"app-{rule.app}", size, rule.k + 1
    for group in made.gpu_groups():
        if group.at_most is not None:
            yield f"{group.role}-{group.app}", group.instances, group.at_most


def _replicas(apps: Sequence[tuple[str, int, int]], *, annotated: bool) -> list[JSON]:
    made = []
    for app, size, most in apps:
        wish = term(HOSTNAME, {"app": app})
        for number in range(size):
            name = f"{app}-{number}"
            if annotated:
                each = _pod(name, {"app": app})
                rules = {"podAntiAffinity": _required(wish | {"maxMatchingPods": most})}
                each["metadata"]["annotations"] = {AFFINITY_ANNOTATION: json.dumps(rules)}
            else:
                each = _pod(name, {"app": app}, apart=[wish])
            made.append(each)
    return made


def _pod(name: str, labels: dict[str, str], **affinity: Any) -> JSON:
    made = perf_pod(name, "default", "none", **affinity)
    made["metadata"]["labels"] = labels
    return made


def _required(wish: JSON) -> JSON:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [wish]}


def within_limits(_: list[JSON], pods: list[JSON]) -> tuple[int, str]:
    """Count the nodes with more of an app than its pods allow; say how many have as many."""
    there = Counter((each["spec"]["nodeName"], each["metadata"]["labels"]["app"]) for each in pods)
    most = {each["metadata"]["labels"]["app"]: _most(each) for each in pods}
    broken = sum(count > most[app] for (_, app), count in there.items())
    full = sum(count == most[app] > 1 for (_, app), count in there.items())
    nodes = len({node for node, _ in there})
    return broken, f"{nodes:,} nodes used, {full:,} times an app has N > 1 on a node"


def _most(pod: JSON) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(AFFINITY_ANNOTATION)
    rules = json.loads(text) if text else pod["spec"]["affinity"]
    (only,) = rules["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    most: int = only.get("maxMatchingPods", 1)
    return most


# A rack for each job


def exclusive_racks(scale: float) -> Case:
    """Return JobSet's test: jobs that each need a rack alone, and as many racks."""
    jobs = round(JOBS * scale)
    nodes = [perf_node(number) for number in range(jobs * NODES_A_RACK)]
    for number, each in enumerate(nodes):
        each["metadata"]["labels"][RACK] = f"rack-{number // NODES_A_RACK:03}"
    free, terms = (partial(_jobs, jobs, each) for each in (_no_rule, _terms))
    return Case(
        f"{jobs} jobs of {PODS_A_JOB} pods, {len(nodes):,} nodes in {jobs} racks",
        nodes,
        (
            Side("stock, no rules", STOCK, free, judged=False),
            Side("stock, JobSet's terms", STOCK, terms),
            Side("replace, JobSet's terms", REPLACE, terms),
            Side("assist, JobSet's terms", ASSIST, terms),
        ),
        alone,
    )


def _jobs(jobs: int, rule: Callable[[str], JSON]) -> list[JSON]:
    return [
        _pod(f"{job}-{number}", {JOB: job}, **rule(job))
        for job in (f"job-{number}" for number in range(jobs))
        for number in range(PODS_A_JOB)
    ]


def _no_rule(_: str) -> JSON:
    return {}


def _terms(job: str) -> dict[str, Any]:
    """Return what JobSet writes (pkg/webhooks, setExclusiveAffinities), and our policy."""
    own = {"key": JOB, "operator": "In", "values": [job]}
    others = [{"key": JOB, "operator": "Exists"}, own | {"operator": "NotIn"}]
    everywhere: JSON = {"namespaceSelector": {}}
    return {
        "near": [term(RACK, {"matchExpressions": [own]}, **everywhere)],
        "apart": [term(RACK, {"matchExpressions": others}, **everywhere)],
    }


def alone(nodes: list[JSON], pods: list[JSON]) -> tuple[int, str]:
    """Count the jobs in several racks, and the racks with several jobs."""
    rack_of = {each["metadata"]["name"]: each["metadata"]["labels"][RACK] for each in nodes}
    racks, jobs = defaultdict(set), defaultdict(set)
    for each in pods:
        rack, job = rack_of[each["spec"]["nodeName"]], each["metadata"]["labels"][JOB]
        racks[job].add(rack)
        jobs[rack].add(job)
    broken = sum(len(found) > 1 for found in (*racks.values(), *jobs.values()))
    return broken, f"{len(racks)} jobs in {len(jobs)} racks"


CASES = {"limits": limits, "racks": exclusive_racks}


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return a line for each side of a case, with the best of its rounds."""
    head = ("case", "scheduler, rules", "pods", "pods/s", "÷ first", "algorithm, ms")
    more = ("extender CPU, ms a pod", "broken", "after the last round")
    lines = []
    for case in dict.fromkeys(each.case for each in outcomes):
        ours = [each for each in outcomes if each.case == case]
        first = 0.0
        for side in dict.fromkeys(each.side for each in ours):
            runs = [each for each in ours if each.side == side]
            rates = [each.placed.rate for each in runs]
            best = max(runs, key=lambda each: each.placed.rate).placed
            first = first or best.rate
            judged = [each.broken for each in runs if each.broken is not None]
            lines.append(
                (
                    case if runs[0] is ours[0] else "",
                    side,
                    f"{runs[0].pods:,}",
                    f"{best.rate:.0f}" + (f" ({min(rates):.0f})" if len(rates) > 1 else ""),
                    f"{best.rate / first:.2f}",
                    f"{best.algorithm:.1f}",
                    f"{best.extender_cpu:.1f}" if best.extender_cpu else "",
                    str(sum(judged)) if judged else "",
                    runs[-1].seen,
                )
            )
    loads = [each.load for each in outcomes]
    note = f"Load average of a minute: {min(loads):.1f} to {max(loads):.1f}, with this."
    return f"{table((*head, *more), lines)}\n\n{note}"
