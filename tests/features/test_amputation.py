"""Each feature taken out of a copy of the project, and each alone in one.

The program of each copy is run, and some tests of the core in a copy without any feature. Types
and lint of what is left cannot change, as `test_places.py` sees from the imports. `make amputation`
runs these all the same (`whole_amputation.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from extender.core.config.features import Feature, features
from extender.core.metrics import Metrics
from extender.core.parts import part_of
from tests.features.copies import (
    EACH,
    REMOVABLE,
    ROOT,
    alone,
    copy_without,
    lint_imports,
    make_reference,
    run,
    run_tests,
    without,
)
from tests.features.every import routes, switched_off, switched_on, verbs

CORE = (
    *("tests/config", "tests/wire", "tests/callbacks/test_filtering.py"),
    *("tests/callbacks/test_prioritizing.py", "tests/callbacks/test_preempting.py"),
    *("tests/test_metrics.py", "tests/test_wiring.py", "tests/test_runtime.py"),
    *("tests/commands/lint/test_planted_configurations.py", "tests/features/test_rights.py"),
    *("tests/deploy/test_reference.py", "tests/commands/simulate/whatif/test_changes.py"),
)
"""Tests of what features touch in the core."""
pytestmark = pytest.mark.thorough


def census(folder: Path, *fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the program of a copy in one process with each fields, and return what there is of it."""
    found: list[dict[str, Any]] = json.loads(
        run(folder, "tests.features.census", *map(json.dumps, fields))
    )
    return found


@REMOVABLE
def test_without_it_all_else_is_as_it_was(feature: Feature, tmp_path: Path) -> None:
    fields, unwanted = switched_on(feature.name), switched_off(feature.name)
    others = {name: value for name, value in fields.items() if name not in feature.fields}
    if "plugins" in others:
        others["plugins"] = [each for each in others["plugins"] if each != feature.plugin]
    plain = {name: value for name, value in unwanted.items() if name not in feature.fields}
    off, on = census(ROOT, unwanted, fields)
    usual, left = census(without(feature, tmp_path), plain, others)
    made = Metrics()
    before = {each.name for each in made.families}
    part_of(feature).metrics(made.make)
    declared = {
        "metrics": {each.name for each in made.families} - before,
        "fields": {*feature.fields},
        "rights": {str(each) for each in feature.rights} - {*left["rights"]},
        "pages": {*routes(feature.name)},
    }
    for what, own in declared.items():
        assert {*on[what]} - {*left[what]} == own, what
        assert {*left[what]} <= {*on[what]}, what

    unanswered = {verb for verb, answered in left["answers"].items() if not answered}
    assert unanswered == {verb for verb, answered in on["answers"].items() if not answered} | {
        *verbs(feature.name)
    }
    if feature.name in off["features"]:
        return  # it is always on
    assert {*off["metrics"]} == {*usual["metrics"]}
    assert {*off["tasks"]} == {*usual["tasks"]}
    package = f"extender.features.{feature.name}"
    of_it = [each for each in off["modules"] if f"{each}.".startswith(f"{package}.")]
    assert of_it == [package, f"{package}.section"]


@EACH
def test_alone_it_works(feature: Feature, tmp_path: Path) -> None:
    others = [each for each in features() if each.name not in {feature.name, *feature.needs}]
    foreign = {name for each in others for name in each.fields}
    fields = {name: of for name, of in switched_on(feature.name).items() if name not in foreign}
    if "plugins" in fields:
        plugins = {each.plugin for each in others}
        fields["plugins"] = [each for each in fields["plugins"] if each not in plugins]
    (found,) = census(alone(feature, tmp_path), fields)
    assert any(found["answers"].values())


def test_the_core_needs_none_of_them(tmp_path: Path) -> None:
    folder = copy_without({each.name for each in features()}, tmp_path / "copy")
    lint_imports(folder)
    make_reference(folder)
    run_tests(folder, *CORE)
