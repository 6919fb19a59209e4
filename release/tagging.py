"""Tag a release: `make release VERSION=1.0.0`, on what CI has passed and the changelog describes.

It needs no more than git and Python, changes no file, and pushes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_BRANCH = "main"


def main() -> None:
    """Make the annotated tag in the repository of the working directory, or say why not."""
    version = sys.argv[1]
    faults = [*_faults(version)]
    if faults:
        sys.exit("\n".join(f"release: {each}" for each in faults))
    message = f"affinity-extender {version}\n\n{_section(version)}"
    # Without --cleanup, headings would go as comments.
    _git("tag", "--annotate", "--cleanup=verbatim", "--message", message, f"v{version}")
    print(f"tagged v{version}; git push origin v{version}")  # noqa: T201 - what was made


def _faults(version: str) -> Iterator[str]:
    """Yield all that stands against a release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9a-z.]+)?", version):
        yield f"{version!r} is no version such as 1.0.0"
        return
    if changed := _git("status", "--porcelain"):
        yield f"not clean: {', '.join(line[3:] for line in changed.splitlines()[:5])}"
    if (branch := _git("branch", "--show-current")) != _BRANCH:
        yield f"on the branch {branch or '(none)'}, not on {_BRANCH}"
    if _git("tag", "--list", f"v{version}"):
        yield f"there is a tag v{version}"
    found = tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"]
    if found != version:
        yield f"pyproject.toml has the version {found}"
    if not _section(version):
        yield f"CHANGELOG.md has nothing below a heading '## {version}'"
    commit = _git("rev-parse", "HEAD")
    if not stamp(commit).exists():
        yield f"CI has not passed for {commit[:12]}: .ci/run, on this machine, with nothing changed"


def stamp(commit: str) -> Path:
    """Return the file that .ci/run leaves for a commit that passed."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "affinity-extender", "ci-passed", commit)


def _section(version: str) -> str:
    """Return what the changelog says of a version."""
    text = Path("CHANGELOG.md").read_text()
    heading = rf"^## {re.escape(version)}(?: [^\n]*)?\n"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def _git(*arguments: str) -> str:
    command = ("git", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.rstrip()


if __name__ == "__main__":
    main()
