"""Required rules: pods go where the rules allow it and only there, whoever schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term
from tests.e2e.scheduling import MODES

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WEB, DB = {"app": "web"}, {"app": "db"}
RED, BLUE = namespace("red", team="red"), namespace("blue", team="blue")
IN_RED = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
EVERYWHERE: JSON = {"namespaceSelector": {}}

FOUR_NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")]
ZONE_A, ZONE_B, NOWHERE = {"a1", "a2"}, {"b1", "b2"}, {""}

# The stock scheduler shows that the scenario itself is right.
every_mode = pytest.mark.parametrize("mode", MODES)


def tenant(name: str, owner: str) -> JSON:
    """Return a pod that shares its zone with pods of its own tenant and nobody else's."""
    own = term(ZONE, {}, matchLabelKeys=["tenant"])
    others = {"matchExpressions": [{"key": "tenant", "operator": "Exists"}]}
    foreign = term(ZONE, others, mismatchLabelKeys=["tenant"])
    return pod(name, labels={"tenant": owner}, near=[own], apart=[foreign])


@every_mode
@pytest.mark.parametrize(
    ("there", "coming", "where"),
    [
        pytest.param(
            [],
            [pod(f"w{n}", labels=WEB, near=[term(ZONE, WEB)]) for n in range(4)],
            [ZONE_A, ZONE_B],
            id="the first pod of a group starts it and the others follow into its zone",
        ),
        pytest.param(
            [pod("db", labels=DB, on="b1")],
            [pod("web", near=[term(ZONE, DB)])],
            [ZONE_B],
            id="affinity to a pod that is there",
        ),
        pytest.param(
            [pod("db", labels=DB, on="a1"), pod("x", labels={"tier": "x"}, on="a2")],
            [pod("both", near=[term(ZONE, DB), term(ZONE, {"tier": "x"})])],
            [NOWHERE],
            id="two terms are met by two pods, but it takes one pod that meets both",
        ),
        pytest.param(
            [],
            [pod("first", labels=WEB, near=[term(ZONE, WEB), term(ZONE, DB)])],
            [NOWHERE],
            id="a first pod that does not match all of its own terms starts nothing",
        ),
        pytest.param(
            [
                RED,
                BLUE,
                pod("db", "red", labels=DB, on="a1"),
                pod("db", "blue", labels=DB, on="b1"),
            ],
            [pod("web", apart=[term(ZONE, DB, **IN_RED)])],
            [ZONE_B],
            id="anti-affinity with the namespaces that a selector chooses",
        ),
        pytest.param(
            [
                RED,
                BLUE,
                pod("db", "red", labels=DB, on="a1"),
                pod("db", "blue", labels=DB, on="b1"),
            ],
            [pod("web", near=[term(ZONE, DB, **IN_RED)])],
            [ZONE_A],
            id="affinity with the namespaces that a selector chooses",
        ),
        pytest.param(
            [
                RED,
                BLUE,
                pod("db", "red", labels=DB, on="a1"),
                pod("db", "blue", labels=DB, on="b1"),
            ],
            [pod("web", apart=[term(ZONE, DB, namespaces=["blue"], **IN_RED)])],
            [NOWHERE],
            id="a list of namespaces adds to those a selector chooses",
        ),
        pytest.param(
            [RED, pod("db", "red", labels=DB, on="a1"), pod("db", labels=DB, on="b1")],
            [pod("web", apart=[term(ZONE, DB)])],
            [ZONE_A],
            id="a term without namespaces means the pod's own",
        ),
        pytest.param(
            [pod("guard", apart=[term(ZONE, WEB)], on="a1")],
            [pod("plain", labels=WEB)],
            [ZONE_B],
            id="a pod that is there repels one without any rules",
        ),
        pytest.param(
            [
                RED,
                pod("guard-a", "red", apart=[term(ZONE, WEB, **EVERYWHERE)], on="a1"),
                pod("guard-b", "red", apart=[term(ZONE, WEB, **EVERYWHERE)], on="b1"),
            ],
            [pod("plain", labels=WEB)],
            [NOWHERE],
            id="guards from another namespace leave a plain pod no zone",
        ),
        pytest.param(
            [node("bare"), *(pod(f"w-{n}", labels=WEB, on=n) for n in ("a1", "b1"))],
            [pod("web", apart=[term(ZONE, WEB)])],
            [{"bare"}],
            id="anti-affinity does not refuse a node without the topology key",
        ),
        pytest.param(
            [
                pod("old", labels=WEB | {"track": "old"}, on="a1"),
                pod("none", labels=WEB, on="b1"),
            ],
            [
                pod(
                    "web",
                    apart=[
                        term(
                            ZONE,
                            {
                                "matchLabels": WEB,
                                "matchExpressions": [{"key": "track", "operator": "DoesNotExist"}],
                            },
                        )
                    ],
                )
            ],
            [ZONE_A],
            id="an expression about a missing label",
        ),
    ],
)
async def test_pods_go_where_the_rules_allow(
    sandbox: Sandbox, mode: str, there: list[JSON], coming: list[JSON], where: list[set[str]]
) -> None:
    await sandbox.add(*FOUR_NODES, *there)
    async with sandbox.scheduled_by(mode):
        outcomes = await sandbox.settle_repeatedly(*coming)

    for placed in outcomes:
        taken = {each or "" for each in placed.values()}
        assert any(taken <= allowed for allowed in where), outcomes


@every_mode
async def test_anti_affinity_by_host_gives_each_pod_its_own_node(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(*FOUR_NODES)
    async with sandbox.scheduled_by(mode):
        placed = await sandbox.settle(
            *(pod(f"w{n}", labels=WEB, apart=[term(HOSTNAME, WEB)]) for n in range(5))
        )

    assert sorted(filter(None, placed.values())) == ["a1", "a2", "b1", "b2"]
    assert sandbox.waiting() == ["w4"]
    await sandbox.assert_lawful()


@every_mode
async def test_tenants_get_zones_of_their_own(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*FOUR_NODES)
    async with sandbox.scheduled_by(mode):
        placed = await sandbox.settle(
            tenant("r1", "red"),
            tenant("b1", "blue"),
            tenant("r2", "red"),
            tenant("b2", "blue"),
            tenant("g1", "green"),
        )

    zones = {name: on and on[0] for name, on in placed.items()}
    assert zones["r1"] == zones["r2"] != zones["b1"] == zones["b2"]
    assert sandbox.waiting() == ["g1"]
    await sandbox.assert_lawful()


@every_mode
async def test_a_pod_that_waits_is_placed_when_the_obstacle_goes(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(node("a1", "a"), node("b1", "b"))
    async with sandbox.scheduled_by(mode):
        await sandbox.settle(
            *(pod(f"w{n}", labels=WEB, apart=[term(HOSTNAME, WEB)]) for n in range(3))
        )
        freed = sandbox.pods.objects["default/w0"]["spec"]["nodeName"]
        assert sandbox.waiting() == ["w2"]

        await sandbox.remove("default/w0")

        assert await sandbox.bound("default/w2") == freed
