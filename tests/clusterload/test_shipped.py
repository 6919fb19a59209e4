"""The tests that are shipped in loadtest/: complete, and about things that exist."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from clusterload.compiling import compile_test
from clusterload.measurements import METHODS
from clusterload.schema import Config
from clusterload.templates import Templates, mapping
from extender.core.metrics import PREFIX
from tests.features.every import all_metrics

FOLDER = Path(__file__).resolve().parents[2] / "loadtest"
TESTS = sorted(path.stem for path in FOLDER.glob("*.yaml"))
KUBERNETES = "1.37"

VALUES = mapping([], {}, nodes=20, image_registry="registry.k8s.io")

each_test = pytest.mark.parametrize("test", TESTS)


def templates() -> Templates:
    return Templates(FOLDER, random.Random(1))


def compiled(test: str) -> Config:
    return compile_test(templates(), f"{test}.yaml", VALUES, METHODS)


def objects(config: Config) -> list[dict[str, Any]]:
    """Return one object of each template that a test creates something from."""
    found = []
    for step in config.steps:
        for phase in step.phases:
            for each in phase.object_bundle if phase.replicas_per_namespace else ():
                values = VALUES | each.template_fill_map
                values |= {"Name": f"{each.basename}-7", "BaseName": each.basename, "Index": 7}
                found += templates().objects(each.object_template_path, values)
    return found


def test_there_is_one_for_each_kind_of_rule() -> None:
    assert TESTS == ["affinity", "anti-affinity", "mixed", "namespace-selector", "rolling-update"]


@each_test
def test_kubernetes_takes_every_object(test: str) -> None:
    found = objects(compiled(test))

    assert found
    for one in found:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)


@each_test
def test_a_test_is_named_like_its_file(test: str) -> None:
    assert compiled(test).name == test


@each_test
def test_what_is_started_is_gathered(test: str) -> None:
    calls = [call for step in compiled(test).steps for call in step.measurements]
    actions = {"start": set[str](), "gather": set[str]()}
    for call in calls:
        if (action := call.params.get("action")) in actions:
            actions[action].add(call.identifier)

    assert actions["start"] == actions["gather"] != set()


@each_test
def test_values_in_the_head_of_a_test_are_those_it_takes(test: str) -> None:
    text = (FOLDER / f"{test}.yaml").read_text()
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))

    named = set(re.findall(r"\bCL2_\w+", head))
    taken = set(re.findall(r"\.(CL2_\w+)", text)) - {"CL2_TIMEOUT"}
    assert named == taken


def test_metrics_that_are_asked_for_are_ours() -> None:
    kinds = ("", "_total", "_sum", "_count", "_bucket")
    ours = {f"{metric.name}{kind}" for metric in all_metrics().collect() for kind in kinds}

    text = (FOLDER / "modules" / "measurements.yaml").read_text()
    asked = set(re.findall(rf"{PREFIX}_\w+", text))

    assert len(asked) == 3
    assert asked <= ours


def test_no_file_is_left_over() -> None:
    text = "".join(path.read_text() for path in FOLDER.glob("**/*.yaml"))
    for path in (*FOLDER.glob("modules/*"), *FOLDER.glob("objects/*")):
        assert str(path.relative_to(FOLDER)) in text


def test_links_lead_somewhere() -> None:
    for page in FOLDER.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), target
