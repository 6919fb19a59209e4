"""A plugin of pytest that loads one module of the program with a bug in it.

`PLANT=name python -m pytest -p tests.planted.plant ...` runs tests as if the line were written so.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING

from tests.planted.bugs import Bug, with_bug
from tests.planted.every import EVERY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType


class Buggy(SourceFileLoader):
    """Compiles a module from its source with the bug, and from no cache."""

    def __init__(self, bug: Bug, path: str) -> None:
        super().__init__(bug.full_name, path)
        self._bug = bug

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the changed source."""
        del fullname
        return compile(with_bug(self._bug), self.path, "exec")


class Planter(MetaPathFinder):
    """Finds the one module."""

    def __init__(self, bug: Bug) -> None:
        self._bug = bug

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module comes from; None for all others."""
        if fullname != self._bug.full_name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = Buggy(self._bug, str(spec.origin))
        return spec


if name := os.environ.get("PLANT"):
    bug = next(each for each in EVERY if each.name == name)
    if bug.full_name in sys.modules:
        raise RuntimeError(f"{bug.full_name} is loaded already, so no bug can be planted there")
    sys.meta_path.insert(0, Planter(bug))
