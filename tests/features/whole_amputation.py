"""Lint, types and many tests in a copy without each feature, and its own tests where it is alone.

That takes minutes for each: `make amputation`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from extender.core.config.features import Feature
from tests.features.copies import (
    EACH,
    REMOVABLE,
    ROOT,
    alone,
    lint_imports,
    make_reference,
    run,
    run_tests,
    without,
)

PROGRAM = ("extender", "affinityctl", "clusterload", "simulation", "release", "bench")
CORE = (
    *("tests/config", "tests/wire", "tests/callbacks"),
    *("tests/cluster", "tests/verbs", "tests/diagnosis", "tests/commands", "tests/features"),
    *("tests/test_metrics.py", "tests/test_wiring.py", "tests/test_runtime.py"),
    "tests/deploy/test_reference.py",
)
"""Minutes of tests of the core."""


@REMOVABLE
def test_without_it_lint_types_and_tests_pass(feature: Feature, tmp_path: Path) -> None:
    folder = without(feature, tmp_path)
    cache = tmp_path / "mypy"
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", cache)
    run(folder, "ruff", "check", "--no-cache", ".")
    lint_imports(folder)
    run(folder, "mypy", "--cache-dir", str(cache), *PROGRAM)
    make_reference(folder)
    run_tests(folder, *CORE)


@EACH
def test_alone_its_tests_pass(feature: Feature, tmp_path: Path) -> None:
    run_tests(alone(feature, tmp_path), f"tests/features/{feature.name}")
