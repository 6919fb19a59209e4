"""What a command line for the shell asks of kubectl, as the plugin's own parser takes it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from affinityctl.cli import kubectl_affinity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

HOSTILE = "a b'\"; touch pwned $(touch pwned) `touch pwned` --as=root"
"""What a shell would run, were it part of a script."""
FLAG = "--filename=/etc/passwd"
"""What a parser would take for a flag, were it an argument of its own."""


def asked(
    command: Sequence[str], folder: Path, code: int = 0
) -> tuple[argparse.Namespace, dict[str, str], int]:
    """Run a command beside a kubectl that notes what it is given and ends so.

    Returns the parsed arguments, kubectl's environment, and the exit code of the whole.
    """
    given, environ = folder / "given", folder / "environ"
    programs = {
        "kubectl": f"printf '%s\\0' \"$@\" >{given}; env -0 >{environ}; exit {code}",
        "less": "cat",
    }
    for name, script in programs.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    path_of = f"{folder}:/usr/bin:/bin"
    done = subprocess.run(command, cwd=folder, env={"PATH": path_of}, check=False)
    assert not (folder / "pwned").exists()
    plugin, *arguments = given.read_text().split("\0")[:-1]
    assert plugin == "affinity"
    found = dict(each.split("=", 1) for each in environ.read_text().split("\0") if each)
    return kubectl_affinity(arguments[:1]).parse_args(arguments), found, done.returncode
