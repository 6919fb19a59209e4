"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from typing import Final, TypedDict


class ToldVersion(TypedDict):
    name: str
    version: str
    pythonVersion: str
    platform: str


ANSWERS: Final = (ToldVersion,)
