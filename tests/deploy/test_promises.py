"""What was promised is still there."""

from __future__ import annotations

from release import promised


def test_no_promised_name_is_gone() -> None:
    assert sorted(promised.recorded() - promised.named_today()) == [], "see docs/promises.md"


def test_names_of_all_kinds_are_recorded() -> None:
    kinds = {"command", "flag", "field", "metric", "json", "rule", "value"}
    assert {line.partition(" ")[0] for line in promised.recorded()} == kinds
    assert len(promised.recorded()) > 500
