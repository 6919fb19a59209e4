"""What the core has to know of it while it is off; it has no fields beside the mode."""

from __future__ import annotations

from extender.core.config.features import Feature
from extender.core.config.schema import Mode

FEATURE = Feature(
    name="shadow",
    enabled=lambda config: config.mode is Mode.SHADOW,
    words=r"shadow_disagreements|shadow_?differences",
)
