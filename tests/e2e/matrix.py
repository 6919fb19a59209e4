"""Run the core of the end-to-end tests on several releases: `python -m tests.e2e.matrix`.

The report has a line for each file of tests and a column for each release, and then says what was
left out, and why. A run of releases that are named keeps the columns of the others.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tests.conformance.programs import RELEASES
from tests.e2e.controlplane.binaries import KUBERNETES, NEXT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CORE = (
    "required",
    "preferred",
    "refusals",
    "bursts",
    "preemption",
    "refused_pods",
    "quota",
    "quota_admission",
    "shadow",
    "mode_changes",
    "outages",
    "violations",
    "namespace_labels",
    "rolling_update",
    "workloads",
)
"""What a scheduler and the extender do together; the rest is about tools, or one release."""

_TESTS = Path(__file__).parent
_LEFT_OUT = re.compile(r"- (\S+), `(.+?)`: (.*)")


@dataclass
class Outcome:
    """What became of the tests of one release."""

    results: dict[str, Counter[str]] = field(default_factory=dict)
    """By file, how many tests passed, failed or were skipped."""
    left_out: dict[str, str] = field(default_factory=dict)
    """By test, why it was skipped."""
    failed: list[str] = field(default_factory=list)

    def take(self, case: ET.Element) -> None:
        """Count one test of pytest's report."""
        file = case.get("classname", "").rpartition(".")[2]
        name = f"{file}::{case.get('name', '')}"
        result = "passed"
        if (skipped := case.find("skipped")) is not None:
            result = "skipped"
            self.left_out[name] = skipped.get("message", "")
        elif case.find("failure") is not None or case.find("error") is not None:
            result = "failed"
            self.failed.append(name)
        self.results.setdefault(file, Counter())[result] += 1


def main() -> None:
    """Run the tests on each release, write the report, and fail when one of them failed."""
    args = _arguments()
    files = [str(_TESTS / f"test_{name}.py") for name in args.only]
    releases = args.releases or RELEASES
    keeps = bool(args.releases) and args.markdown.exists()
    outcomes = read_markdown(args.markdown.read_text(encoding="utf-8")) if keeps else {}
    for number, release in enumerate(releases, 1):
        say = f"Kubernetes {release} ({number} of {len(releases)})"
        sys.stderr.write(
            f"{say}: {len(files)} files of tests; the first time it is built: minutes\n"
        )
        outcomes = joined(outcomes, release, run(release, files))
        # After each release, so that an interrupted run has something to show.
        args.markdown.write_text(as_markdown(outcomes), encoding="utf-8")
    failed = [f"{release}: {name}" for release, each in outcomes.items() for name in each.failed]
    sys.exit("\n".join(["failed:", *failed]) if failed else 0)


def run(release: str, files: Sequence[str]) -> Outcome:
    """Run these files on one release."""
    with tempfile.TemporaryDirectory(prefix="matrix-") as scratch:
        report = Path(scratch) / "report.xml"
        options = [f"--kubernetes={release}", f"--junitxml={report}", "-q"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *files], check=False)
        if not report.exists():
            raise RuntimeError(f"pytest wrote no report on Kubernetes {release}; see above")
        outcome = Outcome()
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 (pytest's own)
            outcome.take(case)
        return outcome


def joined(outcomes: Mapping[str, Outcome], release: str, outcome: Outcome) -> dict[str, Outcome]:
    """Add a release, in the place of another one of its minor version."""
    others = {name: each for name, each in outcomes.items() if _minor(name) != _minor(release)}
    return dict(sorted({**others, release: outcome}.items(), key=lambda one: _minor(one[0])))


def _minor(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")[:2]))


def read_markdown(text: str) -> dict[str, Outcome]:
    """Read what `as_markdown` wrote; it does not tell which tests failed, only how many."""
    lines = text.splitlines()
    (_, *releases), _, *rows = [line[2:-2].split(" | ") for line in lines if line.startswith("|")]
    outcomes = {release: Outcome() for release in releases}
    for file, *cells in rows:
        for release, cell in zip(releases, cells, strict=True):
            counts = (each.split() for each in cell.split(", ") if each)
            results = Counter({result: int(count) for count, result in counts})
            if results:
                outcomes[release].results[file.strip("`")] = results
    for found in filter(None, map(_LEFT_OUT.fullmatch, lines)):
        release, name, why = found.groups()
        outcomes[release].left_out[name] = why
    return outcomes


def as_markdown(outcomes: Mapping[str, Outcome]) -> str:
    """Write a table of files and releases, then what was left out."""
    files = dict.fromkeys(file for each in outcomes.values() for file in each.results)
    lines = [
        "# The core of the end-to-end tests, by Kubernetes release",
        "",
        "Written by `make matrix`: each release's control plane and scheduler, and the extender.",
        *([f"Of {NEXT} the scheduler alone, beside {KUBERNETES}."] if NEXT in outcomes else ()),
        "",
        _row(["tests", *outcomes]),
        _row(["---"] * (len(outcomes) + 1)),
    ]
    lines += [
        _row([f"`{file}`", *(_cell(each.results.get(file)) for each in outcomes.values())])
        for file in files
    ]
    left_out = [
        f"- {release}, `{name}`: {why}"
        for release, each in outcomes.items()
        for name, why in each.left_out.items()
    ]
    if left_out:
        lines += ["", "## Left out", "", *left_out]
    return "\n".join([*lines, ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(results: Counter[str] | None) -> str:
    if not results:
        return ""
    return ", ".join(f"{count} {result}" for result, count in sorted(results.items()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.matrix", description=__doc__)
    parser.add_argument("--releases", nargs="+", metavar="VERSION", help="all that are supported")
    parser.add_argument("--only", nargs="+", default=CORE, choices=CORE, metavar="NAME")
    parser.add_argument("--markdown", type=Path, default=_TESTS / "matrix.md", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
