"""What the documents name exists: links, files, metrics, dependencies."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from extender.metrics import PREFIX, Metrics
from tests.deploy.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = sorted((ROOT / "docs").glob("*.md"))

in_every_document = pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in DOCS]
)


def anchors(path: Path) -> set[str]:
    """Name each heading as the common renderers do."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def links(path: Path) -> Iterator[tuple[Path, str]]:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text()):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            yield (path.parent / name if name else path), anchor


@in_every_document
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in links(path):
        assert target.exists()
        assert not anchor or anchor in anchors(target)


@in_every_document
def test_files_of_ours_that_are_named_are_there(path: Path) -> None:
    named = re.findall(
        r"(?:REPOSITORY/|[ `])((?:manifests|scheduler-config)/[\w./+-]*)", path.read_text()
    )
    missing = [name for name in named if not (ROOT / name.rstrip(".")).exists()]
    assert missing == []


def test_metrics_that_are_named_are_ours() -> None:
    registry = CollectorRegistry()
    Metrics(registry, "0")
    ours = {
        f"{metric.name}{suffix}"
        for metric in registry.collect()
        for suffix in ("", "_total", "_sum", "_count")
    }
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    named = set(re.findall(r"(?<![\w/.])[a-z_]+_(?:total|seconds|objects|count|sum)\b", text))
    named = {name for name in named if not name.startswith("scheduler_")}
    assert len(named) > 5
    assert {f"{PREFIX}_{name.removeprefix(f'{PREFIX}_')}" for name in named} <= ours


def test_each_dependency_says_how_it_earns_its_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    text = (ROOT / "docs" / "dependencies.md").read_text().lower()
    absent = [name for name in wanted if re.split(r"[<>=\[; ]", name)[0].lower() not in text]
    assert absent == []
