"""Node affinity that the scheduler adds to every pod: known wherever a node is chosen."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable

import pytest

from extender.core import config
from extender.core.cluster.state import ClusterState
from extender.core.config import layers
from extender.core.enabled import filter_plugins
from extender.core.model.objects import Pod as ModelPod
from extender.core.verbs.filtering import judge
from extender.core.verbs.nominating import Chooser
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.victims import candidates, ineligible, on_node
from tests.builders import HOST, Pod, model_pod, node, pod, requirement, selector, state_of, term

ROOM = {"pods": "10", "cpu": "4"}
NODES = [
    node(name, {HOST: name, "pool": pool}, ROOM)
    for name, pool in (("a", "web"), ("b", "system"), ("c", "web"), ("d", "system"))
]
NEW = pod("new").priority(30).anti_affinity(term(HOST, selector(app="db")))
WEB_POOL = {"nodeSelectorTerms": [{"matchExpressions": [requirement("pool", "In", "web")]}]}
ADDED = {"requiredDuringSchedulingIgnoredDuringExecution": WEB_POOL}
ALL, ALLOWED = ["a", "b", "c", "d"], ["a", "c"]


def plugins_of(names: list[str], added: object) -> Plugins:
    """Build what a configuration in mode replace enables."""
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "mode": "replace",
        "plugins": names,
        "nodeAffinity": {"addedAffinity": added},
    }
    loaded = layers.load(Namespace(config="c.yaml"), lambda _: json.dumps(document))
    return filter_plugins(loaded)


def _victims(state: ClusterState, asked: ModelPod, plugins: Plugins) -> Iterable[str]:
    found = candidates(state, asked, plugins, chance=0.0)
    return [each.node for each in found if each is not None]


def _again(state: ClusterState, asked: ModelPod, plugins: Plugins) -> Iterable[str]:
    return [name for name in ALL if on_node(state, asked, plugins, name) is not None]


def _hints(state: ClusterState, asked: ModelPod, plugins: Plugins) -> Iterable[str]:
    return Chooser(state, plugins).takers(asked)


def _waited_for(state: ClusterState, asked: ModelPod, plugins: Plugins) -> Iterable[str]:
    """Return the nodes for whose terminating pods a nominated pod waits."""
    nominated = {name: asked.with_status(nominated=name) for name in ALL}
    return [name for name in ALL if ineligible(state, nominated[name], plugins) is not None]


DB = [pod(f"db-{name}").labels(app="db").on(name) for name in ALL]


@pytest.mark.parametrize("names", [["InterPodAffinity"], ["NodeAffinity", "InterPodAffinity"]])
@pytest.mark.parametrize(
    ("choose", "pods"),
    [
        pytest.param(_victims, DB, id="victims"),
        pytest.param(_again, DB, id="victims, looked at once more"),
        pytest.param(_hints, [], id="hints"),
        pytest.param(_waited_for, [each.preempted() for each in DB], id="terminating victims"),
    ],
)
def test_no_node_is_chosen_that_the_scheduler_would_refuse(
    choose: Callable[[ClusterState, ModelPod, Plugins], Iterable[str]],
    pods: list[Pod],
    names: list[str],
) -> None:
    state, asked = state_of(NODES, [], pods), model_pod(NEW)
    assert [*choose(state, asked, plugins_of(names, {}))] == ALL
    assert [*choose(state, asked, plugins_of(names, ADDED))] == ALLOWED


@pytest.mark.parametrize(
    ("names", "fits"),
    [(["InterPodAffinity"], ALL), (["InterPodAffinity", "NodeAffinity"], ALLOWED)],
)
def test_filter_leaves_it_to_the_scheduler_unless_the_plugin_is_enabled(
    names: list[str], fits: list[str]
) -> None:
    state = state_of(NODES, [], [])
    found = judge(state, model_pod(NEW), state.nodes.asked(ALL), plugins_of(names, ADDED))
    assert list(found.fits.names) == fits
