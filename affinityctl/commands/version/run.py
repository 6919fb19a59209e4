"""Says the version."""

from __future__ import annotations

import argparse
import json
import platform

from affinityctl.terminal.program import version_line
from extender import __version__
from extender.core.command_line import DONE, PROGRAM, say


def run(flags: argparse.Namespace) -> int:
    told = {
        "name": PROGRAM,
        "version": __version__,
        "pythonVersion": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    say(json.dumps(told, indent=2) if flags.output == "json" else version_line())
    return DONE
