"""How the feature is switched on."""

from __future__ import annotations

ON = {"mode": "replace"}
OFF = {"mode": "assist"}
VERBS = ("bind",)
PLANTED = "tests.features.binding.planted"
PARSERS = "tests.features.binding.parsing"
