"""What the tests are worth: bugs in places that random generators hardly reach.

Each is found by a test that was written for what it breaks, with no luck. `make planted` plants
them one by one, otherwise the first of them is planted, and it is looked at whether the places and
tests of the others are still there.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.planted.bugs import ROOT, Bug, with_bug
from tests.planted.every import EVERY

FAILED = 1
"""How pytest ends when tests have failed, and nothing else was wrong."""
each_bug = pytest.mark.parametrize("bug", [pytest.param(each, id=each.name) for each in EVERY])


@each_bug
def test_the_place_of_a_bug_is_where_it_was(bug: Bug) -> None:
    compile(with_bug(bug), str(bug.path), "exec")
    file, _, name = bug.found_by.partition("::")
    source = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {name}(" in source, f"{bug.found_by} is not there any more"


CHOSEN = EVERY if os.environ.get("PLANTED_BUGS") == "all" else EVERY[:1]
"""Three seconds each."""


@pytest.mark.parametrize("bug", [pytest.param(each, id=each.name) for each in CHOSEN])
def test_a_bug_is_found(bug: Bug) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.planted.plant",
        "-p",
        "no:cacheprovider",
    ]
    found = subprocess.run(
        [*command, "-n", "0", "-x", "-q", "--tb=line", f"tests/{bug.found_by}"],
        cwd=ROOT,
        env={**os.environ, "PLANT": bug.name, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == FAILED, f"not found by {bug.found_by}:\n{found.stdout[-2_000:]}"


def test_nothing_is_loaded_before_a_bug_is_planted() -> None:
    code = "import sys, tests.planted.every; print([n for n in sys.modules if 'extender' in n])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_no_two_bugs_have_a_name() -> None:
    assert len({each.name for each in EVERY}) == len(EVERY)


def test_a_bug_whose_place_is_gone_is_told() -> None:
    gone = Bug("no such line", "core.model.labels", "what nobody wrote", "", "")
    with pytest.raises(ValueError, match=r"0 places in core\.model\.labels"):
        with_bug(gone)
