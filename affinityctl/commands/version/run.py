"""Says the version."""

from __future__ import annotations

import argparse
import platform

from affinityctl.commands.version.answer import ToldVersion
from affinityctl.terminal.printing import printed
from affinityctl.terminal.program import version_line
from extender import __version__
from extender.core.command_line import DONE, PROGRAM, say


def run(flags: argparse.Namespace) -> int:
    told: ToldVersion = {
        "name": PROGRAM,
        "version": __version__,
        "pythonVersion": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    say(printed(flags.output, lambda: told, version_line, str))
    return DONE
