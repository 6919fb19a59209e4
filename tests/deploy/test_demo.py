"""The recorded terminal shows what the commands answer now."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from release.demo import COLUMNS, COMMANDS, FILE, answer, prompt, recording
from tests.deploy.places import ROOT


def test_it_is_what_the_commands_answer() -> None:
    assert FILE.read_text() == recording(), "run `make demo`"


def test_the_readme_shows_it() -> None:
    assert f"({FILE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_line_has_room(command: str) -> None:
    lines = [*prompt(command), *answer(command)]
    assert len(lines) > 10
    assert max(map(len, lines)) <= COLUMNS


def test_it_has_a_screen_for_each_command() -> None:
    drawn = ET.fromstring(FILE.read_text())  # noqa: S314 - our own
    svg = "{http://www.w3.org/2000/svg}"
    screens = drawn.findall(f"{svg}g")
    assert [screen[0].text for screen in screens] == [prompt(each)[0] for each in COMMANDS]
