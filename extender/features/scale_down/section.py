"""The block of the configuration, and what the core has to know of it while it is off."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from extender.core.config.conditions import WRITING
from extender.core.config.connections import Block
from extender.core.config.features import Feature, Maturity, Right, Trace, Want
from extender.features.scale_down import COST_ANNOTATION, GIVEN_COST_ANNOTATION


class ScaleDown(Block, frozen=True, kw_only=True):
    """Which pods a scale-down takes first: those whose end keeps the others spread."""

    enabled: bool = False
    """True gives pods with anti-affinity between themselves the annotation
    controller.kubernetes.io/pod-deletion-cost: in mode replace as they are bound, in assist by a
    patch. Needs the rights of manifests/components/scale-down."""

    settle_seconds: Annotated[float, Meta(ge=1, le=3600)] = 60
    """Seconds from a change of a controller's pods until costs that are missing, or out of order,
    are corrected by patches. A rollout or an outage is mostly over by then."""

    patches_per_minute: Annotated[int, Meta(ge=2, le=6000)] = 120
    """Such patches in any minute, in the whole cluster; of one namespace at most half as many."""


FEATURE = Feature(
    name="scale_down",
    maturity=Maturity.ALPHA,
    section=ScaleDown,
    enabled=lambda config: config.section(ScaleDown).enabled,
    effect=WRITING,
    wants=frozenset((Want.OWNERS, Want.LEASE)),
    rights=(Right("", "pods", "patch"), Right("", "pods", "get")),
    traces=(
        Trace("annotation", COST_ANNOTATION, beside=GIVEN_COST_ANNOTATION),
        Trace("annotation", GIVEN_COST_ANNOTATION),
    ),
    reads="cost",
    costs="rules",
    words=r"scale_?down|scale-down|gives_costs|affinity-extender\.io/deletion-cost|cost_patches",
)
