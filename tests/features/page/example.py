"""How the feature is switched on, and the addresses of what it shows."""

from __future__ import annotations

from typing import Any

ON: dict[str, Any] = {"annotations": {"namespaceSelector": {}}}
"""With rules in annotations, all features with pages are on."""
ROUTES = ("/", "/domains", "/page/domains", "/page/activity")
FRAMES = True
"""It shows the sections of all features."""
