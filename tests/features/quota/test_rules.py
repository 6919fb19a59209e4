"""Quotas on cross-namespace affinity: who may be placed, and the order of reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Victims
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import indeterminate, judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.nominating import Chooser
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.preempting import only_waits
from extender.core.verbs.rules import Refusal
from extender.features.quota.ledger import quotas_of
from extender.features.quota.rules import (
    Cause,
    CrossNamespacePodAffinity,
    QuotaReason,
    Shortfall,
    shortfall,
)
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    crossing,
    model_pod,
    node,
    pod,
    put,
    quota,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import chosen_of

NODES = [node(name, {HOST: name}) for name in ("a", "b")]
FAR = term(HOST, selector(app="none"), namespaceSelector={})
QUOTA = CrossNamespacePodAffinity()
AFFINITY = InterPodAffinity()
REFUSED = QuotaReason.QUOTA.value


def crossing_pod(name: str, namespace: str = "default") -> Pod:
    """Build a pod with cross-namespace affinity that keeps out of nobody's way."""
    return pod(name, namespace).anti_affinity(FAR)


NEW = crossing_pod("new")
ONE = crossing_pod("one").requests(cpu="1").on("a")
TWO = crossing_pod("two").requests(cpu="1").on("b")
FAR_OFF = crossing_pod("far", "shop").on("b")


def state(pods: Iterable[Json], *quotas: Json) -> ClusterState:
    """Build two nodes with pods and quotas."""
    return state_of(NODES, [], pods, quotas)


def exceeded(*resources: str, quota: str = "q") -> Shortfall:
    """Say that a quota has no room."""
    return Shortfall(Cause.EXCEEDED, f"default/{quota}", resources)


def limit(hard: Json, **fields: Any) -> dict[str, Any]:
    """Build a quota on cross-namespace affinity."""
    return quota("q", hard, crossing(), **fields)


def asking(raw: Pod, cpu: str) -> Pod:
    """Give a pod's only container a request."""
    container = {"resources": {"requests": {"cpu": cpu}}}
    return Pod({**raw, "spec": {**raw["spec"], "containers": [container]}})


LIMIT_2 = limit({"pods": "2"})
SAYS_CPU = asking(NEW, "500m")


