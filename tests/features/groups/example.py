"""How the feature is switched on and off."""

from __future__ import annotations

VALUES = {"profiles": [{"schedulerName": "groups", "mode": "bind"}]}
ON = {"mode": "replace", **VALUES}
OFF = {"mode": "assist"}
SHIPPED = {"replace": VALUES}
PLANTED = "tests.features.groups.planted"
