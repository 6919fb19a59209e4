"""Carries out run and check, from the flags to the reports."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from clusterload import SUPPOSED_NODES
from clusterload.compiling import compile_test
from clusterload.decoding import decode, to_yaml
from clusterload.measurements import METHODS, Surroundings
from clusterload.monitoring import Monitoring
from clusterload.objects import Objects
from clusterload.progress import Progress, warnings_shown
from clusterload.reports import write_junit
from clusterload.running import Result, Run, Test
from clusterload.schema import Scenario
from clusterload.templates import Templates, mapping, read
from extender.core.errors import ConfigError, ExtenderError, UnreadableError
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import load_credentials
from extender.core.kube.frames import read_answer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class _Spec(msgspec.Struct):
    unschedulable: bool = False
    taints: list[dict[str, Any]] | None = None


class _Node(msgspec.Struct):
    spec: _Spec


class _Nodes(msgspec.Struct):
    items: list[_Node]


def run(flags: argparse.Namespace) -> bool:
    """Run the tests that the flags name; return whether all of them passed."""
    return _carry_out(flags, run_tests, "interrupted; the namespaces of the test are removed")


def check(flags: argparse.Namespace) -> None:
    """Check the tests that the flags name, and write them with their templates filled in."""
    _carry_out(flags, check_tests, "interrupted")


async def run_tests(flags: argparse.Namespace, progress: Progress) -> bool:
    credentials = await load_credentials(flags.kubeconfig, flags.context)
    with warnings_shown(progress):
        async with ApiClient(credentials) as client:
            tests = _tests(flags, flags.nodes or await _schedulable(client))
            monitoring = Monitoring(
                client, flags.scheduler_metrics_url, flags.prometheus_url, credentials
            )
            surroundings = Surroundings(client, Objects(client), monitoring)
            begin = time.monotonic()
            results = [await _run(test, surroundings, progress, flags.report_dir) for test in tests]
    if flags.report_dir:
        cases = [case for result in results for case in result.cases]
        write_junit(flags.report_dir, cases, time.monotonic() - begin)
    return not any(result.errors for result in results)


async def check_tests(flags: argparse.Namespace, progress: Progress) -> None:
    """Read all tests; ask a cluster only for its nodes, and only one that the flags name."""
    nodes = flags.nodes
    if not nodes and (flags.kubeconfig is not None or flags.context is not None):
        credentials = await load_credentials(flags.kubeconfig, flags.context)
        with warnings_shown(progress):
            async with ApiClient(credentials) as client:
                nodes = await _schedulable(client)
    if not nodes:
        progress.say(f"no cluster to ask: --nodes is taken to be {SUPPOSED_NODES}")
    _tests(flags, nodes or SUPPOSED_NODES)


def _carry_out(
    flags: argparse.Namespace,
    work: Callable[[argparse.Namespace, Progress], Coroutine[Any, Any, T]],
    interrupted: str,
) -> T:
    if bool(flags.testconfig) == bool(flags.testsuite):
        raise ConfigError("--testconfig", "either this or --testsuite has to be given")
    if flags.nodes < 0:
        raise ConfigError("--nodes", f"{flags.nodes} is less than 0")
    progress = Progress(sys.stderr)
    try:
        return asyncio.run(_until_told(work(flags, progress)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise ExtenderError(interrupted) from None
    except OSError as error:
        raise UnreadableError(f"cannot write a report: {error}") from error


async def _until_told(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; cancel it on SIGTERM as on SIGINT, so that it cleans up."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _tests(flags: argparse.Namespace, nodes: int) -> list[Test]:
    """Read all tests before the first one runs, and write the generatedConfig files."""
    if flags.testsuite:
        scenarios = decode(read(flags.testsuite), str(flags.testsuite), list[Scenario])
    else:
        scenarios = [Scenario(config_path=str(path)) for path in flags.testconfig]
    if flags.report_dir:
        _make(flags.report_dir)
    tests = []
    for index, scenario in enumerate(scenarios):
        if "_" in scenario.identifier:
            # It separates the parts of file names.
            raise ConfigError(f"{flags.testsuite}: [{index}].identifier", "has an underscore")
        values = mapping(
            [*flags.testoverrides, *map(Path, scenario.override_paths)],
            os.environ,
            nodes=nodes,
            image_registry=flags.registry_k8s_repo,
        )
        path = Path(scenario.config_path)
        chance = random.Random(flags.seed)  # noqa: S311 - spreads load, no secret
        templates = Templates(path.parent, chance)
        config = compile_test(templates, path.name, values, METHODS)
        test = Test(path, scenario.identifier, config, templates, values)
        if flags.report_dir:
            target = flags.report_dir / f"generatedConfig_{test.file_part}.yaml"
            target.write_text(to_yaml(config), encoding="utf-8")
        tests.append(test)
    return tests


async def _run(
    test: Test, surroundings: Surroundings, progress: Progress, report_dir: Path | None
) -> Result:
    async with progress.test(test.name):
        result = await Run(test, surroundings, progress).whole()
    for summary in result.summaries:
        if report_dir:
            summary.write(report_dir, test.file_part)
        else:
            print(f"{summary.name}: {summary.text()}", end="")  # noqa: T201 - what was asked for
    errors = "1 error" if len(result.errors) == 1 else f"{len(result.errors)} errors"
    verdict = "passed" if not result.errors else f"FAILED with {errors}"
    progress.say(f"{test.name}: {verdict} after {result.seconds:.1f} s")
    for error in result.errors:
        progress.say(f"  {error}")
    return result


async def _schedulable(client: ApiClient) -> int:
    """Count the schedulable nodes without taints."""
    nodes = read_answer(await client.get("/api/v1/nodes", {}), _Nodes).items
    count = sum(not each.spec.unschedulable and not each.spec.taints for each in nodes)
    if not count:
        raise ExtenderError("the cluster has no node that takes pods")
    return count


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError("--report-dir", f"cannot make {folder}: {error.strerror}") from error
