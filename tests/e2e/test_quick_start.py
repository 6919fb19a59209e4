"""README.md is enough for somebody who has a fresh checkout, and nothing else of the project."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.deploy.places import ROOT
from tests.missing import missing
from tests.pages import Page

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long  # Installs the program anew.

PAGE = Page("README.md")
NETWORK = re.compile(r"PIP_.*|.*_proxy|SSL_CERT_.*", re.IGNORECASE)
"""Variables without which some machines cannot download anything."""


def test_a_pending_pod_is_explained_within_five_minutes(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        missing("this is no checkout that could be cloned")
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)  # noqa: S607
    network = {name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)}
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **network}
    (install,) = (line for line in PAGE.asked_of("make") if line.startswith("make install"))
    explain, _, answer = PAGE.shown[0].removeprefix("$ ").partition("\n")
    done = subprocess.run(
        ["sh", "-eu", "-c", f"{install}\n{explain}"],  # noqa: S607
        cwd=checkout,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    assert answer.partition("...")[0] in done.stdout
