"""What was measured on."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from os import cpu_count
from pathlib import Path
from subprocess import run

from tests.e2e.controlplane.binaries import KUBERNETES


def machine() -> str:
    """Say what was measured on, and with which versions."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    model = found[1] if found else platform.machine()
    return (
        f"{cpu_count()} x {model}, Python {platform.python_version()}, aiohttp "
        f"{version('aiohttp')}, affinity-extender {version('affinity-extender')}, Kubernetes "
        f"{KUBERNETES}"
    )


def revision() -> str:
    command = ("git", "describe", "--always", "--dirty", "--abbrev=8")
    return run(command, check=True, capture_output=True, text=True).stdout.strip()
