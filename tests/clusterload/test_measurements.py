"""What measurements make of what happens in a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from clusterload.measurements import METHODS, Outcome
from clusterload.measurements.startup import PodStartupLatency
from clusterload.measurements.throughput import SchedulingThroughput, scheduled_pods, throughput
from clusterload.parameters import Parameters
from clusterload.watching import Pulse, Watch
from clusterload.workloads import Pod, describe
from extender.core.errors import ExtenderError
from tests.clusterload.small_cluster import DEPLOYMENTS, PODS, seen

if TYPE_CHECKING:
    from clusterload.measurements import Surroundings
    from tests.clusterload.small_cluster import SmallCluster


def pod(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "a"}, "spec": {}} | more


async def call(measurement: Any, **params: Any) -> Outcome:
    outcome: Outcome = await measurement.execute(Parameters(params))
    return outcome


# SchedulingThroughput


@pytest.mark.parametrize(
    ("samples", "figures"),
    [
        ([], (0, 0, 0, 0)),
        ([5.0], (5, 5, 5, 5)),
        ([float(each) for each in range(100, 0, -1)], (50, 90, 99, 100)),
    ],
)
def test_figures_of_the_throughput(samples: list[float], figures: tuple[float, ...]) -> None:
    names = ("perc50", "perc90", "perc99", "max")

    assert throughput(samples) == dict(zip(names, figures, strict=True))


@pytest.mark.parametrize(
    ("params", "fails"),
    [
        pytest.param({}, False, id="no threshold"),
        pytest.param({"threshold": 1e9}, True, id="a threshold that nobody reaches"),
        pytest.param({"threshold": 1e9, "enableViolations": False}, False, id="only reported"),
    ],
)
async def test_throughput_counts_pods_that_got_a_node(
    cluster: SmallCluster, surroundings: Surroundings, params: dict[str, Any], fails: bool
) -> None:
    cluster.create(PODS, pod("old"))
    measurement = SchedulingThroughput(surroundings)
    await call(measurement, action="start", measurmentInterval="1ms")
    cluster.create(PODS, pod("new"))
    async with asyncio.timeout(10):
        while not any(measurement._samples):  # noqa: ASYNC110 (nobody tells of a sample)
            await asyncio.sleep(0.001)

    outcome = await call(measurement, action="gather", **params)

    (summary,) = outcome.summaries
    assert summary.name == "SchedulingThroughput"
    # One pod in a millisecond; the old one must not count.
    assert 0 < summary.content["max"] <= 1000
    assert ("at best, less than" in outcome.error) is fails


def test_pods_on_their_way_out_do_not_count_as_scheduled() -> None:
    pods = Watch[Pod](None, Pulse())
    for each in (seen("a/there"), seen("a/waits", node=""), seen("a/going", deleting=True)):
        pods.put(each)

    assert scheduled_pods(pods) == 1


# PodStartupLatency


class Steps:
    """A clock that is a second further each time somebody looks."""

    def __init__(self) -> None:
        self._seconds: Iterator[int] = iter(range(1000))

    def __call__(self) -> float:
        return float(next(self._seconds))


def test_startup_is_timed_from_state_to_state(surroundings: Surroundings) -> None:
    measurement = PodStartupLatency(surroundings, Steps())
    for state in (
        seen(phase="Pending", node=""),
        seen(phase="Pending", node=""),
        seen(phase="Pending"),
        seen(phase="Running", ready=False),
        seen(phase="Running"),
    ):
        measurement.note(state)

    assert measurement.latencies() == {
        "create_to_run": [3.0],
        "create_to_schedule": [2.0],
        "pod_startup": [3.0],
        "run_to_watch": [0.0],
        "schedule_to_run": [1.0],
        "schedule_to_watch": [1.0],
    }


def test_pods_that_did_not_get_so_far_do_not_count(surroundings: Surroundings) -> None:
    measurement = PodStartupLatency(surroundings, Steps())
    measurement.note(seen("a/1", phase="Pending", node=""))
    measurement.note(seen("a/2", phase="Pending", node="", stateless=False))
    measurement.note(seen("a/2", stateless=False))

    assert measurement.latencies()["pod_startup"] == [1.0]
    assert measurement.latencies(stateless=True)["pod_startup"] == []
    assert measurement.latencies(stateless=False)["create_to_schedule"] == [1.0]


@pytest.mark.parametrize(
    ("params", "error"),
    [
        pytest.param({}, "", id="the default of five seconds"),
        pytest.param(
            {"threshold": "1ns"},
            r"pod startup: the 50th percentile is .*, more than 1ns",
            id="too slow",
        ),
        pytest.param(
            {"perc99Threshold": "1ns"},
            r"pod startup: the 99th percentile is .*, more than 1ns",
            id="too slow in rare cases",
        ),
    ],
)
async def test_startup_reports_three_files_and_a_violation(
    cluster: SmallCluster, surroundings: Surroundings, params: dict[str, Any], error: str
) -> None:
    measurement = PodStartupLatency(surroundings)
    await call(measurement, action="start", **params)
    cluster.places = False
    cluster.create(PODS, pod("p1"))
    cluster.create(PODS, pod("p2", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {}}]}))
    await cluster.pulse.until(lambda: cluster.pods.open != [])
    cluster.places = True
    for each in list(cluster.pods.objects.values()):
        cluster._run(each)
    async with asyncio.timeout(10):
        while len(measurement.latencies()["pod_startup"]) < 2:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.001)

    outcome = await call(measurement, action="gather")

    names = [each.name for each in outcome.summaries]
    assert names == [
        "PodStartupLatency_Pods",
        "StatelessPodStartupLatency_Pods",
        "StatefulPodStartupLatency_Pods",
    ]
    content = outcome.summaries[0].content
    assert content["version"] == "1.0"
    assert {each["labels"]["Metric"] for each in content["dataItems"]} >= {"pod_startup"}
    assert {each["unit"] for each in content["dataItems"]} == {"ms"}
    assert re.fullmatch(error, outcome.error)


# WaitForRunningPods


async def test_waiting_ends_with_the_last_pod(
    cluster: SmallCluster, surroundings: Surroundings
) -> None:
    cluster.create(PODS, pod("p1"))
    measurement = METHODS["WaitForRunningPods"](surroundings)
    waiting = asyncio.create_task(call(measurement, desiredPodCount=2.0))
    await cluster.pulse.until(lambda: cluster.pods.open != [])
    assert not waiting.done()

    cluster.create(PODS, pod("p2"))

    assert await asyncio.wait_for(waiting, 10) == Outcome()


async def test_waiting_in_vain_says_for_what(
    cluster: SmallCluster, surroundings: Surroundings
) -> None:
    cluster.create(PODS, pod("p1"))
    cluster.places = False
    cluster.create(PODS, pod("p2"))
    measurement = METHODS["WaitForRunningPods"](surroundings)

    outcome = await call(measurement, desiredPodCount=2, timeout="50ms", isFatal=True)

    assert outcome.critical
    assert outcome.error == "after 0.05 s not 2 pods run: 1 running, 1 without a node"


@contextlib.contextmanager
def noted(said: list[str], state: Callable[[], str]) -> Iterator[None]:
    """Note what is said at the end of a wait."""
    yield
    said.append(state())


async def test_waits_say_how_much_of_it_is_there(
    cluster: SmallCluster, surroundings: Surroundings
) -> None:
    said: list[str] = []
    surroundings = dataclasses.replace(surroundings, waiting=partial(noted, said))
    deployments = await waiting_for_deployments(surroundings)
    cluster.create(DEPLOYMENTS, deployment())
    assert await call(deployments, action="gather") == Outcome()
    await deployments.dispose()
    running = METHODS["WaitForRunningPods"](surroundings)
    assert await call(running, desiredPodCount=2) == Outcome()
    assert await call(METHODS["Sleep"](surroundings), duration="1ms") == Outcome()
    assert said == ["1 of 1 object up to date", "2 of 2 pods run", "a pause of 0.001 s"]


# WaitForControlledPodsRunning


def deployment(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"image": "one"}]}}
    return {
        "metadata": {"name": "d", "namespace": "a"},
        "spec": {"replicas": 2, "template": template} | spec,
    }


async def waiting_for_deployments(surroundings: Surroundings, patience: str = "10s") -> Any:
    measurement = METHODS["WaitForControlledPodsRunning"](surroundings)
    await call(
        measurement,
        action="start",
        apiVersion="apps/v1",
        kind="Deployment",
        operationTimeout=patience,
    )
    return measurement


async def test_deployments_with_all_pods_are_settled(
    cluster: SmallCluster, surroundings: Surroundings
) -> None:
    measurement = await waiting_for_deployments(surroundings)
    cluster.create(DEPLOYMENTS, deployment())

    assert await call(measurement, action="gather") == Outcome()
    await measurement.dispose()


async def test_a_deleted_deployment_is_settled_when_its_pods_are_gone(
    cluster: SmallCluster, surroundings: Surroundings
) -> None:
    cluster.create(DEPLOYMENTS, deployment())
    measurement = await waiting_for_deployments(surroundings)
    assert await call(measurement, action="gather") == Outcome()

    cluster.remove(DEPLOYMENTS, "a/d")

    assert await call(measurement, action="gather") == Outcome()
    assert cluster.pods.objects == {}
    await measurement.dispose()


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        pytest.param("places", "2 without a node", id="pods that do not run"),
        pytest.param("count", "1 running", id="a pod too few"),
        pytest.param("spec", "2 running", id="pods of an older version"),
        pytest.param("orphans", "2 running", id="pods of a Deployment that is gone"),
    ],
)
async def test_what_is_missing_is_said(
    cluster: SmallCluster, surroundings: Surroundings, spoil: str, found: str
) -> None:
    measurement = await waiting_for_deployments(surroundings, patience="300ms")
    cluster.places = spoil != "places"
    cluster.create(DEPLOYMENTS, deployment())
    if spoil == "count":
        cluster.remove(PODS, "a/d-1-0")
    if spoil == "spec":
        newer = deployment(template={"spec": {"containers": [{"image": "two"}]}})
        newer["metadata"] |= {"uid": "1", "generation": 2}
        cluster.collection(DEPLOYMENTS).put(newer)
    if spoil == "orphans":
        await cluster.pulse.until(lambda: cluster.collection(DEPLOYMENTS).open != [])
        await measurement._pulse.until(lambda: bool(measurement._seen))
        cluster.collection(DEPLOYMENTS).delete("a/d")
    pods = measurement._pods.objects
    await measurement._pulse.until(lambda: describe(pods.values()) == found)

    outcome = await call(measurement, action="gather")
    await measurement.dispose()

    assert outcome.error == f"1 objects timed out after 0.3 s: a/d: {found}"
    assert len(outcome.summaries) == (1 if spoil == "places" else 0)


async def test_kinds_without_replicas_are_refused(surroundings: Surroundings) -> None:
    measurement = METHODS["WaitForControlledPodsRunning"](surroundings)

    with pytest.raises(ExtenderError, match="kind DaemonSet is not known here"):
        await call(measurement, action="start", apiVersion="apps/v1", kind="DaemonSet")


# Sleep, Timer, and what all have in common


async def test_a_timer_reports_its_labels(surroundings: Surroundings) -> None:
    timer = METHODS["Timer"](surroundings)
    await call(timer, action="start", label="a")
    await call(timer, action="stop", label="a")

    (summary,) = (await call(timer, action="gather")).summaries

    (item,) = summary.content["dataItems"]
    assert (list(item["data"]), item["unit"], item["labels"]) == (["a"], "s", {"test": "phases"})
    with pytest.raises(ExtenderError, match="uninitialized timer b"):
        await call(timer, action="stop", label="b")


async def test_sleep_sleeps(surroundings: Surroundings) -> None:
    assert await call(METHODS["Sleep"](surroundings), duration="1ms") == Outcome()


@pytest.mark.parametrize("method", ["SchedulingThroughput", "PodStartupLatency"])
async def test_gathering_needs_a_start(surroundings: Surroundings, method: str) -> None:
    with pytest.raises(ExtenderError, match="it has not been started"):
        await call(METHODS[method](surroundings), action="gather")


@pytest.mark.parametrize(
    "method", ["SchedulingThroughput", "PodStartupLatency", "WaitForControlledPodsRunning", "Timer"]
)
async def test_unknown_actions_are_refused(surroundings: Surroundings, method: str) -> None:
    with pytest.raises(ExtenderError, match="unknown action dance"):
        await call(METHODS[method](surroundings), action="dance")
