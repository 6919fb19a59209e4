"""What the core has to know of it while it is off; it has no fields beside the mode."""

from __future__ import annotations

from extender.core.config.conditions import REPLACE
from extender.core.config.features import Feature, Maturity, Right
from extender.core.config.schema import Mode

_TO_BIND = (
    Right("", "pods/binding", "create"),
    Right("", "pods", "get"),
)

FEATURE = Feature(
    name="binding",
    maturity=Maturity.STABLE,
    enabled=lambda config: config.mode is Mode.REPLACE,
    effect=REPLACE,
    # The others are of all that goes with the mode: nominations, and preempt's budgets.
    rights=(
        *_TO_BIND,
        Right("", "pods/status", "patch"),
        *(Right("policy", "poddisruptionbudgets", verb) for verb in ("list", "watch")),
    ),
    needed_rights=lambda _: _TO_BIND,
    words=(
        r"(features|callbacks|verbs)\.binding|(kube|source)\.binder|binding_?(args|result)|bind_total"
        r"|metrics\.binds|\bbinds\(|PodBinder|BindOutcome|BindVerdict|may_bind|unconfirmed_support"
        r"|/bind\b(?!-)|\"bind\"[\]:]|pods/binding|components/bind"
    ),
)
