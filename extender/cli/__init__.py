"""The command line. What a command needs is imported when it runs, so that help comes at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from extender import __version__
from extender.cli import load, quota, serve
from extender.cli.parsing import (
    DONE,
    FAILED,
    MISUSED,
    PROGRAM,
    Parser,
    command,
    complain,
    parser,
    say,
)
from extender.errors import ConfigError, ExtenderError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

KUBECTL_PLUGIN = "kubectl affinity"

DESCRIPTION = """\
Answers kube-scheduler's questions about inter-pod affinity from counters that are kept up to
date, instead of from a walk over all pods for each pod that is scheduled.
"""

EPILOG = """\
examples:
  affinity-extender serve --cluster cluster.yaml --mode replace
      try it without a cluster: objects come from a file
  affinity-extender serve --kubeconfig ~/.kube/config
      watch a cluster and answer its scheduler
  affinity-extender serve --help
      all settings
  affinity-extender quota --what-if pods=0
      who uses cross-namespace affinity, and who could not if nobody were allowed to
  affinity-extender load --testconfig loadtest/mixed.yaml --report-dir reports
      put load on a cluster, and measure its scheduler

exit codes: 0 ended as asked, 1 failed while running, 2 wrong usage or configuration; a command
that has more says so in its own help
"""

PLUGIN_DESCRIPTION = """\
Questions about inter-pod affinity in a cluster. The same as affinity-extender, by the name that
kubectl finds it.
"""

PLUGIN_EPILOG = """\
examples:
  kubectl affinity quota -n shop
      who uses cross-namespace affinity there, and what the quotas say

exit codes: 0 ended as asked, 1 failed, 2 wrong usage
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of affinity-extender and return the exit code."""
    return _run(_program(), arguments)


def kubectl(arguments: Sequence[str] | None = None) -> int:
    """Run one command of the kubectl plugin and return the exit code."""
    return _run(_plugin(), arguments)


def _run(program: Parser, arguments: Sequence[str] | None) -> int:
    try:
        chosen = program.parse_args(arguments)
    except SystemExit as stop:  # after --help, or after wrong usage
        return stop.code if isinstance(stop.code, int) else DONE
    try:
        code: int = chosen.run(chosen)
    except ConfigError as error:
        advice = f"{program.prog} {chosen.command} --help lists settings"
        complain(f"{error}; correct it and start again ({advice})", program.prog)
        return MISUSED
    except ExtenderError as error:
        complain(str(error), program.prog)
        return FAILED
    return code


def _program() -> Parser:
    program = parser(PROGRAM, DESCRIPTION, EPILOG)
    commands = program.add_subparsers(title="commands", dest="command", required=True)
    serve.add_to(commands)
    quota.add_to(commands)
    load.add_to(commands)
    command(commands, "version", "say which version this is").set_defaults(run=_version)
    return program


def _plugin() -> Parser:
    program = parser(KUBECTL_PLUGIN, PLUGIN_DESCRIPTION, PLUGIN_EPILOG)
    commands = program.add_subparsers(title="commands", dest="command", required=True)
    quota.add_to(commands)
    command(commands, "version", "say which version this is").set_defaults(run=_version)
    return program


def _version(_: argparse.Namespace) -> int:
    say(f"{PROGRAM} {__version__} (Python {sys.version.split()[0]})")
    return DONE
