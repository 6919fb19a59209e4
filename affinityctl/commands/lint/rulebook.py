"""All rules, by what they look at and by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from affinityctl.commands.lint.budgets import Budget
from affinityctl.commands.lint.finding import AnyRule, Rule
from affinityctl.commands.lint.rights import Granted, Rights
from affinityctl.commands.lint.rules import (
    assumed,
    channel,
    claims,
    disruption,
    domains,
    exclusive,
    in_tree,
    ours,
    pods_meant,
    profiles,
    redundancy,
    refused,
    running,
    spreading,
    verbs,
    written,
)
from affinityctl.commands.lint.setup import Setup
from affinityctl.commands.lint.template import Template
from affinityctl.commands.lint.written import Written
from extender.core.config import Config

OF_SCHEDULER: Final[tuple[Rule[Setup], ...]] = (
    *verbs.RULES,
    *in_tree.RULES,
    *profiles.OF_SCHEDULER,
    *channel.RULES,
    *assumed.RULES,
    *running.RULES,
)
OF_CONFIG: Final[tuple[Rule[Config], ...]] = ours.OF_CONFIG
OF_RIGHTS: Final[tuple[Rule[Rights], ...]] = ours.OF_RIGHTS
OF_ROLE: Final[tuple[Rule[Granted], ...]] = ours.OF_ROLE
OF_BUDGET: Final[tuple[Rule[Budget], ...]] = disruption.RULES
OF_WRITTEN: Final[tuple[Rule[Written], ...]] = refused.RULES
OF_WORKLOAD: Final[tuple[Rule[Template], ...]] = (
    *written.RULES,
    *pods_meant.RULES,
    *exclusive.RULES,
    *domains.RULES,
    *spreading.RULES,
    *claims.RULES,
    *redundancy.RULES,
    *profiles.OF_WORKLOAD,
    *ours.OF_CONTAINER,
)


class Chapter(NamedTuple):
    """Rules about one kind of subject, as the reference shows them."""

    title: str
    about: str
    rules: tuple[AnyRule, ...]


CHAPTERS: Final = (
    Chapter(
        "The scheduler's file",
        "Looked for in each `KubeSchedulerConfiguration`, against the extender's configuration.",
        OF_SCHEDULER,
    ),
    Chapter(
        "The extender's configuration",
        "Looked for in each `AffinityExtenderConfiguration`. What is invalid in it is an error "
        "before any rule is asked.",
        OF_CONFIG,
    ),
    Chapter(
        "Rights",
        "Looked for in the roles that are bound to the service account, or user, "
        "`affinity-extender`.",
        (*OF_RIGHTS, *OF_ROLE),
    ),
    Chapter(
        "Fields",
        "Looked for in pods, workloads and PodDisruptionBudgets that have no resourceVersion: an "
        "API server has taken what has one. Of a patch, names and values alone are looked at.",
        OF_WRITTEN,
    ),
    Chapter(
        "Workloads",
        "Looked for in pods and in the templates of Deployments, ReplicaSets, StatefulSets, "
        "DaemonSets, ReplicationControllers, Jobs and CronJobs. Rules about nodes, namespaces and "
        "other pods need a cluster: live, or from a file.",
        OF_WORKLOAD,
    ),
    Chapter(
        "Disruption budgets",
        "Looked for in PodDisruptionBudgets whose workloads are there too.",
        OF_BUDGET,
    ),
)

BY_ID: Final[Mapping[str, AnyRule]] = {
    rule.id: rule for chapter in CHAPTERS for rule in chapter.rules
}
