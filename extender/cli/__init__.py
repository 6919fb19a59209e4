"""The command line. What a command needs is imported when it runs, so that help comes at once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from extender.cli import completion, load, quota, serve, versions
from extender.cli.parsing import (
    CLOSED_PIPE,
    DONE,
    INTERRUPTED,
    MISUSED,
    NOT_FINE,
    PROGRAM,
    UNREADABLE,
    Parser,
    complain,
    exit_codes,
    parser,
)
from extender.errors import (
    ConfigError,
    ConfigFaultsError,
    ExtenderError,
    InputError,
    UnreadableError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

KUBECTL_PLUGIN = "kubectl affinity"
KUBECTL_PLUGIN_FILE = "kubectl-affinity"

DESCRIPTION = """\
Answers kube-scheduler's questions about inter-pod affinity from counters that are kept up to
date, instead of from a walk over all pods for each pod that is scheduled.
"""

EPILOG = f"""\
examples:
  affinity-extender serve --cluster cluster.yaml --mode replace
      try it without a cluster: the objects come from a file
  affinity-extender serve --kubeconfig ~/.kube/config
      watch a cluster and answer its scheduler
  affinity-extender quota --what-if pods=0
      who uses cross-namespace affinity, and who could not if nobody were allowed to
  affinity-extender load --testconfig loadtest/mixed.yaml --report-dir reports
      put load on a cluster, and measure its scheduler
  affinity-extender serve --help
      the flags of a command; docs/reference/ has every flag and every field of the configuration

{exit_codes("what was looked for is not fine; the help of each command says what that means")}"""

PLUGIN_DESCRIPTION = """\
Answers questions about inter-pod affinity in a cluster. This is affinity-extender under the name
by which kubectl finds it.
"""

PLUGIN_EPILOG = f"""\
examples:
  kubectl affinity quota -n shop
      who uses cross-namespace affinity there, and what the quotas say

{exit_codes("what was looked for is not fine; the help of each command says what that means")}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of affinity-extender and return the exit code."""
    return _guarded(affinity_extender(), arguments)


def kubectl(arguments: Sequence[str] | None = None) -> int:
    """Run one command of the kubectl plugin and return the exit code."""
    return _guarded(kubectl_affinity(), arguments)


def affinity_extender() -> Parser:
    """Build the parser of affinity-extender."""
    program = parser(PROGRAM, DESCRIPTION, EPILOG)
    _add_version(program)
    commands = program.add_subparsers(title="commands", dest="command", required=True)
    serve.add_to(commands)
    quota.add_to(commands)
    load.add_to(commands)
    versions.add_to(commands)
    completion.add_to(commands, PROGRAM, affinity_extender)
    return program


def kubectl_affinity() -> Parser:
    """Build the parser of the kubectl plugin."""
    program = parser(KUBECTL_PLUGIN, PLUGIN_DESCRIPTION, PLUGIN_EPILOG)
    _add_version(program)
    commands = program.add_subparsers(title="commands", dest="command", required=True)
    quota.add_to(commands)
    versions.add_to(commands)
    completion.add_to(commands, KUBECTL_PLUGIN_FILE, kubectl_affinity)
    return program


def _add_version(program: Parser) -> None:
    program.add_argument(
        "--version",
        action="version",
        version=versions.version_line(),
        help="print the version and exit",
    )


def _guarded(program: Parser, arguments: Sequence[str] | None) -> int:
    """Run a program; one whose reader or user has gone ends quietly, as other tools do."""
    try:
        code = _run(program, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would fail once more when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(program: Parser, arguments: Sequence[str] | None) -> int:
    try:
        chosen = program.parse(arguments)
    except SystemExit as stop:  # after --help, or after wrong usage
        return stop.code if isinstance(stop.code, int) else DONE
    try:
        code: int = chosen.run(chosen)
    except ConfigError as error:
        *others, last = error.faults if isinstance(error, ConfigFaultsError) else (error,)
        for fault in others:
            complain(str(fault), program.prog)
        complain(f"{last}; see {program.prog} {chosen.command} --help", program.prog)
        return _worst((*others, last))
    except ExtenderError as error:
        complain(str(error), program.prog)
        return _code(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        # What nobody foresaw to fail: no file descriptors, no memory, a full disk.
        complain(f"the system refused: {error}", program.prog)
        return UNREADABLE
    return code


def _code(error: ExtenderError) -> int:
    if isinstance(error, UnreadableError):
        return UNREADABLE
    return MISUSED if isinstance(error, InputError) else NOT_FINE


def _worst(faults: Sequence[ConfigError]) -> int:
    """Return what to end with: what was written wrongly counts more than a file that is away."""
    return min(map(_code, faults))
