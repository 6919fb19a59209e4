"""Where features are: all of one is in its folders, and what names it is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from bench.features import PROGRAM, Optional, features, shown
from extender.core.config.features import Feature
from extender.core.config.features import features as declared
from tests.deploy.places import MANIFESTS, ROOT

NAMES = {each.name for each in declared()}
SOURCES = ("extender", "affinityctl", "clusterload", "simulation", "tests", "bench", "release")


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, from modules as well, or has in a string."""
    found = set[str]()
    for each in ast.walk(ast.parse(path.read_text())):
        if isinstance(each, ast.Import):
            found |= {one.name for one in each.names}
        elif isinstance(each, ast.ImportFrom):
            found |= {f"{each.module}.{one.name}" for one in each.names}
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found |= {*re.findall(r"[\w.]+", each.value)}
    return found


def importing(feature: Feature) -> list[str]:
    """Return the files that import a feature's modules or tests, but for its own.

    Files of features that say that they need it may.
    """
    own = [f"test_{feature.name}.py", f"test_{feature.name}_"]
    own.append(f"simulation/invariants/features/{feature.name}.py")
    if feature.command:
        own += [f"{each}/commands/{feature.command}/" for each in ("affinityctl", "tests")]
    for each in declared():
        if each is feature or feature.name in each.needs:
            own += [f"extender/features/{each.name}/", f"tests/features/{each.name}/"]
    packages = [f"{root}.features.{feature.name}." for root in ("extender", "tests")]
    return [
        str(path.relative_to(ROOT))
        for source in SOURCES
        for path in sorted((ROOT / source).rglob("*.py"))
        if not any(each in str(path.relative_to(ROOT)) for each in own)
        and feature.name in path.read_text()
        and any(f"{name}.".startswith(package) for name in imported(path) for package in packages)
    ]


@pytest.mark.parametrize(
    "feature", [pytest.param(each, id=each.name) for each in features() if each.name in NAMES]
)
def test_no_other_file_of_the_program_names_it(feature: Optional) -> None:
    assert shown(feature.named_in(PROGRAM)) == []
    assert feature.paths
    assert feature.name in feature.words or feature.name.replace("_", "_?") in feature.words


EACH = pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in declared()])


@EACH
def test_no_other_file_imports_it(feature: Feature) -> None:
    # So types and lint of all others are the same without it.
    assert importing(feature) == []
    contracts = (ROOT / "pyproject.toml").read_text()
    assert len(re.findall(rf"features\.{feature.name}\b", contracts)) == bool(feature.command)


def test_every_way_to_import_one_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.features.test_places.ROOT", tmp_path)
    (tmp_path / "bench").mkdir()
    feature = declared()[0]
    (tmp_path / "bench/a.py").write_text(f"from extender.features import (\n  {feature.name})\n")
    (tmp_path / "bench/b.py").write_text(f"import tests.features.{feature.name}.example as it\n")
    (tmp_path / "bench/c.py").write_text(f"from extender.features.{feature.name}_2 import it\n")
    (tmp_path / "bench/d.py").write_text(f"patch('extender.features.{feature.name}.part.PART')\n")
    (tmp_path / f"bench/test_{feature.name}.py").write_text((tmp_path / "bench/a.py").read_text())
    assert importing(feature) == ["bench/a.py", "bench/b.py", "bench/d.py"]


@EACH
def test_it_has_its_places(feature: Feature) -> None:
    page = (ROOT / "docs" / f"{feature.component}.md").read_text()
    for chapter in ("What it promises", "What it cannot do", "Who may misuse it", "Take it out"):
        assert f"\n## {chapter}\n" in page
    assert (ROOT / "tests/features" / feature.name).is_dir()
    assert (MANIFESTS / "components" / feature.component).is_dir() == bool(feature.rights)
    assert {*feature.needs} <= NAMES
