"""A command together with all that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def run_group(
    command: Sequence[str], log: Path, *, folder: Path, environment: Mapping[str, str]
) -> int:
    """Run a command with its output in a file, and return its exit code.

    A test that panics leaves its etcd and its extender behind; they end here.
    """
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
