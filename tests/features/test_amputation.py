"""Each feature taken out of a copy of the project, and each alone in one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from extender.config.features import Feature, features
from extender.metrics import Metrics
from extender.parts import part_of
from tests.features.every import routes, switched_on

ROOT = Path(__file__).parents[2]
PROGRAM = ("extender", "affinityctl", "clusterload", "simulation", "release", "bench")
LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "dist", "node_modules")
)
CORE = (
    *("tests/config", "tests/wire", "tests/kube/test_binder.py", "tests/cluster/test_audit.py"),
    *("tests/callbacks/test_binding.py", "tests/callbacks/test_filtering.py"),
    *("tests/callbacks/test_prioritizing.py", "tests/callbacks/test_preempting.py"),
    *("tests/test_metrics.py", "tests/test_wiring.py", "tests/test_runtime.py"),
    *("tests/commands/lint/test_planted_configurations.py", "tests/features/test_rights.py"),
    *("tests/deploy/test_reference.py", "tests/commands/simulate/whatif/test_changes.py"),
)
"""Tests of what each feature touches in the core; a minute."""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in features()]),
]


def copy_without(names: set[str], to: Path) -> Path:
    """Copy the project without features: their folders, pages and components, and their names."""
    shutil.copytree(ROOT, to, ignore=LEFT_OUT, symlinks=True)
    for each in features():
        if each.name in names:
            shutil.rmtree(to / "extender/features" / each.name)
            shutil.rmtree(to / "tests/features" / each.name)
            (to / f"docs/{each.component}.md").unlink()
            shutil.rmtree(to / "manifests/components" / each.component, ignore_errors=True)
            (to / f"tests/e2e/test_{each.name}.py").unlink(missing_ok=True)
    line = to / "extender/features/__init__.py"
    kept = [f'"{each.name}"' for each in features() if each.name not in names]
    text = ", ".join(kept) + ("," if len(kept) == 1 else "")
    (named,) = re.findall(r"^FEATURES.*$", line.read_text(), re.MULTILINE)
    after = f"{named.partition(' = ')[0]} = ({text})"
    line.write_text(line.read_text().replace(named, after))
    return to


def run(folder: Path, *command: str) -> str:
    """Run a module of Python in a copy, which has to end well; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def census(folder: Path, fields: dict[str, Any]) -> dict[str, Any]:
    """Run the program of a copy, and return what there is of it."""
    found: dict[str, Any] = json.loads(run(folder, "tests.features.census", json.dumps(fields)))
    return found


def lint_imports(folder: Path) -> None:
    """Check the layers of a copy."""
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_without_it_all_else_is_as_it_was(feature: Feature, tmp_path: Path) -> None:
    if any(feature.name in each.needs for each in features()):
        pytest.skip("others need it")
    folder = copy_without({feature.name}, tmp_path / "copy")
    run(folder, "ruff", "check", "--no-cache", ".")
    lint_imports(folder)
    run(folder, "mypy", "--cache-dir", str(tmp_path / "mypy"), *PROGRAM)
    run(folder, "release.reference", "docs/reference")
    run(folder, "release.values_schema")
    run(folder, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not thorough", *CORE)

    fields = switched_on(feature.name)
    others = {name: value for name, value in fields.items() if name != feature.field}
    on, left = census(ROOT, fields), census(folder, others)
    made = Metrics()
    before = {each.name for each in made.families}
    part_of(feature).metrics(made.make)
    declared = {
        "metrics": {each.name for each in made.families} - before,
        "fields": {feature.field} if feature.section else set[str](),
        "rights": {str(each) for each in feature.rights} - {*left["rights"]},
        "pages": {*routes(feature.name)},
    }
    for what, own in declared.items():
        assert {*on[what]} - {*left[what]} == own, what
        assert {*left[what]} <= {*on[what]}, what

    usual = census(folder, {})
    assert all(usual["answers"].values())
    off = census(ROOT, {})
    if feature.name in off["features"]:
        return
    assert {*off["metrics"]} == {*usual["metrics"]}
    assert {*off["tasks"]} == {*usual["tasks"]}
    package = f"extender.features.{feature.name}"
    of_it = [each for each in off["modules"] if each.startswith(package)]
    assert of_it == [package, f"{package}.section"]


def test_alone_it_works(feature: Feature, tmp_path: Path) -> None:
    others = {each.name for each in features()} - {feature.name, *feature.needs}
    folder = copy_without(others, tmp_path / "copy")
    found = census(folder, switched_on(feature.name))
    assert any(found["answers"].values())
    tests = f"tests/features/{feature.name}"
    run(folder, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not thorough", tests)
