"""How the feature is switched on, and the addresses of what it shows."""

from __future__ import annotations

from typing import Any

ON: dict[str, Any] = {}
ROUTES = ("/violations", "/page/violations")
PAGES = ("/page/violations", "/page/violations?page=2")
PLANTED = "tests.features.violations.planted"
"""The module with bugs for the simulation."""
