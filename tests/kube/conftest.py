"""A rig for each test that asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kube.rig import Rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """Return a rig whose server listens."""
    async with Rig() as ready:
        yield ready
