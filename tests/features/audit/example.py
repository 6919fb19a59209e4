"""How the feature is switched on and off, and what it does in steps."""

from __future__ import annotations

from extender.features.audit.recount import audit

ON = {"audit": {"enabled": True}}
PLANTED = "tests.features.audit.planted"
OFF = {"audit": {"enabled": False}}
STEPS = {"audit": audit}
