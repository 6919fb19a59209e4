"""What the program gets for profiles with a mode of their own."""

from __future__ import annotations

from extender.core.parts import Part


class Groups(Part):
    """Profiles whose pods the scheduler's own plugins judge."""


PART = Groups
