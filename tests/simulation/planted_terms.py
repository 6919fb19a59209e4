"""Bugs in what terms mean, planted where the program's own audit has them as well."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import extender.core.cluster.counts.node_index
import extender.core.model.node_selection
from extender.core.cluster.counts.topology import Topology
from extender.core.model.labels import Labels, Operator, Requirement
from extender.core.model.node_selection import Comparison, NodeTerm, int64
from extender.core.model.pod_affinity import PodSelector
from simulation.plan import Plan
from tests.beside import LIMITS
from tests.simulation.planting import Planted

if TYPE_CHECKING:
    import pytest

    Patch = pytest.MonkeyPatch


def _wants_the_label_that_must_not_be_so(patch: Patch) -> None:
    matches = Requirement.matches

    def strict(self: Requirement, labels: Labels) -> bool:
        absent = self.operator is Operator.NOT_IN and self.key not in labels
        return not absent and matches(self, labels)

    patch.setattr(Requirement, "matches", strict)


def _covers_no_namespace_by_an_empty_selector(patch: Patch) -> None:
    def listed(self: PodSelector, namespace: str, namespace_labels: Labels) -> bool:
        chosen = self.namespace_selector
        some = chosen is not None and bool(chosen.requirements) and chosen.matches(namespace_labels)
        return namespace in self.namespaces or some

    patch.setattr(PodSelector, "covers", listed)


def _takes_every_hostname_for_a_name(patch: Patch) -> None:
    patch.setattr(
        Topology, "values_are_names", property(lambda self: self.key.endswith("hostname"))
    )


def _has_no_largest_number(patch: Patch) -> None:
    patch.setattr(extender.core.model.node_selection, "_INT64", range(-(10**18), 10**19))


def _takes_the_bound_of_gt_as_well(patch: Patch) -> None:
    covers = Comparison.covers

    def with_bound(self: Comparison, value: str) -> bool:
        return (self.above and int64(value) == self.bound) or covers(self, value)

    patch.setattr(Comparison, "covers", with_bound)
    patch.setattr(extender.core.cluster.counts.node_index, "bisect_right", bisect_left)


def _excludes_no_node_by_name(patch: Patch) -> None:
    matches: Any = NodeTerm.matches

    def named(self: NodeTerm, name: str, labels: Labels) -> bool:
        return bool(matches(replace(self, other_than=frozenset()), name, labels))

    patch.setattr(NodeTerm, "matches", named)


def _looks_at_no_limit(patch: Patch) -> None:
    patch.setattr(type(LIMITS[0]), "_limits", lambda *_: [])


STORED = "counters differ from the cluster"
MEET = "excluding pods met"


def _evicts(plan: Plan) -> bool:
    return plan.setup.evicting is not None


def _has_pods_of_all_sorts(plan: Plan) -> bool:
    return not plan.setup.theme and plan.setup.evicting is None


TERMS: Mapping[str, Planted] = {
    name: Planted(plant, breaks, _has_pods_of_all_sorts)
    for name, (plant, breaks) in {
        "wants the label that NotIn is about": (
            _wants_the_label_that_must_not_be_so,
            {STORED, MEET},
        ),
        "covers no namespace by an empty selector": (
            _covers_no_namespace_by_an_empty_selector,
            {STORED, MEET},
        ),
        "takes every hostname for a name": (_takes_every_hostname_for_a_name, {MEET}),
        "looks at no limit": (_looks_at_no_limit, {"limit exceeded"}),
    }.items()
} | {
    "has no largest number": Planted(_has_no_largest_number, {STORED}, _evicts),
    "takes the bound of Gt as well": Planted(_takes_the_bound_of_gt_as_well, {STORED}, _evicts),
    # What is known of all nodes at once does not, and the program's own audit tells of that.
    "excludes no node by name": Planted(
        _excludes_no_node_by_name,
        {STORED, "alarm about right counters", "defect in the log"},
        _evicts,
    ),
}
