"""The workflow of GitHub as actionlint reads it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.deploy.places import ROOT
from tests.e2e.controlplane.binaries import Binaries, kept
from tests.e2e.controlplane.gobuild import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ACTIONLINT = "1.7.7"
_MODULE = "github.com/rhysd/actionlint"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())


def actionlint(report: Callable[[str], None]) -> Binaries:
    def compile_it(go: Path, scratch: Path, product: Path) -> None:
        arguments = ["-o", str(product / "actionlint"), f"{_MODULE}/cmd/actionlint"]
        folder = scratch / "actionlint"
        build(
            go, folder, arguments, report, what="actionlint", requires=[f"{_MODULE} v{ACTIONLINT}"]
        )

    return kept(f"actionlint-{ACTIONLINT}", compile_it, report)


def test_actionlint_finds_nothing(
    built: Callable[[Callable[[Callable[[str], None]], Binaries]], Binaries],
) -> None:
    command = [built(actionlint)["actionlint"], *map(str, WORKFLOWS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