@pytest.mark.parametrize(
    ("incoming", "pods", "quotas", "expected"),
    [
        pytest.param(NEW, [ONE, TWO], [], None, id="no quota"),
        pytest.param(pod("new"), [], [limit({"pods": 0})], None, id="not in scope"),
        pytest.param(NEW, [], [limit({"pods": 0})], exceeded("pods"), id="a namespace barred"),
        pytest.param(NEW, [ONE], [LIMIT_2], None, id="the last place"),
        pytest.param(NEW, [ONE, TWO], [LIMIT_2], exceeded("pods"), id="no place left"),
        pytest.param(
            NEW, [ONE, crossing_pod("waits")], [LIMIT_2], None, id="a pod that waits takes no place"
        ),
        pytest.param(
            NEW, [ONE, pod("plain").on("a")], [LIMIT_2], None, id="nor does one out of scope"
        ),
        pytest.param(
            NEW, [ONE, crossing_pod("far", "other").on("a")], [LIMIT_2], None, id="nor another's"
        ),
        pytest.param(
            NEW, [ONE, TWO.phase("Succeeded")], [LIMIT_2], None, id="nor one that has ended"
        ),
        pytest.param(
            NEW,
            [ONE, TWO.being_deleted()],
            [LIMIT_2],
            exceeded("pods"),
            id="one on its way out does",
        ),
        pytest.param(
            NEW,
            [ONE, crossing_pod("far").on("stranger")],
            [LIMIT_2],
            exceeded("pods"),
            id="one on an unknown node does",
        ),
        pytest.param(NEW, [ONE, NEW.on("a")], [LIMIT_2], None, id="the pod itself does not"),
        pytest.param(
            NEW,
            [ONE],
            [limit({"count/pods": "1"})],
            exceeded("count/pods"),
            id="the count of pods",
        ),
        pytest.param(SAYS_CPU, [ONE, TWO], [limit({"cpu": "2500m"})], None, id="cpu, exactly"),
        pytest.param(
            SAYS_CPU,
            [ONE, TWO],
            [limit({"cpu": "2499m", "requests.cpu": "2499m", "pods": 9})],
            exceeded("cpu", "requests.cpu"),
            id="a thousandth too much",
        ),
        pytest.param(
            asking(NEW, "0"),
            [ONE, TWO],
            [limit({"cpu": "1"})],
            None,
            id="what it does not ask for is no matter, however much is used",
        ),
        pytest.param(
            NEW,
            [],
            [limit({"limits.memory": "1", "cpu": "1"})],
            Shortfall(Cause.UNSET, "default/q", ("cpu", "limits.memory")),
            id="it does not say what the quota counts",
        ),
        pytest.param(NEW, [], [limit({"ephemeral-storage": "1"})], None, id="storage may be open"),
        pytest.param(
            NEW,
            [],
            [quota("a", {"pods": 1}, crossing()), quota("b", {"pods": 0}, crossing())],
            exceeded("pods", quota="b"),
            id="all quotas have to allow it",
        ),
        pytest.param(
            NEW,
            [],
            [limit({"pods": 0}, scopes=["Terminating"])],
            None,
            id="a quota about others",
        ),
        pytest.param(
            NEW,
            [ONE.deadline(9), TWO],
            [limit({"pods": 2}, scopes=["NotTerminating"])],
            None,
            id="only those that a quota is about count against it",
        ),
        pytest.param(
            NEW, [ONE], [quota("q", {"pods": 0})], None, id="a quota without the scope is not ours"
        ),
        pytest.param(NEW, [], [limit({"pods": 0}, namespace_name="other")], None, id="not here"),
    ],
)
def test_who_may_be_placed(
    incoming: Pod, pods: list[Pod], quotas: list[Json], expected: Shortfall | None
) -> None:
    cluster, new = state(pods, *quotas), model_pod(incoming)
    with cluster.without(new.key, new.uid):
        assert shortfall(cluster, new, limited=False) == expected
    # In which order things become known is no matter.
    later = state([])
    for each in quotas:
        put(later, each)
    for each in pods:
        later.upsert_pod(model_pod(each))
    with later.without(new.key, new.uid):
        assert shortfall(later, new, limited=False) == expected


PLAIN = term(ZONE, selector(app="web"))
NAMED = term(ZONE, selector(app="web"), namespaces=["shop"])
SEVERAL = term(ZONE, selector(app="web"), namespaces=["default", "shop"])


@pytest.mark.parametrize(
    ("incoming", "told"),
    [
        pytest.param(
            pod("new").affinity(PLAIN, NAMED),
            "its affinity on zone, which names namespaces",
            id="required",
        ),
        pytest.param(
            pod("new").anti_affinity(PLAIN, FAR),
            "its anti-affinity on hostname, which has a namespaceSelector",
            id="required, against",
        ),
        pytest.param(
            pod("new").prefers(5, PLAIN, SEVERAL),
            "its preferred affinity on zone, which names namespaces",
            id="preferred",
        ),
        pytest.param(
            pod("new").avoids(5, PLAIN, NAMED),
            "its preferred anti-affinity on zone, which names namespaces",
            id="preferred, against",
        ),
        pytest.param(
            pod("new").affinity(NAMED).avoids(5, FAR),
            "its affinity on zone, which names namespaces, its preferred anti-affinity on "
            "hostname, which has a namespaceSelector",
            id="two of them",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, selector(app="web"), namespaces=["default"])),
            None,
            id="none that tells, as it names its own namespace",
        ),
    ],
)
def test_for_which_terms_a_pod_counts_is_told(incoming: Pod, told: str | None) -> None:
    (rule,) = QUOTA.rules(state([], limit({"pods": 0})), model_pod(incoming))
    said = rule.statement(Refusal(rule, None, "", hits=2))
    refused = "Refused on 2 nodes: quota default/q has no room for more pods"
    assert said == (refused if told is None else f"{refused}; the pod counts for {told}")


UNCOVERED = Shortfall(Cause.UNCOVERED)


