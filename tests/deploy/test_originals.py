"""The list of what is compared with its original has every comparison, and no empty cell."""

from __future__ import annotations

import re

from tests.deploy.places import ROOT

LIST = ROOT / "docs" / "development" / "originals.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in LIST.read_text().splitlines()
    if line.startswith("|")
]
HEAD, _, *BODY = ROWS
TESTS = HEAD.index("compared by")


def named_in(row: list[str]) -> set[str]:
    return set(re.findall(r"\.\./\.\./(tests/[\w/.]+\.py)", row[TESTS]))


def test_no_cell_is_empty() -> None:
    assert len(BODY) > 10
    assert {len(row) for row in ROWS} == {5}
    assert [row for row in BODY if not all(row)] == []


def test_every_row_names_a_test_that_is_there() -> None:
    for row in BODY:
        named = named_in(row)
        assert any("/test_" in name for name in named), row
        assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_comparison_has_a_row() -> None:
    """Those that go by the name; the authors of others have to add them."""
    listed = {name for row in BODY for name in named_in(row)}
    there = (ROOT / "tests" / "e2e").glob("test_*differential.py")
    assert {str(path.relative_to(ROOT)) for path in there} <= listed
