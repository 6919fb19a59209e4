"""Every bug that is planted, in the program and in the commands for people."""

from __future__ import annotations

from typing import Final

from tests.features.every import planted
from tests.planted.bugs import BUGS
from tests.planted.command_bugs import OF_COMMANDS

EVERY: Final = (*BUGS, *OF_COMMANDS, *planted())
