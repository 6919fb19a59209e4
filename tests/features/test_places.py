"""Where features are: all of one is in its folders, and what names it is there."""

from __future__ import annotations

import pytest

from bench.features import PROGRAM, Optional, features, shown
from extender.config.features import Feature
from extender.config.features import features as declared
from tests.deploy.places import MANIFESTS, ROOT

NAMES = {each.name for each in declared()}


@pytest.mark.parametrize(
    "feature", [pytest.param(each, id=each.name) for each in features() if each.name in NAMES]
)
def test_no_other_file_of_the_program_names_it(feature: Optional) -> None:
    assert shown(feature.named_in(PROGRAM)) == []
    assert feature.paths
    assert feature.name in feature.words or feature.name.replace("_", "_?") in feature.words


@pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in declared()])
def test_it_has_its_places(feature: Feature) -> None:
    page = (ROOT / "docs" / f"{feature.component}.md").read_text()
    for chapter in ("What it promises", "What it cannot do", "Who may misuse it", "Take it out"):
        assert f"\n## {chapter}\n" in page
    assert (ROOT / "tests/features" / feature.name).is_dir()
    assert (MANIFESTS / "components" / feature.component).is_dir() == bool(feature.rights)
    assert {*feature.needs} <= NAMES
