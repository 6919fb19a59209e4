"""The command load, whose flags are called as clusterloader2's where it has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clusterload import DRY_RUN_NODES
from extender.cli.parsing import (
    DONE,
    NOT_FINE,
    Commands,
    Parser,
    cluster_group,
    command,
    exit_codes,
)

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Run clusterloader2 tests without clusterloader2: the same test files, the same report files.

Templates, phases and tuning sets work as they do there. Only the measurements that scheduling
needs are built in; a test that uses any other is refused before anything is created.
"""

EPILOG = f"""\
reports, in --report-dir:
  generatedConfig_<test>.yaml       the test with its templates filled in
  <measurement>_<test>_<time>.json  one for each measurement that gathered figures
  junit.xml                         a case for each test, phase step and measurement
Without --report-dir the figures are printed.

examples:
  affinity-extender load --testconfig loadtest/affinity.yaml --report-dir reports
  affinity-extender load --testconfig loadtest/affinity.yaml --nodes 100 --dry-run
  CL2_QPS=200 affinity-extender load --testconfig loadtest/affinity.yaml

{exit_codes("a test failed: a measurement broke its limit, or something could not be created")}"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    load = command(
        commands,
        "load",
        "put load on a cluster and measure its scheduler",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    load.set_defaults(run=_run)
    _add_tests(load)
    _add_cluster(load)


def _add_tests(load: Parser) -> None:
    load.add_argument(
        "--testconfig",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a test file; may be repeated",
    )
    load.add_argument(
        "--testsuite",
        metavar="FILE",
        type=Path,
        help="a file that lists tests, instead of --testconfig",
    )
    load.add_argument(
        "--testoverrides",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a file with values for templates; may be repeated, and the later file wins",
    )
    load.add_argument(
        "--registry-k8s-repo",
        metavar="REGISTRY",
        default="registry.k8s.io",
        help="what templates see as .ImageRegistry (default %(default)s)",
    )
    load.add_argument(
        "--nodes",
        metavar="N",
        type=int,
        default=0,
        help="what templates see as .Nodes (default: the number of schedulable nodes without "
        f"taints; with --dry-run and no --kubeconfig, {DRY_RUN_NODES})",
    )
    load.add_argument(
        "--report-dir",
        metavar="FOLDER",
        type=Path,
        help="folder for the reports; created if needed",
    )
    load.add_argument(
        "--dry-run",
        action="store_true",
        help="check the tests, write the generatedConfig files and exit; needs no cluster",
    )
    load.add_argument(
        "--seed",
        metavar="N",
        type=int,
        help="seed of the random choices, to repeat a run (default: a different one each time)",
    )


def _add_cluster(load: Parser) -> None:
    where = cluster_group(load)
    where.add_argument(
        "--prometheus-url",
        metavar="URL",
        default="",
        help="Prometheus server for GenericPrometheusQuery (default: none; these measurements are "
        "skipped with a warning)",
    )
    where.add_argument(
        "--scheduler-metrics-url",
        metavar="URL",
        default="",
        help="kube-scheduler's /metrics for SchedulingMetrics (default: the scheduler's pod on "
        "each control-plane node, through the API server's proxy)",
    )


def _run(flags: argparse.Namespace) -> int:
    from clusterload.command import load  # noqa: PLC0415 - see the head of this package

    return DONE if load(flags) else NOT_FINE
