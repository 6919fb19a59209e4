"""How the feature is switched on."""

from __future__ import annotations

ON = {"scaleDown": {"enabled": True}}
PLANTED = "tests.features.scale_down.planted"
