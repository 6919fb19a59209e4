"""The commands of clusterload from their flags to their reports, in a cluster of this process."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from clusterload.cli import clusterload
from clusterload.command import check, check_tests, run_tests
from clusterload.progress import Progress
from extender.core.errors import ConfigError, ExtenderError
from tests.clusterload.small_cluster import NAMESPACES, NODES, PODS, kubeconfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clusterload.small_cluster import SmallCluster

TEST = """\
name: small
namespace: {number: 2, prefix: own}
tuningSets:
- name: Fast
  parallelismLimitedLoad: {parallelismLimit: 5}
steps:
- name: start
  measurements:
  - {Identifier: Startup, Method: PodStartupLatency, Params: {action: start}}
- name: create pods
  phases:
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: {{.CL2_PODS}}
    tuningSet: Fast
    objectBundle: [{basename: pod, objectTemplatePath: pod.yaml}]
- name: wait
  measurements:
  - Identifier: Pods
    Method: WaitForRunningPods
    Params: {desiredPodCount: {{MultiplyInt 2 .CL2_PODS}}, timeout: 10s, isFatal: true}
- measurements:
  - Instances:
    - {identifier: One, params: {duration: 1ms}}
    - {identifier: Two}
    Method: Sleep
    Params: {duration: 2ms}
- name: gather
  measurements:
  - {Identifier: Startup, Method: PodStartupLatency, Params: {action: gather}}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{.Name}}\nspec: {}\n"
OVERRIDES = "CL2_PODS: 3\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(TEST)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "overrides.yaml").write_text(OVERRIDES)
    return tmp_path


def flags(*given: str) -> argparse.Namespace:
    return clusterload().parse(["run", *given])


def of_cluster(cluster: SmallCluster, folder: Path) -> list[str]:
    """Return the flags that name a cluster."""
    file = folder / "kubeconfig"
    file.write_text(json.dumps(kubeconfig(cluster.url)))
    return ["--kubeconfig", str(file)]


async def run(cluster: SmallCluster, folder: Path, *given: str) -> bool:
    reports = ("--report-dir", str(folder / "out"))
    return await run_tests(
        flags(*of_cluster(cluster, folder), *reports, *given), Progress(io.StringIO())
    )


def small(folder: Path) -> list[str]:
    return [
        *("--testconfig", str(folder / "small.yaml")),
        *("--testoverrides", str(folder / "overrides.yaml")),
    ]


def cases(folder: Path) -> dict[str, bool]:
    """Return whether each case of the report passed, by its name."""
    suite = ET.fromstring((folder / "out" / "junit.xml").read_text())  # noqa: S314 - our own
    return {each.attrib["name"]: each.find("failure") is None for each in suite}


async def test_a_test_leaves_reports_and_nothing_else(cluster: SmallCluster, folder: Path) -> None:
    assert await run(cluster, folder, *small(folder))

    assert cases(folder) == dict.fromkeys(
        [
            f"small overall ({folder / 'small.yaml'})",
            "small: [step: 01] start [00] - Startup",
            "small: [step: 02] create pods",
            "small: [step: 03] wait [00] - Pods",
            "small: [step: 04] without a name [00] - ",
            "small: [step: 05] gather [00] - Startup",
        ],
        True,
    )
    names = [path.name.partition("_small_")[0] for path in (folder / "out").glob("*.json")]
    assert sorted(names) == [
        "PodStartupLatency_Startup",
        "StatefulPodStartupLatency_Startup",
        "StatelessPodStartupLatency_Startup",
    ]
    assert (folder / "out" / "generatedConfig_small.yaml").is_file()
    assert cluster.names(NAMESPACES) == []
    assert cluster.names(PODS) == []


async def test_pods_are_made_in_every_namespace(cluster: SmallCluster, folder: Path) -> None:
    (folder / "small.yaml").write_text(
        TEST.replace("prefix: own", "prefix: own, deleteAutomanagedNamespaces: false")
    )

    assert await run(cluster, folder, *small(folder))

    assert cluster.names(PODS) == [f"own-{n}/pod-{i}" for n in (1, 2) for i in (0, 1, 2)]


async def test_a_failure_is_in_the_report_and_in_the_verdict(
    cluster: SmallCluster, folder: Path
) -> None:
    cluster.refuses = "pod-1"
    text = TEST.replace("timeout: 10s, isFatal: true", "timeout: 50ms")
    (folder / "small.yaml").write_text(text)

    assert not await run(cluster, folder, *small(folder))

    failed = [name for name, passed in cases(folder).items() if not passed]
    assert failed == [
        f"small overall ({folder / 'small.yaml'})",
        "small: [step: 02] create pods",
        "small: [step: 03] wait [00] - Pods",
    ]
    assert cluster.names(NAMESPACES) == []


