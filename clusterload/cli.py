"""The command line, whose flags are called as clusterloader2's where it has them.

What a command needs is imported when it runs, so that help comes at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from affinityctl.terminal import completion
from affinityctl.terminal.flags import KUBECONFIG_DEFAULT, cluster_group
from affinityctl.terminal.program import program_parser, run_program
from clusterload import PROGRAM, SUPPOSED_NODES
from extender.core.command_line import DONE, NOT_FINE, Commands, Parser, command, exit_codes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DESCRIPTION = """\
Puts load on a cluster and measures its scheduler: clusterloader2's tests without clusterloader2.
It reads the same test files and writes the same report files.

Templates, phases and tuning sets work as they do there. Only the measurements that scheduling
needs are built in; a test that uses any other is refused before anything is created.
"""

EPILOG = f"""\
examples:
  clusterload check --testconfig loadtest/affinity.yaml
      find the mistakes in a test; needs no cluster
  clusterload run --testconfig loadtest/affinity.yaml --report-dir reports
      create the pods of the test, measure, write reports, and remove the pods
  clusterload run --help
      the flags of a command, and the files that it writes

{exit_codes("a test failed; the help of each command says more")}"""

RUN_DESCRIPTION = """\
Run tests: create the objects that they describe, measure, report, and remove the namespaces.

All tests are read and checked before the first one begins. A test removes the namespaces that it
made when it fails and when it is interrupted, too.
"""

RUN_EPILOG = f"""\
reports, in --report-dir:
  generatedConfig_<test>.yaml       the test with its templates filled in
  <measurement>_<test>_<time>.json  one for each measurement that gathered figures
  junit.xml                         a case for each test, phase step and measurement
Without --report-dir the figures are printed.

examples:
  clusterload run --testconfig loadtest/affinity.yaml --report-dir reports
  clusterload run --testsuite suite.yaml --prometheus-url http://127.0.0.1:9090
  CL2_QPS=200 clusterload run --testconfig loadtest/affinity.yaml

{exit_codes("a test failed: a measurement broke its limit, or something could not be created")}"""

CHECK_DESCRIPTION = """\
Check tests without running them: fill in their templates, put in their modules, and look for
mistakes. With --report-dir, also write each test as it would be run.

It takes all flags of run, so that the command line of a run can be checked as it is. It asks a
cluster for the number of its nodes, and only with --kubeconfig or --context and without --nodes.
"""

CHECK_EPILOG = f"""\
written to --report-dir:
  generatedConfig_<test>.yaml       the test with its templates filled in

examples:
  clusterload check --testconfig loadtest/affinity.yaml
  clusterload check --testconfig loadtest/affinity.yaml --nodes 5000 --report-dir generated
  CL2_QPS=200 clusterload check --testconfig loadtest/affinity.yaml --kubeconfig ~/.kube/config

{exit_codes("the cluster that was asked for its nodes has none that take pods")}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of clusterload and return the exit code."""
    return run_program(clusterload(), arguments)


def clusterload() -> Parser:
    program, commands = program_parser(PROGRAM, DESCRIPTION, EPILOG, named=PROGRAM)
    _add_run(commands)
    _add_check(commands)
    completion.add_to(commands, PROGRAM, clusterload)
    return program


def _add_run(commands: Commands) -> None:
    run = command(
        commands,
        "run",
        "run tests in a cluster and report what they measured",
        description=RUN_DESCRIPTION,
        epilog=RUN_EPILOG,
    )
    run.set_defaults(run=_run)
    _add_tests(run, nodes="the number of schedulable nodes without taints")
    _add_cluster(run, kubeconfig=KUBECONFIG_DEFAULT)


def _add_check(commands: Commands) -> None:
    check = command(
        commands,
        "check",
        "check tests and write them with their templates filled in; needs no cluster",
        description=CHECK_DESCRIPTION,
        epilog=CHECK_EPILOG,
    )
    check.set_defaults(run=_check)
    _add_tests(
        check,
        nodes=f"the number of schedulable nodes without taints, or {SUPPOSED_NODES} where no "
        "cluster is asked",
    )
    _add_cluster(check, kubeconfig="no cluster is asked")


def _add_tests(to: Parser, nodes: str) -> None:
    to.add_argument(
        "--testconfig",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a test file; may be repeated",
    )
    to.add_argument(
        "--testsuite",
        metavar="FILE",
        type=Path,
        help="a file that lists tests, instead of --testconfig",
    )
    to.add_argument(
        "--testoverrides",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a file with values for templates; may be repeated, and the later file wins",
    )
    to.add_argument(
        "--registry-k8s-repo",
        metavar="REGISTRY",
        default="registry.k8s.io",
        help="what templates see as .ImageRegistry (default %(default)s)",
    )
    to.add_argument(
        "--nodes",
        metavar="N",
        type=int,
        default=0,
        help=f"what templates see as .Nodes (default: {nodes})",
    )
    to.add_argument(
        "--report-dir",
        metavar="FOLDER",
        type=Path,
        help="folder for the reports; created if needed",
    )
    to.add_argument(
        "--seed",
        metavar="N",
        type=int,
        help="seed of the random choices, to repeat a run (default: a different one each time)",
    )


def _add_cluster(to: Parser, kubeconfig: str) -> None:
    where = cluster_group(to, kubeconfig)
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
    from clusterload.command import run  # noqa: PLC0415 - see the head of this module

    return DONE if run(flags) else NOT_FINE


def _check(flags: argparse.Namespace) -> int:
    from clusterload.command import check  # noqa: PLC0415 - see the head of this module

    check(flags)
    return DONE