@pytest.mark.parametrize(
    ("incoming", "quotas", "expected"),
    [
        pytest.param(NEW, [], UNCOVERED, id="no quota"),
        pytest.param(pod("new"), [], None, id="not in scope"),
        pytest.param(NEW, [LIMIT_2], None, id="a quota with room"),
        pytest.param(NEW, [quota("q", {"pods": 9})], UNCOVERED, id="a quota without the scope"),
        pytest.param(
            NEW,
            [limit({"pods": 9}, namespace_name="other")],
            UNCOVERED,
            id="a quota of another namespace",
        ),
        pytest.param(
            NEW,
            [limit({"pods": 0}, scopes=["Terminating"])],
            None,
            id="a quota that names the scope, though it is about others",
        ),
        pytest.param(NEW, [limit({})], None, id="a quota that limits nothing"),
    ],
)
def test_where_crossing_needs_a_quota(
    incoming: Pod, quotas: list[Json], expected: Shortfall | None
) -> None:
    assert shortfall(state([], *quotas), model_pod(incoming), limited=True) == expected


def test_a_quota_comes_changes_and_goes() -> None:
    cluster, new = state([ONE]), model_pod(NEW)
    versions = [cluster.version]

    def after(raw: Json | None) -> Shortfall | None:
        if raw is None:
            quotas_of(cluster).remove("default/q", "quota-q")
        else:
            put(cluster, raw)
        versions.append(cluster.version)
        return shortfall(cluster, new, limited=False)

    assert after(limit({"pods": 1})) == exceeded("pods")
    assert after(limit({"pods": 2})) is None
    assert after(limit({"pods": 1})) == exceeded("pods")
    assert after(None) is None
    assert versions == sorted(set(versions)), "refused pods are looked at again each time"
    assert after(quota("q", {"pods": 1})) is None
    assert versions[-1] == versions[-2], "a quota about other pods is no news"


QUOTAS = {
    "none": None,
    "tight": limit({"pods": 1}),
    "wide": limit({"pods": 2}),
    "about others": quota("q", {"pods": 1}),
}


@pytest.mark.parametrize("names", [*product(QUOTAS, repeat=3)], ids=" ".join)
def test_the_last_that_was_heard_of_a_quota_counts(names: tuple[str, ...]) -> None:
    cluster = state([ONE])
    for name in names:
        if (raw := QUOTAS[name]) is None:
            quotas_of(cluster).remove("default/q", "quota-q")
        else:
            put(cluster, raw)
    expected = exceeded("pods") if names[-1] == "tight" else None
    assert shortfall(cluster, model_pod(NEW), limited=False) == expected
    assert len(quotas_of(cluster)) == (names[-1] in {"tight", "wide"})


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda cluster: cluster.remove_pod("shop/far", "shop-far"), id="it goes"),
        pytest.param(
            lambda cluster: cluster.upsert_pod(model_pod(FAR_OFF.phase("Succeeded"))), id="it ends"
        ),
        pytest.param(
            lambda cluster: cluster.upsert_pod(model_pod(pod("far", "shop").uid("b"))),
            id="a namesake",
        ),
    ],
)
def test_a_namespace_is_in_scope_as_long_as_its_last_pod(
    event: Callable[[ClusterState], object],
) -> None:
    cluster = state([ONE, FAR_OFF])
    quotas = quotas_of(cluster)
    assert (quotas.pods, {*quotas.namespaces}) == (2, {"default", "shop"})
    event(cluster)
    assert (quotas.pods, {*quotas.namespaces}) == (1, {"default"})


def test_news_of_an_older_quota_changes_nothing() -> None:
    cluster = state([], limit({"pods": 0}))
    quotas_of(cluster).remove("default/q", "older")
    assert shortfall(cluster, model_pod(NEW), limited=False) == exceeded("pods")


# With other plugins

