"""The program as it was at another revision of this repository."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import venv
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from extender.core.config.schema import API_VERSION, OLD_API_VERSION
from tests.deploy.places import ROOT
from tests.e2e.controlplane.binaries import cache_folder
from tests.e2e.controlplane.toolchain import MissingToolError
from tests.unpacking import unpack

_PROMISED = "release/promised.txt"
_SHIPPED = ("extender", "affinityctl", "requirements.txt")
_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Revision:
    """How to run the program of a revision, and the version of its configuration."""

    program: tuple[str, ...]
    api: str


THIS = Revision((sys.executable, "-m", "extender"), API_VERSION)


def before_promises() -> str:
    """Return the last commit of 0.1: the one before that which promised something."""
    added = "log", "--diff-filter=A", "--format=%P", "--", _PROMISED
    parents = _git(*added).decode().split()
    if not parents:
        raise MissingToolError("this clone is too shallow to have the revision of 0.1")
    return parents[-1]


def older(commit: str) -> Revision:
    """Return a revision with the packages that it pins; installed on the first run."""
    home = cache_folder() / f"revision-{commit}-{sys.implementation.cache_tag}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        # Not `building-`: builders that hold the lock take such folders for left over.
        with tempfile.TemporaryDirectory(prefix="installing-", dir=home.parent) as scratch:
            made = Path(scratch) / "venv"
            _install(commit, made)
            with suppress(OSError):  # another run may have been faster
                made.rename(home)
    # Isolated: this folder, from which tests run, has the program of today.
    promised = _git("ls-tree", "--name-only", commit, "--", _PROMISED)
    api = API_VERSION if promised else OLD_API_VERSION
    return Revision((str(home / "bin" / "python"), "-I", "-m", "extender"), api)


def _install(commit: str, home: Path) -> None:
    venv.create(home, with_pip=False, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, *_SHIPPED))) as archive:
        unpack(archive, packages)
    install_pinned(home, packages / "requirements.txt")


def install_pinned(home: Path, requirements: Path) -> None:
    """Install packages into an environment, each by its hash."""
    python = str(home / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    _said(*pip, "--require-hashes", "--requirement", str(requirements))


def _git(*arguments: str) -> bytes:
    # In a container the checkout may belong to another user.
    return _said("git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *arguments)


def _said(*command: str) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode().strip() or error
        raise MissingToolError(f"{command[0]} cannot do it: {said}") from error
    return done.stdout
