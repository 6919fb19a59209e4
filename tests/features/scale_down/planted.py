"""Bugs of deletion costs, planted in the simulation to see whether they are found."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import pytest

import extender.features.scale_down.controller
import extender.features.scale_down.ledger
from extender.core.cluster.view import ClusterView
from extender.core.kube.calls import pod_path
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import Identity
from extender.features.scale_down import COST_ANNOTATION
from extender.features.scale_down.controller import CostController
from extender.features.scale_down.cost import CostFacet, DeletionCost
from extender.features.scale_down.ledger import Replica, Replicas
from extender.features.scale_down.rules import Correction
from extender.features.scale_down.writer import ApiCostWriter
from simulation.plan import make_scaling_plan
from tests.leading import Leader
from tests.simulation.planting import Planted as AnyPlanted

Patch = pytest.MonkeyPatch
Planted = partial(AnyPlanted, plan=make_scaling_plan)


def _corrects(patch: Patch, found: Any) -> None:
    patch.setattr(extender.features.scale_down.controller, "corrections", found)


def _corrects_nothing(patch: Patch) -> None:
    _corrects(patch, lambda *_: [])


def _forgets_relabelled_nodes(patch: Patch) -> None:
    patch.setattr(Replicas, "relabelled", lambda *_: None)


def _corrects_what_is_in_order(patch: Patch) -> None:
    def again(_: ClusterView, replicas: Collection[Replica]) -> list[Correction]:
        known = ((each, each.cost or 0) for each in replicas)
        return [Correction(Identity(one.key, one.uid), one.cost, was - 1) for one, was in known]

    _corrects(patch, again)


def _takes_all_costs_for_its_own(patch: Patch) -> None:
    read = CostFacet.read

    def own(self: CostFacet, annotations: Mapping[str, bytes]) -> DeletionCost | None:
        cost = read(self, annotations)
        return None if cost is None else cost._replace(given=True)

    patch.setattr(CostFacet, "read", own)


def _ranks_pods_of_all_kinds(patch: Patch) -> None:
    patch.setattr(extender.features.scale_down.ledger, "NOT_BY_COST", frozenset())


def _marks_nothing(patch: Patch) -> None:
    def unmarked(_: CostFacet, value: DeletionCost) -> Mapping[str, str]:
        return {COST_ANNOTATION: str(value.value)}

    patch.setattr(CostFacet, "written", unmarked)


def _keeps_to_no_limit(patch: Patch) -> None:
    patch.setattr(CostController, "_rest", lambda *_: 0.0)


def _lets_every_replica_patch(patch: Patch) -> None:
    init = CostController.__init__

    def leading(self: CostController, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        self._leadership = Leader()

    patch.setattr(CostController, "__init__", leading)


def _evicts_pods_out_of_order(patch: Patch) -> None:
    async def evict(self: ApiCostWriter, pod: Identity, *_: object) -> bool:
        body = json.dumps({"deleteOptions": {"preconditions": {"uid": pod.uid}}}).encode()
        path = f"{pod_path(pod.key)}/eviction"
        await self._client.post(path, body, within=WITHIN.nomination)
        return True

    patch.setattr(ApiCostWriter, "write", evict)


ORDER = "scaled down out of order"

PLANTED: Mapping[str, AnyPlanted] = {
    "corrects no cost": Planted(_corrects_nothing, {ORDER}),
    "ranks nothing again when a node is relabelled": Planted(_forgets_relabelled_nodes, {ORDER}),
    "corrects costs that are in order": Planted(
        _corrects_what_is_in_order, {"patches without end"}
    ),
    "takes the costs of users for its own": Planted(
        _takes_all_costs_for_its_own, {"cost of a user changed"}
    ),
    "ranks pods whose controllers look at no cost": Planted(
        _ranks_pods_of_all_kinds, {"cost where none is due"}
    ),
    "does not mark its costs": Planted(_marks_nothing, {"more than costs written"}),
    "patches as much as it likes": Planted(_keeps_to_no_limit, {"too many patches in a minute"}),
    "patches without the Lease": Planted(_lets_every_replica_patch, {"two replicas patch"}),
    "evicts pods that are out of order": Planted(
        _evicts_pods_out_of_order, {"deleted for a scale-down"}
    ),
}
