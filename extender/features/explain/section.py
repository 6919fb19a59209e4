"""What the core has to know of it; it has no fields, and is always on."""

from __future__ import annotations

from extender.core.config.features import Feature

FEATURE = Feature(
    name="explain",
    enabled=lambda _: True,
    words=r'"/explain\b|build_explain|features[./]explain',
)
