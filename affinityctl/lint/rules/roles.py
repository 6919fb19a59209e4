"""What RBAC gives the extender: enough, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.rights import Granted, Rights


def _missing(rights: Rights) -> Iterator[Spot]:
    for right in rights.missing():
        yield Spot("rules", f"no right to {right}")


def _wide(role: Granted) -> Iterator[Spot]:
    for index, rule in enumerate(role.rules):
        if rule.is_wide:
            yield Spot(f"rules[{index}]", "a wildcard")


def _idle(role: Granted) -> Iterator[Spot]:
    for index, right in role.idle():
        yield Spot(f"rules[{index}]", f"the right to {right} in mode {role.config.mode}")


OF_ALL: Final = (
    Rule(
        "right-missing",
        Level.ERROR,
        "The extender lacks a right that its configuration needs.",
        "Without list and watch it never becomes ready; without the others binds, hints or "
        "preemption fail.",
        "Apply the component of manifests/components that has it: bind, preemption, eviction or "
        "quota.",
        _missing,
    ),
)
OF_A_ROLE: Final = (
    Rule(
        "right-too-wide",
        Level.WARNING,
        "A role of the extender has a wildcard.",
        "Whoever gets hold of its token can do far more than read some kinds of objects.",
        "Name groups, resources and verbs, as manifests/base/rbac.yaml does.",
        _wide,
    ),
    Rule(
        "right-without-use",
        Level.WARNING,
        "The extender may change or read what its configuration never does.",
        "The right to bind is the power to place any pod anywhere, that to delete or evict pods "
        "needs no explanation. Only mode replace binds, preempts and reads disruption budgets, "
        "only requiredDuringExecution evicts, and only the quota plugin reads quotas.",
        "Leave out the components bind and preemption, eviction or quota.",
        _idle,
    ),
)
