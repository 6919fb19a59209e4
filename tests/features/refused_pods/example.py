"""How the feature is switched on, and off in mode replace."""

from __future__ import annotations

ON = {"mode": "replace"}
OFF = {"hints": {"enabled": False}, "preemption": {"enabled": False}}
PLANTED = "tests.features.refused_pods.planted"
"""The module with bugs for the simulation."""
