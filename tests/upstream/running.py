"""One suite of upstream's tests, run in one mode."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tests.upstream.expected import HANGING, reason
from tests.upstream.grouped import run_group
from tests.upstream.modes import ALONE, ASSIST, REPLACE, RULELESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ROOT = Path(__file__).parents[2]
_SHIPPED = _ROOT / "scheduler-config"
_SUITE_TIMEOUT = "90m"
_MOST_RUNS = 6
"""Of what fails. In `replace`, a case of TestInterPodAffinityPreemption fails by chance in one run
of three: it looks where the pod is before the scheduler's update of its condition has woken it."""
_RULELESS_RUNS = 2
"""Without rules much fails, nearly all of it every time, and each after a wait of its own."""
_OUTCOME = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(", re.MULTILINE)
_STARTED = re.compile(r"^=== RUN\s+(\S+)$", re.MULTILINE)

PASS, FAIL, SKIP = "PASS", "FAIL", "SKIP"

_RULELESS = """\
apiVersion: affinity-extender.io/v1
kind: AffinityExtenderConfiguration
mode: replace
plugins: [CrossNamespacePodAffinity]
"""


@dataclass(frozen=True, slots=True)
class Results:
    """What became of the tests of one suite, without those that only contain others."""

    passed: int
    failed: tuple[str, ...] = ()
    skipped: int = 0
    flaky: tuple[str, ...] = ()
    """Those that failed at first, and passed by themselves."""

    def in_short(self) -> str:
        """Count what passed, failed and was skipped."""
        shown = f"{self.passed} / {len(self.failed)} / {self.skipped}"
        return shown + (f", {len(self.flaky)} flaky" if self.flaky else "")


def run(program: Path, mode: str, etcd: Path, folder: Path, pattern: str = "") -> Results:
    """Run a suite; what failed and should not is run again: some tests are flaky."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = _environment(mode, etcd, folder)
    skipped = HANGING.get(mode, ())
    _once(program, environment, folder / "1.log", pattern, skipped)
    results = read(folder)
    most = _RULELESS_RUNS if mode == RULELESS else _MOST_RUNS
    for number in range(2, most + 1):
        failed = [name for name in results.failed if reason(mode, name) is None]
        if not failed:
            break
        _once(program, environment, folder / f"{number}.log", only(failed), skipped)
        results = read(folder)
    return results


def read(folder: Path) -> Results:
    """Read the logs of a run: of all tests, then of those that had failed each time."""
    first, *later = sorted(folder.glob("[0-9].log"))
    found, flaky = outcomes(first.read_text(errors="replace")), []
    for log in later:
        again = outcomes(log.read_text(errors="replace"))
        passed = [name for name, was in found.items() if was == FAIL and again.get(name) == PASS]
        flaky += passed
        found |= dict.fromkeys(passed, PASS)
    counts = Counter(found.values())
    failed = [name for name, outcome in found.items() if outcome == FAIL]
    return Results(counts[PASS], tuple(failed), counts[SKIP], tuple(flaky))


def _environment(mode: str, etcd: Path, folder: Path) -> dict[str, str]:
    found = os.environ | {"PATH": f"{etcd}{os.pathsep}{os.environ['PATH']}"}
    if mode == ALONE:
        return found
    command = [sys.executable, "-m", "extender", "serve", "--kubeconfig", "{kubeconfig}"]
    command += ["--port", "{port}", "--ops-port", "{ops-port}", "--logging-format", "json"]
    if mode == RULELESS:
        config = folder / "extender.yaml"
        config.write_text(_RULELESS, encoding="utf-8")
        command += ["--config", str(config)]
    else:
        command += ["--mode", mode]
    if any(" " in each for each in command):
        raise ValueError(f"{command}: the helper takes the command apart at spaces")
    shipped = ASSIST if mode == ASSIST else REPLACE
    return found | {
        "EXTENDER_COMMAND": " ".join(command),
        "EXTENDER_READY": "http://127.0.0.1:{ops-port}/readyz",
        "EXTENDER_LOG": str(folder / "extender.log"),
        "EXTENDER_CONFIG": str(_SHIPPED / f"{shipped}.yaml"),
        "PYTHONPATH": str(_ROOT),
    }


def _once(
    program: Path,
    environment: Mapping[str, str],
    log: Path,
    pattern: str,
    skipped: Sequence[str],
) -> None:
    command = [str(program), "-test.v", f"-test.timeout={_SUITE_TIMEOUT}"]
    command += [f"-test.run={pattern}"] if pattern else []
    command += [f"-test.skip={'|'.join(skipped)}"] if skipped else []
    run_group(command, log, folder=log.parent, environment=environment)


def outcomes(log: str) -> dict[str, str]:
    """Read what `go test -v` says of each test; one that began and never ended has failed."""
    found = dict.fromkeys(_STARTED.findall(log), FAIL)
    found |= {name: outcome for outcome, name in _OUTCOME.findall(log)}
    return {name: found[name] for name in _leaves(found)}


def _leaves(names: Iterable[str]) -> list[str]:
    names = list(names)
    containers = {parent for name in names for parent in _parents(name)}
    return [name for name in names if name not in containers]


def _parents(name: str) -> Iterable[str]:
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def only(names: Sequence[str]) -> str:
    """Return the pattern of `-test.run` for these tests; it may take in a few more."""
    parts = zip_longest(*(name.split("/") for name in names))
    levels = [dict.fromkeys(re.escape(part) for part in level if part) for level in parts]
    return "/".join(f"^({'|'.join(level)})$" for level in levels)
