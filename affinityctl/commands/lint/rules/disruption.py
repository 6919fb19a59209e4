"""Disruption budgets that let no pod go, each by itself or two of them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.budgets import Budget
from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.patching import add, remove


def _none_may_go(budget: Budget) -> Iterator[Spot]:
    spec, whose = budget.written.spec, ", ".join(budget.workloads)
    given = spec.maxUnavailable is None
    field = "spec.minAvailable" if given else "spec.maxUnavailable"
    if given and spec.minAvailable is None:
        if whose:
            message = "neither minAvailable nor maxUnavailable is given, so no pod may go"
            yield Spot("spec", message, (add("spec.maxUnavailable", 1),))
        return
    # Files of a folder may be alternatives: a Deployment and a DaemonSet of one name.
    if len(budget.uncounted) == len(budget.workloads) > 0:
        listed = ", ".join(budget.uncounted)
        message = f"the pods of {listed} cannot be counted for it, so no pod may go"
        yield Spot(field, f"{message}; minAvailable as a number needs no count")
        return
    if not budget.pods or budget.wanted < budget.pods:
        return
    patch = (add("spec.maxUnavailable", 1), *([remove(field)] if given else ()))
    # Of a single replica, whoever has it has to say whether it may be away at all.
    message = f"all {budget.pods} pods of {whose} have to be there"
    if budget.pods == 1:
        message = f"the only pod of {whose} has to be there"
    yield Spot(field, message, patch if budget.pods > 1 else ())


def _overlap(budget: Budget) -> Iterator[Spot]:
    for workload, others in budget.shared.items():
        listed = f"budget{'s' * (len(others) > 1)} {', '.join(others)}"
        yield Spot("spec.selector", f"the pods of {workload} are in {listed} as well")


RULES: Final = (
    Rule(
        "budget-allows-none",
        Level.WARNING,
        "A PodDisruptionBudget lets none of its pods go.",
        "kubectl drain and autoscalers wait for ever on each node that has one of them.",
        "Set maxUnavailable: 1 instead of minAvailable; of a single replica, first run a second.",
        _none_may_go,
    ),
    Rule(
        "budgets-overlap",
        Level.WARNING,
        "Two PodDisruptionBudgets select the same pods.",
        "The API server evicts no pod that is in more than one budget, whatever they allow: "
        "kubectl drain fails on each node that has one.",
        "Delete one of them, or narrow its selector.",
        _overlap,
    ),
)
