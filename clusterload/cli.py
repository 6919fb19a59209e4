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
from extender.core.errors import ExtenderError

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
  clusterload compare without with --threshold 1.5
      two folders of reports side by side
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
Without --report-dir the figures are printed. In the end a table on standard error shows figures,
limits, and which limits were kept.

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


COMPARE_DESCRIPTION = """\
Put the figures of two runs side by side, with how many times as large the second is.

A and B are folders of reports, of each measurement the newest, or one report each. Tests of the
same name are compared; if each has one test, the names may differ. 0 in a time or a rate says that
nothing was measured, so it has no ratio. Needs no cluster.
"""

COMPARE_EPILOG = f"""\
examples:
  clusterload compare reports/without reports/with
  clusterload compare reports/before reports/after --threshold 1.5 --measurement PodStartup

{exit_codes("with --threshold: a figure of B is worse by more than that")}"""

PLOT_DESCRIPTION = """\
Draw latency percentiles and throughput of one run or more. Needs matplotlib, and no cluster.

Each report is a folder of one run, of each measurement the newest, or one report file. A run is a
group of bars; --by time and --by size draw lines for each test, over the time of the run or over
the number of objects that it creates (from generatedConfig_<test>.yaml).
"""

PLOT_EPILOG = f"""\
examples:
  clusterload plot reports/without reports/with -o with.png
  clusterload plot reports/1000 reports/2000 reports/4000 --by size -o size.svg
  clusterload plot reports/* --by time --measurement "Extender latency" --measurement \
SchedulingThroughput

{exit_codes("matplotlib is not installed")}"""

NO_MATPLOTLIB = "plot needs matplotlib, which is not installed: pip install 'clusterload[plot]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of clusterload and return the exit code."""
    return run_program(clusterload(), arguments)


def clusterload() -> Parser:
    program, commands = program_parser(PROGRAM, DESCRIPTION, EPILOG, named=PROGRAM)
    _add_run(commands)
    _add_check(commands)
    _add_compare(commands)
    _add_plot(commands)
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


def _add_compare(commands: Commands) -> None:
    compare = command(
        commands,
        "compare",
        "put the figures of two runs side by side",
        description=COMPARE_DESCRIPTION,
        epilog=COMPARE_EPILOG,
    )
    compare.set_defaults(run=_compare)
    for name in ("A", "B"):
        compare.add_argument(name, type=Path, help="a folder of reports, or a report")
    compare.add_argument(
        "--threshold",
        metavar="TIMES",
        type=float,
        help="exit with 1 if a figure of B is worse by more than this factor (default: never)",
    )
    _add_measurement(compare, "all")


def _add_plot(commands: Commands) -> None:
    plot = command(
        commands,
        "plot",
        "draw latency and throughput of runs",
        description=PLOT_DESCRIPTION,
        epilog=PLOT_EPILOG,
    )
    plot.set_defaults(run=_plot)
    plot.add_argument(
        "reports",
        metavar="REPORT",
        type=Path,
        nargs="+",
        help="a folder of reports, or a report",
    )
    plot.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("clusterload.png"),
        help="where to draw; its ending says how: png, svg, pdf (default %(default)s)",
    )
    plot.add_argument(
        "--by",
        choices=("run", "time", "size"),
        default="run",
        help="what is drawn from left to right (default %(default)s)",
    )
    _add_measurement(plot, "throughput, pod startup, the scheduler's and the extender's latency")


def _add_measurement(to: Parser, default: str) -> None:
    to.add_argument(
        "--measurement",
        metavar="NAME",
        action="append",
        help="a measurement as compare spells it, or how several begin; may be repeated "
        f"(default: {default})",
    )


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


def _compare(flags: argparse.Namespace) -> int:
    from clusterload.comparing import compare  # noqa: PLC0415 - see the head of this module

    return DONE if compare(flags) else NOT_FINE


def _plot(flags: argparse.Namespace) -> int:
    try:
        from clusterload.plotting import plot  # noqa: PLC0415 - see the head of this module
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ExtenderError(NO_MATPLOTLIB) from missing
    plot(flags)
    return DONE
