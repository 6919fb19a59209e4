"""Which connection goes for one that is too many, by what we do for each of them."""

from __future__ import annotations

from typing import cast

import pytest

from extender.core.config import Serving
from extender.core.web.connections import Connection, Connections
from extender.core.web.limits import MOST


class Heard:
    """A connection; only what it waits for matters."""

    def __init__(self, kind: str) -> None:
        self.is_idle = kind == "idle"
        self.waits_for_its_client = kind == "waiting"
        self.is_open = True

    def abort(self) -> None:
        self.is_open = False


class Unobserved:
    """Hears of nothing."""

    def connections(self, port: str, number: int) -> None: ...

    def connection_closed(self, port: str, reason: str, /) -> None: ...

    def handshake_failed(self, reason: str, /) -> None: ...


@pytest.mark.parametrize("kind", ["idle", "waiting"])
@pytest.mark.parametrize("working", [MOST.looked_at, 2 * MOST.looked_at])
def test_those_that_we_work_for_keep_no_others_from_being_closed(kind: str, working: int) -> None:
    kinds = ["working"] * working + [kind] * 64
    held = [Heard(each) for each in kinds]
    them = Connections("operations", len(held), Serving(), Unobserved())
    for each in held:
        assert them.admit(cast("Connection", each))
        them.heard(cast("Connection", each))
    tries = [them.admit(cast("Connection", Heard("probe"))) for _ in range(3)]
    assert tries[-1]
    assert all(each.is_open for each in held[:working])
    assert sum(not each.is_open for each in held) == sum(tries)
