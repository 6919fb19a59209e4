"""Which tests `make e2e` leaves to `make e2e-all`: its time is what a change waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def in_e2e_all(*values: object, id: str | None = None) -> ParameterSet:  # noqa: A002 - pytest's name
    """Mark one set of a test's parameters as long."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)
