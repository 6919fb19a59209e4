"""`make release VERSION=` tags what is clean, on main, described, numbered and passed by CI."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.places import ROOT

_NOTES = "### Added\n\n- Something."
_FILES = {
    "pyproject.toml": '[project]\nversion = "1.0.0"\n',
    "CHANGELOG.md": f"# Changelog\n\n## 1.0.0 (May 2027)\n\n{_NOTES}\n\n## 0.1\n\nOld.\n",
    ".gitignore": "__pycache__/\n",
}


class Scratch:
    """A repository with what a release takes, ready for one."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self._environ = {
            **{name: of for name, of in os.environ.items() if not name.startswith("MAKE")},
            **{f"GIT_{who}_{what}": "t@example.com" for who in _WHO for what in _WHAT},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        for name in ("Makefile", "release/tagging.py", ".ci/run"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        for name, text in _FILES.items():
            self.write(name, text)
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.tree / name).write_text(text)

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--allow-empty", "--message=all")

    def pass_ci(self, *, make: str = "exit 0") -> None:
        """Run CI with a make that only ends."""
        tools = self.tree.parent / "tools"
        tools.mkdir()
        (tools / "make").write_text(f"#!/bin/sh\n{make}\n")
        (tools / "make").chmod(0o755)
        path = f"{tools}{os.pathsep}{self._environ['PATH']}"
        subprocess.run([".ci/run"], cwd=self.tree, env={**self._environ, "PATH": path}, check=False)

    def run(self, *command: str) -> str:
        done = self.tried(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tried(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.tree, env=self._environ, capture_output=True, text=True, check=False
        )


_WHO = ("AUTHOR", "COMMITTER")
_WHAT = ("NAME", "EMAIL")


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_it_tags_with_what_the_changelog_says(scratch: Scratch) -> None:
    scratch.pass_ci()
    scratch.run("make", "release", "VERSION=1.0.0")
    said = scratch.run(
        "git", "for-each-ref", "--format=%(objecttype) %(contents)", "refs/tags/v1.0.0"
    )
    assert said.strip() == f"tag affinity-extender 1.0.0\n\n{_NOTES}"
    assert "there is a tag v1.0.0" in scratch.tried("make", "release", "VERSION=1.0.0").stderr


def _changed(scratch: Scratch) -> None:
    scratch.pass_ci()
    scratch.write("new.py", "")


def _elsewhere(scratch: Scratch) -> None:
    scratch.pass_ci()
    scratch.run("git", "switch", "--quiet", "--create", "other")


def _without_notes(scratch: Scratch) -> None:
    scratch.write("CHANGELOG.md", "# Changelog\n\n## 1.0.0\n\n## 0.1\n\nOld.\n")
    scratch.commit()
    scratch.pass_ci()


def _of_another_version(scratch: Scratch) -> None:
    scratch.write("pyproject.toml", '[project]\nversion = "0.9.0"\n')
    scratch.commit()
    scratch.pass_ci()


def _passed_before(scratch: Scratch) -> None:
    scratch.pass_ci()
    scratch.commit()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(_changed, "not clean: new.py", id="a file that is not committed"),
        pytest.param(_elsewhere, "on the branch other, not on main", id="another branch"),
        pytest.param(_without_notes, "nothing below a heading '## 1.0.0'", id="no notes"),
        pytest.param(_of_another_version, "pyproject.toml has the version 0.9.0", id="number"),
        pytest.param(_passed_before, "CI has not passed for", id="CI passed another commit"),
        pytest.param(
            lambda scratch: scratch.pass_ci(make='[ "$1" != e2e ]'),
            "CI has not passed for",
            id="CI failed",
        ),
        pytest.param(
            lambda scratch: scratch.pass_ci(make="touch new.py"),
            "CI has not passed for",
            id="CI ran with something changed",
        ),
    ],
)
def test_it_refuses(spoil: Callable[[Scratch], None], said: str, scratch: Scratch) -> None:
    spoil(scratch)
    done = scratch.tried("make", "release", "VERSION=1.0.0")
    assert done.returncode
    assert said in done.stderr
    assert scratch.run("git", "tag") == ""


def test_a_word_is_no_version(scratch: Scratch) -> None:
    scratch.pass_ci()
    assert (
        "'one' is no version such as 1.0.0"
        in scratch.tried("make", "release", "VERSION=one").stderr
    )
