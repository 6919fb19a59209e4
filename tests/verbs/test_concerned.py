"""What no plugin is concerned with is refused by none: filter lets such a pod pass unread."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from extender.core.verbs.filtering import concerned, indeterminate, judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from tests.annotating import moved, sound, split
from tests.beside import LIMITS
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    crossing,
    model_pod,
    node,
    node_term,
    pod,
    quota,
    requirement,
    selector,
    state_of,
    term,
)
from tests.features.every import plugins as further_plugins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extender.core.cluster.state import ClusterState
    from extender.core.model.objects import Pod as ModelPod
    from extender.core.verbs.plugins import Plugins
    from tests.builders import Json

NODES: Final = [node(name, {HOST: name, ZONE: name[0]}) for name in ("a1", "a2", "b1")]
NAMES: Final = ["a1", "a2", "b1"]
SPACES: Final = ("alpha", "alpha", "beta")
EVERY: Final = (
    InterPodAffinity(),
    NodeSelectionPlugin(),
    *LIMITS,
    *further_plugins(),
)
IN_MODES: Final[Mapping[str, Plugins]] = {
    name: tuple(
        replace(each, of_annotations=of)
        for each, of in zip(EVERY, (*first, *(rest for _ in EVERY)), strict=False)
    )
    for name, first, rest in (
        ("all", (False, False, False), False),
        ("annotations", (True, True, True), True),
        ("pods", (False, True, False), True),
        ("nodes and features", (True, False, True), False),
    )
}
"""By what is looked at in specs as well."""
CLUSTERS: Final = 300


def some_pod(dice: random.Random, name: str) -> Json:
    """Return a pod with few rules or none, in its spec, in its annotation, or some in each."""
    made = pod(name, dice.choice(SPACES)).labels(app=dice.choice(("web", "db")))
    if dice.random() < 0.5:
        made = made.in_group("gang")
    app = selector(app=dice.choice(("web", "db")))
    drawn = dice.randrange(8)
    wide = {"namespaces": ["alpha", "beta"]} if dice.random() < 0.5 else {}
    one = term(dice.choice((HOST, ZONE)), app, **wide)
    if drawn == 0:
        made = made.affinity(one)
    elif drawn in {1, 2}:
        made = made.anti_affinity(one)
    elif drawn == 3:
        made = made.avoids(7, one)
    elif drawn == 4:
        made = made.requires_nodes(node_term(requirement(ZONE, "In", "a")))
    elif drawn == 5:
        limited = {**one, "maxMatchingPods": dice.randrange(3)}
        return sound(made, moved(made.anti_affinity(limited)))
    return sound(made, dice.choice((moved(made), split(made, dice), made)))


def placed(dice: random.Random, made: Json) -> Pod:
    """Put a pod on a node, nominate it, or let it wait."""
    built = Pod(dict(made)).priority(dice.choice((-1, 0, 1)))
    match dice.randrange(3):
        case 0:
            return built.on(dice.choice(NAMES))
        case 1:
            return built.nominated(dice.choice(NAMES))
    return built


def some_cluster(dice: random.Random) -> tuple[ClusterState, ModelPod]:
    """Return some pods, and one that is asked about."""
    pods = [placed(dice, some_pod(dice, f"pod-{n}")) for n in range(dice.choice((1, 2, 4)))]
    full = quota("q", {"pods": 0}, crossing(), namespace_name="alpha")
    state = state_of(NODES, [], pods, [full])
    for each in list(state.waiting_pods):
        if dice.random() < 0.3:
            state.reserve(each, dice.choice(NAMES), 1.0)
    asking = model_pod(some_pod(dice, "asking"))
    state.stale = dice.choice((None, "the watch is silent"))
    return state, asking


@pytest.mark.parametrize("plugins", IN_MODES.values(), ids=IN_MODES)
def test_who_concerns_no_plugin_is_refused_by_none(plugins: Plugins) -> None:
    passed = 0
    for seed in range(CLUSTERS):
        state, asking = some_cluster(random.Random(seed))
        if not concerned(state, asking, plugins):
            passed += 1
            assert indeterminate(state, asking, plugins) is None, seed
            assert not judge(state, asking, state.nodes.asked(NAMES), plugins).refused, seed
    assert passed > CLUSTERS // 20
