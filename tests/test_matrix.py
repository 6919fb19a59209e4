"""A release that is run by its name takes its place among those that were run before."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.e2e import matrix
from tests.e2e.matrix import CORE, Outcome, as_markdown, joined, read_markdown

OLD = Outcome(
    {"test_shadow": Counter(passed=3, skipped=1), "test_hints": Counter(passed=5)},
    {"test_shadow::test_a[x, y]": "before 1.37: it is read alike"},
)
NEW = Outcome({"test_shadow": Counter(passed=3, failed=1)})


def test_what_is_written_can_be_read_again() -> None:
    written = as_markdown({"1.36.3": OLD, "1.37.1": NEW})
    assert read_markdown(written) == {"1.36.3": OLD, "1.37.1": NEW}


def test_the_report_that_is_kept_is_written_as_it_stands() -> None:
    kept = (Path(matrix.__file__).with_name("matrix.md")).read_text(encoding="utf-8")
    assert as_markdown(read_markdown(kept)) == kept


def test_a_release_takes_the_place_of_another_one_of_its_minor_version() -> None:
    before = {"1.36.3": OLD, "1.37.1": OLD}
    assert joined(before, "1.37.2", NEW) == {"1.36.3": OLD, "1.37.2": NEW}


def test_a_new_minor_version_comes_where_its_number_belongs() -> None:
    before = {"1.9.9": OLD, "1.38.0": OLD}
    assert [*joined(before, "1.37.2", NEW)] == ["1.9.9", "1.37.2", "1.38.0"]


def test_the_files_of_the_core_are_there() -> None:
    folder = Path(__file__).parent / "e2e"
    assert [name for name in CORE if not (folder / f"test_{name}.py").exists()] == []
