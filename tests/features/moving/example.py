"""How the feature is switched on."""

from __future__ import annotations

ON = {
    "mode": "assist",
    "requiredDuringExecution": {"enabled": True},
    "preferredDuringExecution": {"enabled": True},
}
PLANTED = "tests.features.moving.planted"
"""The module with bugs for the simulation."""
FINDINGS = "tests.features.moving.showing"
"""The module with what it knows of all pods of a state."""
VALUES = {
    "requiredDuringExecution.maxAffected": "5%",
    "requiredDuringExecution.plainRules": {"matchLabels": {"a": "b"}},
}
"""Values of fields that are not the defaults."""
PARSERS = "tests.features.moving.parsing"
