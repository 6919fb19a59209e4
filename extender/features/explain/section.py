"""What the core has to know of it; it has no fields, and is always on."""

from __future__ import annotations

from extender.core.config.features import Feature, Maturity

FEATURE = Feature(
    name="explain",
    maturity=Maturity.STABLE,
    enabled=lambda _: True,
    words=r'"/explain\b|build_explain|features[./]explain',
)
