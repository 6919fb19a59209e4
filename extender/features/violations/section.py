"""What the core has to know of it; it has no fields, and is always on."""

from __future__ import annotations

from extender.core.config.features import Feature, Maturity

FEATURE = Feature(
    name="violations",
    maturity=Maturity.STABLE,
    enabled=lambda _: True,
    words=r'"/(page/)?violations|keep_patrolling|broken rules, each',
)
