"""Every bug that is planted, in the program and in the commands for people.

Nothing of the program is imported for them: a module can be planted in until it is loaded.
"""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Final

from tests.planted.bugs import BUGS, Bug
from tests.planted.command_bugs import OF_COMMANDS

_FEATURES = Path(__file__).parents[1] / "features"


def _of_features() -> tuple[Bug, ...]:
    names = sorted(path.parent.name for path in _FEATURES.glob("*/bugs.py"))
    modules = (import_module(f"tests.features.{each}.bugs") for each in names)
    return tuple(chain.from_iterable(each.BUGS for each in modules))


EVERY: Final = (*BUGS, *OF_COMMANDS, *_of_features())
