"""Where commands are: each is a folder with its tests, and loads nothing of the others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from affinityctl.commands import COMMANDS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "affinityctl" / "commands"
each_command = pytest.mark.parametrize("name", COMMANDS)

CALLED = """
import contextlib, io, sys
from affinityctl import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli.main(sys.argv[1:])
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("extender", "affinityctl")))
"""


def test_the_line_names_every_folder() -> None:
    assert sorted(COMMANDS) == sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))


@each_command
def test_it_has_its_places(name: str) -> None:
    assert {"flags.py", "run.py"} <= {path.name for path in (FOLDER / name).iterdir()}
    assert list((ROOT / "tests" / "commands" / name).glob("test_*.py"))


@each_command
def test_its_help_loads_its_flags_alone(name: str) -> None:
    command = [sys.executable, "-c", CALLED, name, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert f"affinityctl.commands.{name}.flags" in loaded
    others = {f"affinityctl.commands.{other}" for other in COMMANDS if other != name}
    assert others.isdisjoint(loaded)
    assert f"affinityctl.commands.{name}.run" not in loaded
    assert len(loaded) < 20, "the programs, what flags are made of, and no configuration"
