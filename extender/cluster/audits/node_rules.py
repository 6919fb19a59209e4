"""What node affinity says of each node, found out again by trying every condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from extender.cluster.counts.node_rules import NodeColumn
from extender.cluster.state import ClusterState

AUDITED_CONDITIONS = 20_000
"""Conditions of one step: some tens of milliseconds."""


def column_mismatches(state: ClusterState, column: NodeColumn, names: Iterable[str]) -> list[str]:
    """Return those of some nodes of which a column does not say what its rule does."""
    judge, labels = column.rule.judge, state.nodes.labels
    return [
        name
        for name in names
        if name in state.nodes and column.of(name) != judge(name, labels(name))
    ]


def rule_mismatches(state: ClusterState) -> list[str]:
    """Return what is wrong with the columns and the counts of pods by rule; O(pods + all nodes)."""
    wrong = []
    for column in state.node_rules:
        wrong.extend(column_mismatches(state, column, state.nodes))
        if column.matching != sum(bool(column.of(name)) for name in state.nodes):
            wrong.append(f"nodes that match {column.rule}")
    affinities = [pod.node_affinity for pod in state.pods.values()]
    truth = Counter(rule for each in affinities if each is not None for rule in each.rules)
    return wrong if state.node_rules.in_use == truth else [*wrong, "pods by node affinity"]


def audit_columns(state: ClusterState) -> Iterator[str | None]:
    """Compare each column with its rule, some nodes at a time; yield what each step found."""
    for column in list(state.node_rules):
        names = iter(list(state.nodes))
        batch = max(1, AUDITED_CONDITIONS // column.rule.conditions)
        while (some := list(islice(names, batch))) and state.node_rules.keeps(column):
            wrong = column_mismatches(state, column, some)
            yield f"node affinity on {wrong[0]}" if wrong else None
