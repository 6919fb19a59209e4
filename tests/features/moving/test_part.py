"""Nothing of it while it is off, and each of its two halves by its own switch."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode
from extender.core.config.features import enabled
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.history import History
from extender.core.kube.client import ApiClient
from extender.core.kube.reader import ObjectReader
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.ports import LeaseNotes
from extender.core.resources import BUDGETS, needed
from extender.core.source import ApiServer, Source, StillPicture, pod_reader
from extender.core.warm_up import WarmUp
from extender.features.moving.eviction import EvictionController
from extender.features.moving.part import Moving
from extender.features.moving.repair import RepairController
from extender.features.moving.section import FEATURE
from extender.features.moving.turns import Notes
from tests.builders import HOST, model_node, model_pod, node, pod, selector, term
from tests.kube.rig import credentials_for
from tests.leading import Leader

HEADER = {"apiVersion": API_VERSION, "kind": KIND}
ROWS = {
    "affinity_extender_execution_violating_pods": ("outcome",),
    "affinity_extender_repairs_total": ("result",),
    "affinity_extender_repairable_controllers": (),
    "affinity_extender_evictions_paused": (),
    "affinity_extender_evictions_paused_namespaces": (),
    "affinity_extender_evictions_stopped": (),
    "affinity_extender_evictions_stopped_namespaces": (),
    "affinity_extender_evictions_leader": (),
}
FILES = Source("files", StillPicture({}, {}))


def switched(*, required: bool, preferred: bool) -> dict[str, Any]:
    """Return the fields that switch it on."""
    return {
        "requiredDuringExecution": {"enabled": required, "plainRules": {"matchLabels": {}}},
        "preferredDuringExecution": {"enabled": preferred},
    }


def context(source: Source, **fields: Any) -> Context:
    """Build what all parts share, over two pods that exclude each other on one node."""
    state, metrics, config = ClusterState(), Metrics(), decode({**HEADER, **fields})
    state.upsert_node(model_node(node("a", {HOST: "a"})))
    for name in ("one", "two"):
        apart = pod(name).labels(app="web").anti_affinity(term(HOST, selector(app="web")))
        state.upsert_pod(model_pod(apart.owned_by("ReplicaSet/web").on("a")))
    return Context(config, source, state, metrics, lambda: None, WarmUp(state, metrics), History())


def built(shared: Context) -> list[Moving]:
    """Build all parts, and return those of this feature."""
    return [each for each in build_parts(shared) if isinstance(each, Moving)]


def test_off_there_is_nothing_of_it() -> None:
    shared = context(FILES)
    assert built(shared) == []
    assert shared.state.ledgers == ()
    assert {each.name for each in shared.metrics.families}.isdisjoint(ROWS)
    assert FEATURE not in [*enabled(shared.config)]
    assert BUDGETS not in needed(shared.config)


def test_its_metrics_and_what_it_has_to_know() -> None:
    shared = context(FILES, **switched(required=True, preferred=False))
    (part,) = built(shared)
    assert ROWS.items() <= {each.name: each.labels for each in shared.metrics.families}.items()
    assert BUDGETS in needed(shared.config)
    assert [*part.tasks()] == []
    assert (part.hooks, part.checks, shared.findings) == ((), {}, [])
    watch, successors = part.ledgers
    assert shared.state.ledgers == (watch, successors)


@pytest.mark.parametrize(
    ("required", "preferred", "names"),
    [
        (True, True, ["eviction", "repair", "stopping"]),
        (True, False, ["eviction", "stopping"]),
        (False, True, ["repair", "stopping"]),
    ],
)
async def test_each_half_goes_by_its_own_switch(
    *, required: bool, preferred: bool, names: list[str]
) -> None:
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        fields = switched(required=required, preferred=preferred)
        shared = context(FILES, **fields)
        api = ApiServer(client, ObjectReader(client, pod_reader(shared.config)))
        source = Source("a test", StillPicture({}, {}), leadership=Leader(), api=api)
        shared = context(source, **fields)
        (part,) = built(shared)
        tasks = dict(part.tasks())
        for each in tasks.values():
            each.close()
    assert [*tasks] == names
    assert part.checks.keys() == {"moves"}
    (known,) = shared.findings
    told = {name for name, _ in filter(None, known.fields(10))}
    assert ("pods" in told, "improvable" in told) == (required, preferred)
    assert len(part.hooks) == 1 + preferred


class Keeping(Leader):
    """Knows who tells the next leader."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[LeaseNotes] = []

    def keep(self, notes: LeaseNotes) -> None:
        self.kept.append(notes)


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("preferred", [False, True])
async def test_a_dry_run_of_one_half_is_none_of_the_other(
    *, required: bool, preferred: bool
) -> None:
    """What either has begun, and its turns, are only those of moves of the same kind."""
    fields = switched(required=True, preferred=True)
    fields["requiredDuringExecution"]["dryRun"] = required
    fields["preferredDuringExecution"]["dryRun"] = preferred
    leader = Keeping()
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        api = ApiServer(client, ObjectReader(client, pod_reader(context(FILES).config)))
        source = Source("a test", StillPicture({}, {}), leadership=leader, api=api)
        (part,) = built(context(source, **fields))
    eviction, repair = (part._running[name] for name in ("eviction", "repair"))
    assert isinstance(eviction, EvictionController)
    assert isinstance(repair, RepairController)
    assert (eviction._moves is repair._moves) is (required is preferred)
    (notes,) = leader.kept
    assert isinstance(notes, Notes)
    live = {id(each._moves) for each, dry in ((eviction, required), (repair, preferred)) if not dry}
    assert live <= {id(notes._turns.moves)}, "the next leader hears of what is no dry run"
    for each, dry in ((eviction, required), (repair, preferred)):
        assert each._moves._dry_run is dry
