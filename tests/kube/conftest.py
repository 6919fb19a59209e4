"""A rig for each test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.kube.rig import Rig


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