async def test_a_fatal_failure_ends_the_test(cluster: SmallCluster, folder: Path) -> None:
    cluster.places = False
    (folder / "small.yaml").write_text(TEST.replace("timeout: 10s", "timeout: 50ms"))

    assert not await run(cluster, folder, *small(folder))

    assert list(cases(folder))[-1] == "small: [step: 03] wait [00] - Pods"
    assert cluster.names(PODS) == []


async def test_namespaces_of_an_earlier_run_are_in_the_way(
    cluster: SmallCluster, folder: Path
) -> None:
    cluster.create(NAMESPACES, {"metadata": {"name": "own-1"}})

    assert not await run(cluster, folder, *small(folder))

    assert cluster.names(NAMESPACES) == ["own-1"]


async def test_unless_the_test_says_otherwise(cluster: SmallCluster, folder: Path) -> None:
    cluster.create(NAMESPACES, {"metadata": {"name": "own-1"}})
    cluster.create(NAMESPACES, {"metadata": {"name": "test-old-1"}})
    settings = "prefix: own, enableExistingNamespaces: true, deleteStaleNamespaces: true"
    (folder / "small.yaml").write_text(TEST.replace("prefix: own", settings))

    assert await run(cluster, folder, *small(folder))

    assert cluster.names(NAMESPACES) == []


async def test_a_suite_runs_its_tests_under_their_identifiers(
    cluster: SmallCluster, folder: Path
) -> None:
    (folder / "more.yaml").write_text("CL2_PODS: 1\n")
    scenario = {"configPath": str(folder / "small.yaml")}
    suite = [
        scenario | {"identifier": "three", "overridePaths": [str(folder / "overrides.yaml")]},
        scenario | {"identifier": "one", "overridePaths": [str(folder / "more.yaml")]},
    ]
    (folder / "suite.yaml").write_text(json.dumps(suite))

    assert await run(cluster, folder, "--testsuite", str(folder / "suite.yaml"))

    assert {name.split()[0].rstrip(":") for name in cases(folder)} == {"three", "one"}
    for name in ("generatedConfig_small_three.yaml", "generatedConfig_small_one.yaml"):
        assert (folder / "out" / name).is_file()
    assert len(list((folder / "out").glob("PodStartupLatency_Startup_small_one_*.json"))) == 1


async def test_the_nodes_that_take_pods_are_counted(cluster: SmallCluster, folder: Path) -> None:
    cordoned = {"metadata": {"name": "n3"}, "spec": {"unschedulable": True}}
    cluster.collection(NODES).put(cordoned)
    (folder / "small.yaml").write_text(TEST.replace("number: 2", "number: {{.Nodes}}"))

    given = [*of_cluster(cluster, folder), "--report-dir", str(folder / "out"), *small(folder)]
    await check_tests(flags(*given), Progress(io.StringIO()))

    generated = (folder / "out" / "generatedConfig_small.yaml").read_text()
    assert "number: 2\n" in generated
    assert cluster.names(NAMESPACES) == []


async def test_a_cluster_without_nodes_is_refused(cluster: SmallCluster, folder: Path) -> None:
    for name in cluster.names(NODES):
        cluster.collection(NODES).delete(name)

    with pytest.raises(ExtenderError, match="the cluster has no node that takes pods"):
        await run(cluster, folder, *small(folder))


async def test_without_a_report_folder_figures_are_printed(
    cluster: SmallCluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = flags(*of_cluster(cluster, folder), *small(folder))

    assert await run_tests(given, Progress(io.StringIO()))

    assert 'PodStartupLatency_Startup: {\n  "version": "1.0"' in capsys.readouterr().out


async def test_in_the_end_a_table_shows_figures_and_limits(
    cluster: SmallCluster, folder: Path
) -> None:
    text = TEST.replace("{action: start}", "{action: start, threshold: 9m, perc99Threshold: 1ns}")
    (folder / "small.yaml").write_text(text)
    said = io.StringIO()
    given = flags(*of_cluster(cluster, folder), *small(folder), "--report-dir", str(folder / "out"))

    assert not await run_tests(given, Progress(said))

    (line,) = (each for each in said.getvalue().splitlines() if " pod_startup " in each)
    name, unit, *figures, limit, verdict = re.split(r" {3,}", line)
    assert (name, unit) == ("PodStartupLatency_Startup pod_startup", "ms")
    assert len(figures) == 3
    assert (limit, verdict) == ("p50, p90 at most 540000; p99 at most 1e-06", "FAILED")
    assert said.getvalue().index(line) < said.getvalue().index("small: FAILED with 1 error ")


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        pytest.param("pods", ": Pods: 0 of 6 pods run, 6 without a node", id="pods"),
        pytest.param("news of deletions", " s: deletion: 2 of 2 left", id="namespaces"),
    ],
)
async def test_a_wait_says_how_much_of_it_is_there(
    cluster: SmallCluster, folder: Path, missing: str, said: str
) -> None:
    cluster.places = missing != "pods"
    cluster.collection(NAMESPACES).muted = missing == "news of deletions"
    stream = Saying(said)
    given = flags(*of_cluster(cluster, folder), *small(folder))
    running = asyncio.create_task(run_tests(given, Progress(stream, said_s=0.001)))

    await asyncio.wait_for(stream.said.wait(), 10)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


