"""How the feature is switched on, and what else tests of all features need of it."""

from __future__ import annotations

from typing import Any

from extender.features.quota.rules import CrossNamespacePodAffinity
from tests.builders import crossing, quota

ON: dict[str, Any] = {
    "mode": "assist",
    "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
}
ROUTES = ("/page/quotas",)
PAGES = ROUTES
PLANTED = "tests.features.quota.planted"
"""The module with bugs for the simulation."""
PLUGINS = (CrossNamespacePodAffinity(), CrossNamespacePodAffinity(limited=True))
OBJECTS = (quota("one", {"pods": 2, "requests.cpu": "4"}, crossing()),)
