"""Render Kustomize folders with what this machine has, or with a Kustomize built for it once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.controlplane.binaries import cache_folder
from tests.e2e.controlplane.toolchain import MissingToolError, find_go
from tests.missing import missing

VERSION = "v5.8.2"
"""The newest release that the Go of the end-to-end tests (1.26) can build."""

_MODULE = "sigs.k8s.io/kustomize/kustomize/v5"
_BUILD_TIMEOUT_S = 600
_RENDER_TIMEOUT_S = 60


@cache
def render(folder: Path) -> list[dict[str, Any]]:
    """Return the objects of a Kustomize folder; skips or fails when nothing here can render."""
    rendered = subprocess.run(
        [*_command(), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_RENDER_TIMEOUT_S,
    )
    assert rendered.returncode == 0, rendered.stderr
    return list(yaml.safe_load_all(rendered.stdout))


@cache
def _command() -> list[str]:
    built = cache_folder() / f"kustomize-{VERSION}"
    if built.exists():
        return [str(built), "build"]
    if on_path := shutil.which("kustomize"):
        return [on_path, "build"]
    if on_path := shutil.which("kubectl"):
        return [on_path, "kustomize"]
    _build(built)
    return [str(built), "build"]


def _build(target: Path) -> None:
    """Build into a folder of its own and rename, so that parallel runs do not meet."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="installing-", dir=target.parent) as scratch:
        try:
            go = find_go(target.parent, _say)
            subprocess.run(
                [str(go), "install", f"{_MODULE}@{VERSION}"],
                env=os.environ | {"GOBIN": scratch, "CGO_ENABLED": "0", "GOFLAGS": "-trimpath"},
                cwd=scratch,
                capture_output=True,
                text=True,
                check=True,
                timeout=_BUILD_TIMEOUT_S,
            )
        except MissingToolError as error:
            missing(f"no kustomize and no kubectl here, and none can be built: {error}")
        except subprocess.SubprocessError as error:
            said = getattr(error, "stderr", None) or error
            missing(f"no kustomize and no kubectl here, and building one failed: {said}")
        (Path(scratch) / "kustomize").rename(target)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