class Saying(io.StringIO):
    """A stream that tells when a text was written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said = asyncio.Event()
        self._text = text

    def write(self, text: str) -> int:
        if self._text in text:
            self.said.set()
        return super().write(text)


async def test_an_interrupted_run_cleans_up(cluster: SmallCluster, folder: Path) -> None:
    cluster.places = False
    running = asyncio.create_task(run(cluster, folder, *small(folder)))
    await cluster.pulse.until(lambda: len(cluster.pods.objects) == 6)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert cluster.names(NAMESPACES) == []


async def test_a_signal_ends_a_run_and_cleans_up(cluster: SmallCluster, folder: Path) -> None:
    cluster.places = False
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "clusterload", "run", *small(folder)),
        *of_cluster(cluster, folder),
        stderr=asyncio.subprocess.PIPE,
    )
    await cluster.pulse.until(lambda: len(cluster.pods.objects) == 6)

    program.terminate()
    _, said = await asyncio.wait_for(program.communicate(), 10)

    assert program.returncode == 1
    assert (
        said.decode()
        .splitlines()[-1]
        .endswith("interrupted; the namespaces of the test are removed")
    )
    assert cluster.names(NAMESPACES) == []


# Wrong usage, and what needs no cluster


def test_a_check_needs_no_cluster_when_it_knows_the_nodes(folder: Path) -> None:
    given = ("--nodes", "10", "--kubeconfig", "/nowhere", "--report-dir", str(folder / "out"))

    check(flags(*small(folder), *given))

    assert [path.name for path in (folder / "out").iterdir()] == ["generatedConfig_small.yaml"]


def test_a_check_needs_no_cluster_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder / "nobody"))
    (folder / "small.yaml").write_text(TEST.replace("number: 2", "number: {{.Nodes}}"))

    check(flags(*small(folder), "--report-dir", str(folder / "out")))

    assert "number: 100\n" in (folder / "out" / "generatedConfig_small.yaml").read_text()
    assert capsys.readouterr().err == "no cluster to ask: --nodes is taken to be 100\n"


def test_the_same_seed_makes_the_same_test(folder: Path) -> None:
    (folder / "small.yaml").write_text(TEST.replace("number: 2", "number: {{RandInt 1000000}}"))
    texts = set()
    for attempt in ("a", "b"):
        given = ("--nodes", "1", "--seed", "7", "--report-dir", str(folder / attempt))
        check(flags(*small(folder), *given))
        texts.add((folder / attempt / "generatedConfig_small.yaml").read_text())

    assert len(texts) == 1


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (lambda _: [], "--testconfig: either this or --testsuite has to be given"),
        (
            lambda path: [*small(path), "--testsuite", "x"],
            "--testconfig: either this or --testsuite has to be given",
        ),
        (lambda path: [*small(path), "--nodes", "-1"], "--nodes: -1 is less than 0"),
        (
            lambda path: ["--testconfig", str(path / "no.yaml")],
            "no.yaml: cannot read: No such file or directory",
        ),
        (
            lambda path: [*small(path), "--report-dir", str(path / "small.yaml")],
            "--report-dir: cannot make ",
        ),
        (
            lambda path: ["--testsuite", str(path / "pod.yaml")],
            "pod.yaml, line 4: ",
        ),
    ],
)
def test_wrong_usage(folder: Path, given: Callable[[Path], list[str]], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(flags("--nodes", "3", *given(folder)))

    assert error in str(caught.value)


def test_underscores_in_identifiers_are_refused(folder: Path) -> None:
    suite = folder / "suite.yaml"
    suite.write_text("- {identifier: a_b, configPath: small.yaml}\n")

    with pytest.raises(ConfigError, match=r"suite\.yaml: \[0\]\.identifier: has an underscore"):
        check(flags("--nodes", "3", "--testsuite", str(suite)))


async def test_warnings_stand_between_the_progress(cluster: SmallCluster, folder: Path) -> None:
    query = "{action: start, metricName: m, metricVersion: v1, unit: s, queries: []}"
    (folder / "small.yaml").write_text(
        "name: small\nsteps:\n- measurements:\n  - "
        f"{{Identifier: Latency, Method: GenericPrometheusQuery, Params: {query}}}\n"
    )
    said = io.StringIO()

    assert await run_tests(flags(*of_cluster(cluster, folder), *small(folder)), Progress(said))

    assert said.getvalue().splitlines()[0] == "warning: Latency is left out: no --prometheus-url"
