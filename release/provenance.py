"""Say how the files of a release were made: an in-toto statement with SLSA's provenance, version 1.

It has no times, so that the same sources and files make the same bytes. SLSA's build levels ask for
more than a statement: nothing here keeps who runs `make release` from writing another one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extender import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[1]
NAME = "provenance.intoto.json"
TYPE = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD = "urn:affinity-extender:make-release:1"
"""What `make release` is called, as no address of the project is known here."""
PINS = ("requirements.txt", "requirements-build.txt", "requirements-release.txt")


def main() -> None:
    """Write the statement beside the sums of a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where SHA256SUMS is")
    parser.add_argument("--url", default="", help="what URL= was")
    parser.add_argument("--homepage", default="", help="what HOMEPAGE= was")
    flags = parser.parse_args()
    given = {"url": flags.url, "homepage": flags.homepage}
    path = flags.folder / NAME
    path.unlink(missing_ok=True)
    commit = built_from()
    if commit is None:
        print("no provenance: what was built is no commit", file=sys.stderr)  # noqa: T201 - a tool
        return
    sums = (flags.folder / "SHA256SUMS").read_text().splitlines()
    made = statement(sums, given, commit, _sources(flags.homepage))
    path.write_text(json.dumps(made, indent=2) + "\n")
    print(path)  # noqa: T201 - what was made


def statement(
    sums: Iterable[str], given: Mapping[str, str], commit: str, sources: str
) -> dict[str, Any]:
    """Return it, for the lines of SHA256SUMS."""
    subjects = (line.split() for line in sums)
    pins = [
        {"uri": f"{sources}@{commit}#{name}", "digest": {"sha256": _sha256(ROOT / name)}}
        for name in PINS
    ]
    return {
        "_type": TYPE,
        "subject": [{"name": name, "digest": {"sha256": digest}} for digest, name in subjects],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": {name: value for name, value in given.items() if value},
                "internalParameters": {
                    "version": __version__,
                    "python": platform.python_version(),
                    "machine": f"{platform.system().lower()}/{platform.machine()}",
                },
                "resolvedDependencies": [
                    {"uri": f"{sources}@{commit}", "digest": {"gitCommit": commit}},
                    *pins,
                ],
            },
            "runDetails": {"builder": {"id": "urn:affinity-extender:make"}},
        },
    }


def _sources(homepage: str) -> str:
    return f"git+{homepage}" if homepage else "git+urn:affinity-extender"


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def built_from(folder: Path = ROOT) -> str | None:
    """Return the commit that a folder is; None where files differ from it, or without git."""
    try:
        return None if _git(folder, "status", "--porcelain") else _git(folder, "rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ("git", *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603 - of our own
    return done.stdout.strip()


if __name__ == "__main__":
    main()
