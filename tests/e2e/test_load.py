"""The tests of loadtest/, run by `clusterload run` at a size that takes seconds.

What it leaves behind must look like what clusterloader2 itself left behind, which is kept in
loadtest/reports: the same files, the same fields, the same cases.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import aiohttp
import pytest
import yaml

from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.controlplane.process import Probe, Process, free_port
from tests.e2e.extending import ASSIST
from tests.e2e.objects import node
from tests.missing import missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox
    from tests.e2e.scheduling import Scheduler

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "loadtest" / "reports"

SCRAPE_INTERVAL = "200ms"

NODES = [node(f"n{index}", f"zone-{index % 3}") for index in range(12)]

SIZES = {
    "affinity": {"CL2_PODS_PER_NAMESPACE": 30},
    "anti-affinity": {"CL2_DEPLOYMENTS_PER_NAMESPACE": 3, "CL2_REPLICAS": 6},
    "namespace-selector": {"CL2_NAMESPACES": 2, "CL2_PODS_PER_NAMESPACE": 4},
    "mixed": {"CL2_PODS_PER_NAMESPACE": 20, "CL2_DEPLOYMENTS_PER_NAMESPACE": 2},
    "rolling-update": {"CL2_DEPLOYMENTS_PER_NAMESPACE": 2},
}
QUICK = {"anti-affinity"}
"""What is run each time; the others go the same ways with other rules."""
PACE = {"CL2_QPS": 15, "CL2_TIMEOUT": "60s", "CL2_SCRAPE_INTERVAL": "1s"}

_FILE = re.compile(r"(?P<summary>.+)_(?P<test>[\w-]+)_\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.json")


@dataclass(frozen=True, slots=True)
class Run:
    """How a run ended, and where its reports are."""

    code: int
    output: str
    reports: Path


@asynccontextmanager
async def load_on(sandbox: Sandbox, folder: Path) -> AsyncIterator[Load]:
    """Have a cluster with nodes, kubelets, a scheduler with the extender, and Prometheus."""
    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(ASSIST) as scheduler, sandbox.kubelet():
        assert sandbox.extender
        async with _prometheus(sandbox.extender.ops_url, folder) as prometheus:
            yield Load(sandbox, scheduler, prometheus, folder)


class Load:
    """Runs tests of loadtest/ in a cluster."""

    def __init__(
        self, sandbox: Sandbox, scheduler: Scheduler, prometheus: str, folder: Path
    ) -> None:
        control_plane = sandbox.control_plane
        self._flags = [
            *("--kubeconfig", str(control_plane.kubeconfig(ADMIN))),
            *("--scheduler-metrics-url", f"{scheduler.url}/metrics"),
            *("--prometheus-url", prometheus),
        ]
        self._folder = folder

    async def run(self, test: str, **values: object) -> Run:
        """Run one test with these values."""
        reports = self._folder / "reports"
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "clusterload", "run"),
            *("--testconfig", f"loadtest/{test}.yaml", "--report-dir", str(reports)),
            *self._flags,
            cwd=ROOT,
            env=os.environ | {name: str(value) for name, value in values.items()},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await program.communicate()
        assert program.returncode is not None
        return Run(program.returncode, output.decode(), reports)


@asynccontextmanager
async def _prometheus(target: str, folder: Path) -> AsyncIterator[str]:
    """Run a Prometheus that scrapes one program; yields its address."""
    command = shutil.which("prometheus")
    if command is None:
        missing("prometheus is not installed (Debian has a package of that name)")
    jobs = [
        {
            "job_name": "affinity-extender",
            "static_configs": [{"targets": [target.removeprefix("http://")]}],
        }
    ]
    config = folder / "prometheus.yaml"
    config.write_text(
        yaml.safe_dump({"global": {"scrape_interval": SCRAPE_INTERVAL}, "scrape_configs": jobs})
    )
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    arguments = [
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    probe = Probe(f"{address}/-/ready")
    with Process("prometheus", [command, *arguments], folder / "prometheus.log", probe) as running:
        await asyncio.to_thread(running.wait_ready)
        # It looks for what to scrape only some seconds later.
        async with aiohttp.ClientSession() as session, asyncio.timeout(30):
            while not await _up(session, address):  # noqa: ASYNC110 (another program)
                await asyncio.sleep(0.1)
        yield address


async def _up(session: aiohttp.ClientSession, address: str) -> bool:
    async with session.get(f"{address}/api/v1/query", params={"query": "up == 1"}) as answer:
        return bool((await answer.json())["data"]["result"])


ERRORS = {
    "GenericPrometheusQuery Extender errors": {
        "version": "v1",
        "dataItems": [{"data": {"Errors": "a number"}, "unit": "calls"}],
    }
}
"""When clusterloader2 wrote its reports, a counter began with its first event, so it found nothing
to report. Now each is 0 from the start."""


def summaries(folder: Path, test: str) -> dict[str, Any]:
    """Return what the measurements reported, by the first part of the names of their files."""
    found = {}
    for path in folder.glob("*.json"):
        if match := _FILE.fullmatch(path.name):
            assert match["test"] == test
            found[match["summary"]] = json.loads(path.read_text())
    return found


def shape(value: Any) -> Any:
    """Leave out figures and order: what a reader of the file relies on is what remains."""
    match value:
        case dict():
            return {key: shape(each) for key, each in value.items()}
        case list():
            return sorted(map(shape, value), key=json.dumps)
        case bool() | str() | None:
            return value
        case _:
            return "a number"


def fields(value: Any) -> Any:
    """Leave out the values of a configuration as well: sizes differ, and so do names."""
    match value:
        case dict():
            return {key: fields(each) for key, each in value.items()}
        case list():
            return [fields(each) for each in value]
        case _:
            return value is None


def cases(folder: Path) -> list[tuple[str | None, ...]]:
    suite = ET.fromstring((folder / "junit.xml").read_text())  # noqa: S314 - our own
    assert suite.tag == "testsuite"
    return [(suite.get("name"), each.get("classname"), each.get("name")) for each in suite]


@pytest.mark.parametrize(
    "test",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in SIZES],
)
async def test_reports_look_like_those_of_clusterloader2(
    sandbox: Sandbox, tmp_path: Path, test: str
) -> None:
    async with load_on(sandbox, tmp_path) as load:
        run = await load.run(test, **PACE, **SIZES[test])
    assert run.code == 0, run.output

    kept = REPORTS / test
    assert shape(summaries(run.reports, test)) == shape(summaries(kept, test)) | ERRORS
    assert cases(run.reports) == cases(kept)
    name = f"generatedConfig_{test}.yaml"
    ours, theirs = (yaml.safe_load((each / name).read_text()) for each in (run.reports, kept))
    assert fields(ours) == fields(theirs)


async def test_figures_are_of_this_run(sandbox: Sandbox, tmp_path: Path) -> None:
    async with load_on(sandbox, tmp_path) as load:
        run = await load.run("affinity", **PACE, **SIZES["affinity"])
    assert run.code == 0, run.output

    found = summaries(run.reports, "affinity")
    # 30 pods at 15 a second.
    assert 5 <= found["SchedulingThroughput"]["max"] <= 30
    startup = {
        each["labels"]["Metric"]: each["data"]
        for each in found["PodStartupLatency_PodStartupLatency"]["dataItems"]
    }
    assert 0 < startup["create_to_schedule"]["Perc50"] <= startup["pod_startup"]["Perc99"] < 5000
    assert 0 < found["SchedulingMetrics"]["e2eSchedulingLatency"]["Perc50"] < 5e9
    (latency,) = found["GenericPrometheusQuery Extender latency"]["dataItems"]
    assert latency["labels"] == {"verb": "prioritize"}
    assert 0 < latency["data"]["Perc50"] <= latency["data"]["Perc99"] < 1000
    shown = {
        line[0]: line
        for line in (re.split(r" {3,}", each) for each in run.output.splitlines())
        if len(line) > 1
    }
    assert shown["PodStartupLatency pod_startup"][-2:] == ["p50, p90, p99 at most 5000", "passed"]
    assert shown["Extender violations"][-2:] == ["max at most 0", "passed"]
    assert float(shown["SchedulingThroughput"][-1]) == pytest.approx(
        found["SchedulingThroughput"]["max"], rel=0.01
    )


@pytest.mark.long
async def test_a_broken_limit_fails_the_run(sandbox: Sandbox, tmp_path: Path) -> None:
    async with load_on(sandbox, tmp_path) as load:
        run = await load.run(
            "affinity", **PACE, **SIZES["affinity"], CL2_SCHEDULING_THROUGHPUT_THRESHOLD=10_000
        )

    assert run.code == 1
    assert "less than 10000.000000" in run.output
    suite = ET.fromstring((run.reports / "junit.xml").read_text())  # noqa: S314 - our own
    assert suite.get("failures") == "2"  # the measurement, and the test as a whole
