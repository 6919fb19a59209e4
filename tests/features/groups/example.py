"""How the feature is switched on and off."""

from __future__ import annotations

ON = {"mode": "replace", "profiles": [{"schedulerName": "groups", "mode": "bind"}]}
OFF = {"mode": "assist"}
VALUES = {"profiles": [{"schedulerName": "groups", "mode": "bind"}]}
