"""The block of the configuration, and what the core has to know of it while it is off."""

from __future__ import annotations

from extender.core.config.connections import Block
from extender.core.config.features import Feature, Maturity


class Audit(Block, frozen=True, kw_only=True):
    """Counters are compared with the pods while the program runs."""

    enabled: bool = True
    """False saves a thousandth of a core, and no counter that is wrong is told of any more."""


FEATURE = Feature(
    name="audit",
    maturity=Maturity.STABLE,
    section=Audit,
    enabled=lambda config: config.section(Audit).enabled,
    words=r"keep_auditing|features\.audit|recount|consistency_mismatches",
)
