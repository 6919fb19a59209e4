"""`make -n` prints what a target would do, and does nothing."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
READING = {"make", "sed"}
"""What make may start all the same: itself, with the same -n, and what fills in a variable."""


@pytest.mark.parametrize("target", TARGETS)
def test_a_dry_run_starts_nothing(target: str, tmp_path: Path) -> None:
    # Instead of a shell: notes what it was to run, and runs nothing.
    noted, shell = tmp_path / "noted", tmp_path / "shell"
    noted.touch()
    shell.write_text(f'#!/bin/sh\nprintf "%s\\n" "$2" >>{noted}\n')
    shell.chmod(0o755)
    environ = {name: of for name, of in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-n", f"SHELL={shell}", "URL=https://example.org", "KEY=key.pem", target]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for line in noted.read_text().splitlines():
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
        assert Path(words[0]).name in READING, line
        assert not {"&&", "||", ";", "|", "&"}.intersection(words), line
