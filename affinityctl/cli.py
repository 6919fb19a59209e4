"""Both programs: affinity-extender, and the plugin of kubectl."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from affinityctl.commands import COMMANDS
from affinityctl.terminal import completion
from affinityctl.terminal.program import carried_out_by, program_parser, run_program
from extender.core.command_line import (
    MISUSED,
    PROGRAM,
    Commands,
    Parser,
    command,
    complain,
    exit_codes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KUBECTL_PLUGIN = "kubectl affinity"
KUBECTL_PLUGIN_FILE = "kubectl-affinity"

_MOVED = "load"

CODES = exit_codes(
    "what was looked for is not fine; the help of each command says what that means",
    "it cannot be known: what decides is not looked at",
)

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
  affinity-extender lint /etc/kubernetes/kube-scheduler/config.yaml --config config.yaml
      what is wrong with the scheduler's file, and does it fit the extender's?
  affinity-extender explain web-7f9c-x2x4z -n shop
      why a pod waits: which rule refuses which nodes, and which pods are in the way
  affinity-extender simulate --drain pool=old
      where the pods of these nodes would go, and which of them would wait
  affinity-extender advise
      does the extender pay in this cluster, and in which mode?
  affinity-extender violations
      which placed pods break required rules by now
  affinity-extender dump
      what these commands read of a cluster, in a file, without environment variables
  affinity-extender leftovers
      what the extender has written into objects of a cluster, after it was removed
  affinity-extender serve --help
      the flags of a command; docs/reference/ has every field of the configuration

{CODES}"""

PLUGIN_DESCRIPTION = """\
Answers questions about inter-pod affinity in a cluster. This is affinity-extender under the name
by which kubectl finds it.
"""

PLUGIN_EPILOG = f"""\
examples:
  kubectl affinity explain web-7f9c-x2x4z -n shop
      why does this pod wait?
  kubectl affinity explain -f deployment.yaml
      would this fit, before it is applied?
  kubectl affinity simulate --roll deployment.yaml
      would this update get stuck?
  kubectl affinity lint
      which workloads have affinity that cannot work, or does nothing?

{CODES}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of affinity-extender and return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == [_MOVED]:
        complain(f"{_MOVED} is a program of its own now: use clusterload run")
        return MISUSED
    return run_program(affinity_extender(given[:1]), given)


def kubectl(arguments: Sequence[str] | None = None) -> int:
    """Run one command of the kubectl plugin and return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_program(kubectl_affinity(given[:1]), given)


def affinity_extender(called: Sequence[str] = ()) -> Parser:
    """Build the parser of affinity-extender; of one command alone if that is what is called."""
    program, commands = program_parser(PROGRAM, DESCRIPTION, EPILOG)
    if not set(called) & set(COMMANDS):
        from extender import serve, tokens  # noqa: PLC0415 - brings the configuration along

        serve.add_to(commands)
        tokens.add_to(commands)
    _add_common(commands, called, PROGRAM, affinity_extender)
    return program


def kubectl_affinity(called: Sequence[str] = ()) -> Parser:
    """Build the parser of the kubectl plugin, which has the same commands."""
    program, commands = program_parser(KUBECTL_PLUGIN, PLUGIN_DESCRIPTION, PLUGIN_EPILOG)
    _add_common(commands, called, KUBECTL_PLUGIN_FILE, kubectl_affinity)
    return program


def _add_common(
    commands: Commands, called: Sequence[str], file: str, whole: Callable[[], Parser]
) -> None:
    """Add what both programs do; `file` is how the shell knows the program."""
    for name in [each for each in COMMANDS if each in called] or COMMANDS:
        of = import_module(f"affinityctl.commands.{name}.flags")
        made = command(commands, name, of.SHORT, description=of.DESCRIPTION, epilog=of.EPILOG)
        made.set_defaults(run=carried_out_by(f"affinityctl.commands.{name}.run"))
        of.add_flags(made)
    completion.add_to(commands, file, whole)
