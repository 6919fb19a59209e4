"""The reference in docs/ is what the program itself goes by."""

from __future__ import annotations

import re

import pytest

from extender.cli import affinity_extender, reference
from extender.config import OPTIONS
from tests.deploy.places import ROOT

REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize("name", reference.pages())
def test_it_is_up_to_date(name: str) -> None:
    expected = reference.pages()[name]
    assert (REFERENCE / name).read_text() == expected, "run `make reference`"


def test_it_has_every_flag_and_variable() -> None:
    pages = reference.pages()
    flags = {
        flag
        for command in affinity_extender().commands().values()
        for _, actions in command.groups()
        for action in actions
        for flag in action.option_strings
    }
    assert {flag for flag in flags if f"`{flag}`" not in pages["command-line.md"]} == set()
    settings = [option for option in OPTIONS if option.path]
    absent = [each.flag for each in settings if each.variable not in pages["configuration.md"]]
    assert absent == []


def test_every_field_says_what_it_means() -> None:
    entries = re.split(r"^### ", reference.configuration(), flags=re.MULTILINE)[1:]
    assert len(entries) >= 40
    assert [entry for entry in entries if len(entry.splitlines()[2]) < 20] == []
