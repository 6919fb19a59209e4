"""Copies of the project without features, and what is run in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from extender.core.config.features import Feature, features

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "dist", "mutants", "node_modules")
)
EACH = pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in features()])
REMOVABLE = pytest.mark.parametrize(
    "feature",
    [
        pytest.param(each, id=each.name)
        for each in features()
        if not any(each.name in other.needs for other in features())
    ],
)


def copy_without(names: set[str], to: Path) -> Path:
    """Copy the project without features: folders, pages, components, judges, and their names."""
    shutil.copytree(ROOT, to, ignore=LEFT_OUT, symlinks=True)
    for each in features():
        if each.name in names:
            shutil.rmtree(to / "extender/features" / each.name)
            shutil.rmtree(to / "tests/features" / each.name)
            (to / f"docs/{each.component}.md").unlink()
            (to / f"simulation/invariants/features/{each.name}.py").unlink(missing_ok=True)
            shutil.rmtree(to / "manifests/components" / each.component, ignore_errors=True)
            for path in (to / "tests").rglob(f"test_{each.name}*.py"):
                if path.parent.name == "e2e" or f"features.{each.name}." in path.read_text():
                    path.unlink()
            if each.command:
                for folder in ("affinityctl/commands", "tests/commands"):
                    shutil.rmtree(to / folder / each.command)
    commands = {each.command for each in features() if each.command and each.name in names}
    for lines, gone in (("extender/features", names), ("affinityctl/commands", commands)):
        file = to / lines / "__init__.py"
        kept = [each for each in file.read_text().splitlines() if each.strip(' ",') not in gone]
        file.write_text("\n".join([*kept, ""]))
    return to


def without(feature: Feature, tmp_path: Path) -> Path:
    """Copy the project without one feature."""
    return copy_without({feature.name}, tmp_path / "copy")


def alone(feature: Feature, tmp_path: Path) -> Path:
    """Copy the project without any other feature."""
    others = {each.name for each in features()} - {feature.name, *feature.needs}
    return copy_without(others, tmp_path / "copy")


def run(folder: Path, *command: str) -> str:
    """Run a module of Python in a copy, which has to end well; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def run_tests(folder: Path, *tests: str) -> None:
    """Run tests of a copy, but for those that take long."""
    run(folder, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not thorough", *tests)


def lint_imports(folder: Path) -> None:
    """Check the layers of a copy."""
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


def make_reference(folder: Path) -> None:
    """Do as `make reference`."""
    run(folder, "release.reference", "docs/reference")
    run(folder, "release.values_schema")
