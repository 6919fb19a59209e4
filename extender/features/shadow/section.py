"""What the core has to know of it while it is off; it has no fields beside the mode."""

from __future__ import annotations

from extender.core.config.features import Feature, Maturity
from extender.core.config.schema import Mode

FEATURE = Feature(
    name="shadow",
    maturity=Maturity.STABLE,
    enabled=lambda config: config.mode is Mode.SHADOW,
    words=r"shadow_disagreements|shadow_?differences",
)
