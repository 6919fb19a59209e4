"""The command version."""

from __future__ import annotations

import json
import platform
from typing import TYPE_CHECKING

from affinityctl.terminal.flags import output_flag
from affinityctl.terminal.program import version_line
from extender import __version__
from extender.command_line import DONE, PROGRAM, Commands, command, exit_codes, say

if TYPE_CHECKING:
    import argparse

EPILOG = f"""\
examples:
  affinity-extender version
  affinity-extender version -o json

{exit_codes("could not be told")}"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    version = command(commands, "version", "print the version", epilog=EPILOG)
    version.set_defaults(run=_run)
    output_flag(version, "text", "json")


def _run(flags: argparse.Namespace) -> int:
    told = {
        "name": PROGRAM,
        "version": __version__,
        "pythonVersion": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    say(json.dumps(told, indent=2) if flags.output == "json" else version_line())
    return DONE