BARRED = limit({"pods": 0})
OLD = pod("old").labels(app="web").on("a")
APART = NEW.anti_affinity(term(HOST, selector(app="web")))


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param([AFFINITY], {"a": Reason.ANTI_AFFINITY}, id="affinity alone"),
        pytest.param(
            [QUOTA], {"a": QuotaReason.QUOTA, "b": QuotaReason.QUOTA}, id="the quota alone"
        ),
        pytest.param(
            [AFFINITY, QUOTA],
            {"a": Reason.ANTI_AFFINITY, "b": QuotaReason.QUOTA},
            id="affinity first",
        ),
        pytest.param(
            [QUOTA, AFFINITY],
            {"a": QuotaReason.QUOTA, "b": QuotaReason.QUOTA},
            id="the quota first",
        ),
        pytest.param([], {}, id="none"),
    ],
)
def test_a_node_shows_the_first_plugin_that_refuses_it(
    plugins: Plugins, expected: dict[str, Reason]
) -> None:
    cluster = state([OLD], BARRED)
    asked = cluster.nodes.asked(["b", "a", "stranger"])
    verdicts = judge(cluster, model_pod(APART), asked, plugins)
    refused = {name: reason for reason, names in verdicts.refused for name in names}
    assert refused == expected | {"stranger": Reason.UNKNOWN_NODE}
    assert list(verdicts.fits.names) == [name for name in ("b", "a") if name not in refused]


def test_a_quota_refusal_is_not_one_that_an_eviction_cures() -> None:
    assert not QuotaReason.QUOTA.resolvable
    assert REFUSED == "namespace quota doesn't allow cross-namespace pod affinity"


# Preemption

IMPORTANT = NEW.priority(100)
FULL = limit({"pods": 1})


@pytest.mark.parametrize(
    ("pods", "victims", "plugins", "expected"),
    [
        pytest.param([pod("plain").on("a")], ["plain"], [QUOTA], ["plain"], id="room in the quota"),
        pytest.param(
            [pod("plain").on("a"), TWO], ["plain"], [AFFINITY, QUOTA], None, id="no room in it"
        ),
        pytest.param([ONE], ["one"], [QUOTA], ["one"], id="a victim gives its place up"),
        pytest.param(
            [ONE.requests(cpu="1"), pod("plain").on("a")],
            ["plain"],
            [AFFINITY, QUOTA],
            None,
            id="nobody else is evicted for the sake of a quota",
        ),
        pytest.param(
            [pod("plain").on("a"), crossing_pod("web").labels(app="none").on("a")],
            ["plain"],
            [AFFINITY, QUOTA],
            ["plain", "web"],
            id="one that has to go for its own sake gives its place up",
        ),
        pytest.param(
            [pod("plain").on("a"), crossing_pod("web").labels(app="none").on("a")],
            ["plain"],
            [QUOTA],
            None,
            id="where affinity is the scheduler's, it has named all who have to go",
        ),
    ],
)
def test_who_is_evicted(
    pods: list[Pod], victims: list[str], plugins: Plugins, expected: list[str] | None
) -> None:
    proposed = {"a": Victims([f"default-{name}" for name in victims], 0)}
    chosen = chosen_of(
        state(pods, FULL), model_pod(IMPORTANT), proposed, plugins, may_be_empty=False
    )
    found: Any = {on: sorted(each.uids) for on, each in chosen.items()}
    assert found == ({} if expected is None else {"a": [f"default-{name}" for name in expected]})


def test_a_pod_waits_for_the_place_of_its_victim() -> None:
    waiting = model_pod(IMPORTANT.nominated("a"))
    assert only_waits(state([ONE.being_deleted()], FULL), waiting, (), [QUOTA])
    assert not only_waits(state([ONE.being_deleted(), TWO], FULL), waiting, (), [QUOTA])


def test_no_pod_is_pointed_anywhere_that_its_quota_does_not_allow() -> None:
    asks_nothing = model_pod(NEW).with_spec(requests=())
    chooser = Chooser(state([], BARRED), [AFFINITY, QUOTA])
    assert chooser.choose(asks_nothing, avoid=(), placements=(), chance=0.0) is None
    chooser = Chooser(state([], LIMIT_2), [AFFINITY, QUOTA])
    assert chooser.choose(asks_nothing, avoid=(), placements=(), chance=0.0) == "a"


def test_a_quota_is_still_judged_by_a_stale_picture() -> None:
    cluster = state([])
    cluster.stale = "too old"
    assert indeterminate(cluster, model_pod(NEW), (CrossNamespacePodAffinity(),)) is None
