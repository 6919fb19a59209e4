"""No proxy of the machine is in the way of a fake API server."""

from __future__ import annotations

import pytest

from tests.kube.rig import forget_proxies


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_proxies(monkeypatch)
