"""What the program gets where the feature is on, without an API server and with one."""

from __future__ import annotations

import json

from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode, effective
from extender.core.controllers.history import History
from extender.core.kube.client import ApiClient
from extender.core.kube.reader import ObjectReader
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.source import ApiServer, Source, StillPicture, lease_key, pod_reader
from extender.core.warm_up import WarmUp
from extender.features.scale_down.cost import COST, DeletionCost
from extender.features.scale_down.part import Ranking
from tests.builders import ZONE, model_node, node, pod, selector, term
from tests.kube.rig import credentials_for
from tests.leading import Leader

HEADER = {"apiVersion": "affinity-extender.io/v1", "kind": "AffinityExtenderConfiguration"}
ON = decode({**HEADER, "mode": "replace", "scaleDown": {"enabled": True}})
OFF = decode({**HEADER, "mode": "replace"})
METRIC = "affinity_extender_deletion_cost_patches_total"


def context(source: Source, *, on: bool = True) -> Context:
    """Build what all parts share, over a node with a pod."""
    state, metrics, config = ClusterState(), Metrics(), ON if on else OFF
    state.upsert_node(model_node(node("a", {ZONE: "a"})))
    made = pod("p").labels(app="web").avoids(1, term(ZONE, selector(app="web")))
    made = made.owned_by("ReplicaSet/web").on("a")
    state.upsert_pod(pod_reader(config).read(json.dumps(made).encode()))
    return Context(config, source, state, metrics, lambda: None, WarmUp(state, metrics), History())


def built(shared: Context) -> list[Ranking]:
    """Build all parts, and return those of this feature."""
    return [each for each in build_parts(shared) if isinstance(each, Ranking)]


FILES = Source("files", StillPicture({}, {}))


def test_its_defaults() -> None:
    defaults = {"enabled": False, "settleSeconds": 60, "patchesPerMinute": 120}
    assert effective(OFF)["scaleDown"] == defaults


def test_off_there_is_nothing_of_it() -> None:
    shared = context(FILES, on=False)
    assert built(shared) == []
    assert shared.state.ledgers == ()
    assert METRIC not in {each.name for each in shared.metrics.families}
    assert lease_key(OFF) is None
    assert pod_reader(OFF).facets == ()


def test_pods_that_were_there_before_have_ranks_and_a_file_is_written_to_by_nobody() -> None:
    shared = context(FILES)
    (part,) = built(shared)
    assert list(part.tasks()) == []
    assert METRIC in {each.name for each in shared.metrics.families}
    (placed,) = shared.state.pods.values()
    other = part.hooks[0].placing(placed.with_facet(COST, DeletionCost(0, given=True)), "a")
    assert other.facet(COST) == DeletionCost(-1000, given=True)


async def test_with_an_api_server_and_a_lease_costs_are_put_in_order() -> None:
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        api = ApiServer(client, ObjectReader(client, pod_reader(ON)))
        source = Source("a test", StillPicture({}, {}), leadership=Leader(), api=api)
        (part,) = built(context(source))
        ((name, task),) = part.tasks()
        task.close()
        assert name == "deletion costs"
    assert lease_key(ON) is not None
