"""How the feature is switched on."""

from __future__ import annotations

from extender.core.config.features import features

ON = {
    "mode": "assist",
    # On in any case: what limits rules in annotations is on where these count.
    "plugins": ["InterPodAffinity", *(each.plugin for each in features() if each.plugin)],
    "annotations": {"namespaceSelector": {}},
}
SWITCH = 'kindIs "map" .Values.annotations.namespaceSelector'
"""By which the chart gives its rights."""
PLANTED = "tests.features.annotations.planted"
