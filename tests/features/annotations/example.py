"""How the feature is switched on."""

from __future__ import annotations

ON = {"mode": "assist", "annotations": {"namespaceSelector": {}}}
SWITCH = 'kindIs "map" .Values.annotations.namespaceSelector'
"""By which the chart gives its rights."""
