"""Workloads that stand in their own way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.template import Template, TermAt
from extender.model.labels import HOSTNAME


def _apart(template: Template) -> Iterator[tuple[TermAt, int, int]]:
    """Yield terms that keep replicas apart, with the replicas and the domains for them."""
    replicas = template.owner.rollout.replicas
    for at in template.of(against=True):
        domains = template.eligible_domains(at.term.topology_key)
        if replicas is not None and domains and template.matches_itself(at.term):
            yield at, replicas, domains


def _too_many(template: Template) -> Iterator[Spot]:
    for at, replicas, domains in _apart(template):
        if replicas > domains:
            key = at.term.topology_key
            yield Spot(at.path, f"{replicas} replicas, apart by {key}, and {domains} domains")


def _stuck(template: Template) -> Iterator[Spot]:
    rollout = template.owner.rollout
    if not rollout.rolling or rollout.unavailable:
        return
    for at, replicas, domains in _apart(template):
        if replicas == domains and template.holds_old_pods_off(at):
            message = (
                f"{replicas} replicas fill all {domains} domains of {at.term.topology_key}, and "
                "maxUnavailable comes to 0: no room for a new pod"
            )
            yield Spot(at.path, message)


def _daemons(template: Template) -> Iterator[Spot]:
    if template.owner.kind != "DaemonSet":
        return
    for at in template.of(against=True):
        key = at.term.topology_key
        if template.owner.rollout.surge and template.holds_old_pods_off(at):
            message = "maxSurge needs the new pod beside the old one, which the term excludes"
            yield Spot(at.path, message)
        elif key != HOSTNAME and template.matches_itself(at.term) and _shared(template, key):
            yield Spot(at.path, f"one pod for each {key}, and one is wanted on each node")


def _shared(template: Template, key: str) -> bool:
    """Return whether nodes share domains of a key; so they are thought to where none is known."""
    domains = template.eligible_domains(key)
    return template.around.nodes is None or (
        domains is not None and domains < len(template.eligible_nodes())
    )


RULES: Final = (
    Rule(
        "more-replicas-than-domains",
        Level.ERROR,
        "A workload keeps its replicas apart, and has more of them than there are domains.",
        "The replicas beyond the number of domains wait for ever.",
        "Lower the replicas, prefer instead of require, or use topologySpreadConstraints, which "
        "allow more than one in each domain.",
        _too_many,
    ),
    Rule(
        "rollout-stuck",
        Level.ERROR,
        "A rolling update can never begin: old pods fill every domain, and the new pod must stay "
        "away from them.",
        "With maxUnavailable 0 no old pod goes before a new one is ready, and no new one finds a "
        "place. The default of 25 % comes to 0 for up to three replicas.",
        "Add matchLabelKeys: [pod-template-hash] to the term, so that only pods of one version "
        "keep apart, or set maxUnavailable: 1.",
        _stuck,
    ),
    Rule(
        "daemonset-excludes-itself",
        Level.ERROR,
        "The pods of a DaemonSet keep each other away.",
        "A DaemonSet wants one pod on each node. Those that anti-affinity refuses wait for ever, "
        "and an update with maxSurge never ends.",
        "Remove the term; a DaemonSet has one pod on a node as it is.",
        _daemons,
    ),
)
