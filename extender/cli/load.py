"""The command load, whose flags are called as clusterloader2's where it has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from extender.cli.parsing import DONE, FAILED, Commands, Parser, cluster_group, command

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Run clusterloader2 tests without clusterloader2: the same files, the same report files.

Templates, phases and tuning sets work as there. Of the measurements there are those that
scheduling needs; a test that names another one is refused before anything is created.
"""

EPILOG = """\
reports, in --report-dir:
  generatedConfig_<test>.yaml      the test, filled in
  <measurement>_<test>_<time>.json one for each that gathered figures
  junit.xml                        a case for each test, phase step and measurement
Without --report-dir the figures are printed.

examples:
  affinity-extender load --testconfig loadtest/affinity.yaml --report-dir reports
  affinity-extender load --testconfig loadtest/affinity.yaml --nodes 100 --dry-run
  CL2_QPS=200 affinity-extender load --testconfig loadtest/affinity.yaml

exit codes: 0 all tests passed, 1 a measurement broke its limit or something failed,
            2 wrong usage or configuration
"""


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
        help="a test; may be repeated",
    )
    load.add_argument(
        "--testsuite", metavar="FILE", type=Path, help="a list of tests, instead of --testconfig"
    )
    load.add_argument(
        "--testoverrides",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="values for templates; may be repeated, and the later file wins",
    )
    load.add_argument(
        "--registry-k8s-repo",
        metavar="REGISTRY",
        default="registry.k8s.io",
        help="what templates know as .ImageRegistry; default registry.k8s.io",
    )
    load.add_argument(
        "--nodes",
        metavar="N",
        type=int,
        default=0,
        help="what templates know as .Nodes; by default the nodes without taints that take pods",
    )
    load.add_argument(
        "--report-dir", metavar="FOLDER", type=Path, help="where report files go; made if needed"
    )
    load.add_argument(
        "--dry-run",
        action="store_true",
        help="read and check the tests, write generatedConfig files, and end",
    )
    load.add_argument(
        "--seed", metavar="N", type=int, help="make random choices the same each time"
    )


def _add_cluster(load: Parser) -> None:
    where = cluster_group(load)
    where.add_argument(
        "--prometheus-url",
        metavar="URL",
        default="",
        help="where GenericPrometheusQuery asks; without it those are left out, with a warning",
    )
    where.add_argument(
        "--scheduler-metrics-url",
        metavar="URL",
        default="",
        help="kube-scheduler's /metrics for SchedulingMetrics; by default the API server is asked "
        "to pass the question on to the scheduler's pod on each control-plane node",
    )


def _run(flags: argparse.Namespace) -> int:
    from extender.load.command import load  # noqa: PLC0415 - see the head of this package

    return DONE if load(flags) else FAILED
