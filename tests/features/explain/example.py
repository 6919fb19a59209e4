"""How the feature is switched on, and the addresses of what it shows."""

from __future__ import annotations

from typing import Any

ON: dict[str, Any] = {}
ROUTES = ("/explain?pod=db-3&namespace=data", "/page/explain")
PAGES = ("/page/explain", "/page/explain?page=2")
PARSERS = "tests.features.explain.parsing"
