"""What one tenant does to his own pods evicts nobody else's, stops nobody and tells nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from extender.core.errors import ApiError, ExtenderError
from extender.core.kube.failures import NoAnswerError
from extender.core.model.objects import Namespace
from extender.core.model.objects import Pod as ModelPod
from extender.features.moving.limits import CircuitBreaker
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.rules.execution import SYSTEM_CRITICAL
from extender.features.moving.section import RequiredDuringExecution
from tests.builders import Pod, node_term, pod, requirement, selector, term
from tests.features.moving.evicting import GRACE, ON_SSD, Rig

WEB = selector(app="web")
EVERYWHERE: dict[str, object] = {"namespaceSelector": {}}
ALONE = pod("alone", "victim").anti_affinity(term("zone", WEB, **EVERYWHERE))
OURS, THEIRS = "ReplicaSet/alone", "ReplicaSet/theirs"


def two_zones(**options: object) -> Rig:
    """Build a cluster that has been watched for a while."""
    rig = Rig(**options)  # type: ignore[arg-type]
    for name, zone in (("a", "a"), ("a2", "a"), ("b", "b")):
        rig.node(name, zone=zone, disk="ssd")
    for name in ("victim", "tenant"):
        rig.state.upsert_namespace(Namespace(name, {"name": name}))
    return rig


def theirs(name: str = "theirs", app: str = "web") -> Pod:
    """Return a pod of the other tenant."""
    return pod(name, "tenant").labels(app=app)


# Who was there first (docs/moving.md says who goes then)


async def relabelled(rig: Rig) -> None:
    """A running pod of another namespace is given labels that match."""
    rig.place(ALONE, "a", owner=OURS)
    rig.place(theirs(app="other"), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(theirs(), "a2", owner=THEIRS)


async def placed_later(rig: Rig) -> None:
    """A pod of another namespace comes by its spec.nodeName, past every scheduler."""
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(1)
    rig.place(theirs(), "a2", owner=THEIRS)


async def namespace_relabelled(rig: Rig) -> None:
    """A namespace is given labels that a namespaceSelector chooses."""
    chosen = {"namespaceSelector": selector(team="x")}
    rig.place(pod("alone", "victim").anti_affinity(term("zone", WEB, **chosen)), "a", owner=OURS)
    rig.place(theirs(), "a2", owner=THEIRS)
    await rig.after(1)
    rig.state.upsert_namespace(Namespace("tenant", {"name": "tenant", "team": "x"}))


async def before_we_looked(rig: Rig) -> None:
    """Both were there when the extender started."""
    rig.place(theirs(), "a2", owner=THEIRS)
    rig.place(ALONE, "a", owner=OURS)


async def relabelled_and_the_node_with_another_key(rig: Rig) -> None:
    """A label that no rule is about changes on a node after that."""
    await relabelled(rig)
    await rig.after(1)
    rig.node("a", zone="a", disk="ssd", color="blue")


async def relabelled_and_the_node_comes_back(rig: Rig) -> None:
    """A node is registered anew after that, as it was."""
    await relabelled(rig)
    await rig.after(1)
    rig.state.remove_node("a")
    await rig.after(1)
    rig.node("a", zone="a", disk="ssd")


async def owner_placed_later(rig: Rig) -> None:
    """The owner of the rule comes to where the other is."""
    await rig.after(1)
    rig.place(theirs(), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)


async def owner_placed_beside_what_we_found(rig: Rig) -> None:
    """The other was there before the extender was, and the owner comes."""
    rig.place(theirs(), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)


async def operator_moves_their_node(rig: Rig) -> None:
    """An operator moves the other's node into the zone."""
    rig.place(ALONE, "a", owner=OURS)
    rig.place(theirs(), "b", owner=THEIRS)
    await rig.after(1)
    rig.node("b", zone="a", disk="ssd")
    rig.node("c", zone="c")


async def operator_moves_our_node(rig: Rig) -> None:
    """An operator moves the owner's node into the zone."""
    rig.place(ALONE, "b", owner=OURS)
    rig.place(theirs(), "a2", owner=THEIRS)
    await rig.after(1)
    rig.node("b", zone="a", disk="ssd")
    rig.node("c", zone="c")


async def their_node_gets_its_zone(rig: Rig) -> None:
    """A cloud provider labels a node on which a tolerant pod is already."""
    rig.node("c")
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(1)
    rig.place(theirs(), "c", owner=THEIRS)
    await rig.after(1)
    rig.node("c", zone="a")


async def their_node_gets_its_zone_after_the_owner_came(rig: Rig) -> None:
    """The owner was placed in a zone that had none of them."""
    rig.node("c")
    await rig.after(1)
    rig.place(theirs(), "c", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(1)
    rig.node("c", zone="a")


async def their_node_comes(rig: Rig) -> None:
    """A pod of another namespace names a node that is not there yet."""
    await rig.after(1)
    rig.place(theirs(), "c", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(1)
    rig.node("c", zone="a")


async def one_of_our_own_as_well(rig: Rig) -> None:
    """One of the owner's namespace is in the way as well."""
    await relabelled(rig)
    rig.place(pod("mine", "victim").labels(app="web"), "a2", owner="ReplicaSet/mine")


@pytest.mark.parametrize(
    ("story", "evicted"),
    [
        pytest.param(relabelled, [], id="their pod was relabelled"),
        pytest.param(placed_later, [], id="their pod was placed later"),
        pytest.param(namespace_relabelled, [], id="their namespace was relabelled"),
        pytest.param(before_we_looked, [], id="nobody saw who came first"),
        pytest.param(
            relabelled_and_the_node_with_another_key, [], id="a node's other label changed since"
        ),
        pytest.param(relabelled_and_the_node_comes_back, [], id="a node came back since"),
        pytest.param(their_node_gets_its_zone, [], id="their node got its first zone"),
        pytest.param(
            their_node_gets_its_zone_after_the_owner_came,
            [],
            id="their node got its first zone after the owner came",
        ),
        pytest.param(their_node_comes, [], id="their node was not there yet"),
        pytest.param(owner_placed_later, ["alone"], id="the owner was placed later"),
        pytest.param(
            owner_placed_beside_what_we_found, ["alone"], id="the owner was placed since we look"
        ),
        pytest.param(operator_moves_their_node, ["alone"], id="an operator moved their node"),
        pytest.param(operator_moves_our_node, ["alone"], id="an operator moved the owner's node"),
        pytest.param(one_of_our_own_as_well, ["alone"], id="one of its own namespace is there"),
    ],
)
async def test_who_goes_when_pods_of_other_namespaces_are_in_the_way(
    story: Callable[[Rig], object], evicted: list[str]
) -> None:
    rig = two_zones()
    await story(rig)  # type: ignore[misc]
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == evicted
    if not evicted:
        assert rig.outcomes() == {"alone": "brokenByOthers"}
        assert len(rig.mover.notes("NotEvictedByAffinityRule")) == 1


async def test_an_annotation_s_rule_is_no_different() -> None:
    rig = two_zones()
    rule = (
        '{"podAntiAffinity":{"requiredDuringSchedulingRequiredDuringExecution":[{"topologyKey":'
        '"zone","namespaceSelector":{},"labelSelector":{"matchLabels":{"app":"web"}}}]}}'
    )
    rig.place(
        pod("alone", "victim").annotated("affinity-extender.io/affinity", rule), "a", owner=OURS
    )
    rig.place(theirs(app="other"), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(theirs(), "a2", owner=THEIRS)
    await rig.after(GRACE + 5)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"alone": "brokenByOthers"}


async def test_what_is_remembered_of_changes_goes_with_its_object() -> None:
    rig = two_zones()
    await operator_moves_their_node(rig)
    rig.place(theirs("new"), "a2", owner=THEIRS)
    rig.state.upsert_namespace(Namespace("tenant", {"name": "tenant", "team": "x"}))
    assert len(rig.watch.changes) >= 3
    for each in [*rig.state.pods.values()]:
        rig.state.remove_pod(each.key, each.uid)
    for name in ("a", "a2", "b", "c"):
        rig.state.remove_node(name)
    rig.state.remove_namespace("tenant")
    assert len(rig.watch.changes) == 0


# The brake


def unmet(rig: Rig, space: str, number: int, owner: str = "ReplicaSet/") -> None:
    """Add pods of a namespace that break their rule where they are."""
    for each in range(number):
        name = f"{space}-{each}"
        wanted = pod(name, space).requires_nodes(
            {"matchExpressions": [{"key": "gold", "operator": "Exists"}]}
        )
        rig.place(wanted, "a", owner=owner and f"{owner}{name}")


def calm(rig: Rig, number: int) -> None:
    """Add pods that break nothing."""
    for each in range(number):
        rig.place(pod(f"calm-{each}", "calm"), "a2")


async def test_pods_that_can_never_go_stop_nobody() -> None:
    rig = two_zones(max_affected=0.1)
    calm(rig, 80)
    unmet(rig, "tenant", 14, owner="")
    rig.place(ON_SSD, "a", "disk")
    await rig.after(1)
    rig.node("a", zone="a")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["disk"]
    assert rig.outcomes() == {f"tenant-{each}": "noController" for each in range(14)}


async def test_the_pods_of_one_namespace_stop_that_namespace_alone() -> None:
    rig = two_zones(max_affected=0.1)
    calm(rig, 80)
    unmet(rig, "tenant", 14)
    rig.place(ON_SSD, "a", "disk")
    await rig.after(1)
    rig.node("a", zone="a")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["disk"]
    assert not rig.controller.paused
    assert set(rig.outcomes().values()) == {"paused"}
    (note,) = rig.mover.notes("EvictionsPaused")
    assert "in namespace tenant: 14 of its pods" in note
    assert rig.registry.get_sample_value("affinity_extender_evictions_paused_namespaces") == 1
    assert rig.registry.get_sample_value("affinity_extender_evictions_paused") == 0


async def test_pods_that_wait_do_not_raise_how_many_may_go() -> None:
    rig = two_zones(max_affected=0.1)
    rig.node("gold", gold="yes", zone="c")
    calm(rig, 80)
    for each in range(1_000):
        rig.put(pod(f"waits-{each}", "crowd"))
    for each in range(12):
        unmet(rig, f"tenant-{each}", 1)
    await rig.after(GRACE + 5)
    assert rig.mover.tried == []
    assert rig.controller.paused
    (note,) = rig.mover.notes("EvictionsPaused")
    assert "12 of 92 pods" in note


async def test_a_namespace_goes_on_when_it_has_few_enough_after_a_new_grace_period() -> None:
    rig = two_zones(max_affected=0.1, per_minute=100)
    rig.node("gold", gold="yes", zone="c")
    calm(rig, 90)
    unmet(rig, "tenant", 10)
    await rig.after(GRACE + 5)
    assert rig.mover.tried == []
    for each in range(5):
        rig.state.remove_pod(f"tenant/tenant-{each}", f"tenant-{each}")
    await rig.after(GRACE - 1)
    assert rig.mover.tried == []
    await rig.after(5)
    assert len(rig.mover.evicted) == 5
    assert len(rig.mover.notes("EvictionsResumed")) == 1


@pytest.mark.parametrize(
    ("going", "paused", "namespaces"),
    [
        pytest.param({"a": 5, "b": 5}, False, set(), id="as many as may"),
        pytest.param({"a": 5, "b": 5, "c": 1}, True, set(), id="one more"),
        pytest.param({"a": 6}, False, {"a"}, id="one more of a namespace"),
        pytest.param({"a": 90, "b": 5}, False, {"a"}, id="a namespace counts as half at most"),
        pytest.param({"a": 90, "b": 5, "c": 1}, True, {"a"}, id="beside others that are too many"),
        pytest.param({"a": 90, "b": 90}, False, {"a", "b"}, id="two namespaces"),
        pytest.param(
            {"a": 90, "b": 90, "c": 90, "d": 5}, False, {"a", "b", "c"}, id="several count as one"
        ),
        pytest.param(
            {"a": 90, "b": 90, "c": 5, "d": 1}, True, {"a", "b"}, id="several and too many others"
        ),
    ],
)
def test_the_brake_lets_through_what_may_and_not_one_more(
    going: dict[str, int], namespaces: set[str], *, paused: bool
) -> None:
    breaker = CircuitBreaker(0.1, lambda: 100)
    breaker.look(going, 0)
    assert (breaker.pauses.all, breaker.pauses.namespaces) == (paused, frozenset(namespaces))


@pytest.mark.parametrize(
    ("share", "pods", "acknowledged", "going", "holds"),
    [
        pytest.param(0.1, 5, 0, {"a": 1}, False, id="a single pod is never too many"),
        pytest.param(0.1, 5, 0, {"a": 1, "b": 1}, True, id="of two in a small cluster each is"),
        pytest.param(0.1, 5, 0, {"a": 2}, True, id="two of a namespace are"),
        pytest.param(0.1, 5, 2, {"a": 2}, False, id="what was acknowledged is fine"),
        pytest.param(0.1, 5, 2, {"a": 3}, True, id="and nothing beyond"),
        pytest.param(1.0, 5, 0, {"a": 5}, False, id="with all of them nothing is too many"),
    ],
)
def test_at_the_ends_of_its_range_the_brake(
    share: float, pods: int, acknowledged: int, going: dict[str, int], *, holds: bool
) -> None:
    assert CircuitBreaker(share, lambda: pods).judge(going, acknowledged).hold("a") is holds


# What is told


async def test_events_name_only_pods_of_their_own_namespace() -> None:
    rig = two_zones()
    for each in range(3):
        rig.place(theirs(f"payroll-db-{each}"), "a2", owner=THEIRS)
    rig.place(pod("mine", "victim").labels(app="web"), "a2", owner="ReplicaSet/mine")
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(GRACE + 5)
    (note,) = rig.mover.notes("EvictedByAffinityRule")
    assert "is broken in zone=a by victim/mine and 3 pods of other namespaces" in note
    for occurrence in rig.mover.said:
        assert "payroll" not in occurrence.note
        assert "node b" not in occurrence.note


async def test_a_dry_run_tells_no_more() -> None:
    rig = two_zones(dry_run=True)
    rig.place(theirs("payroll-db-0"), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(GRACE + 5)
    (note,) = rig.mover.notes("WouldEvictByAffinityRule")
    assert "by 1 pod of other namespaces" in note
    assert "payroll" not in note


async def test_operators_are_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    rig = two_zones()
    rig.place(theirs("payroll-db-0"), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)
    await rig.after(GRACE + 5)
    assert "by tenant/payroll-db-0" in caplog.text
    assert "node b would take it" in caplog.text


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            NoAnswerError("/api/v1/namespaces/tenant/pods/payroll-db-0: no answer in 1 s"),
            id="no answer in time",
        ),
        pytest.param(
            ApiError(403, "Forbidden", 'pods "payroll-db-0" is forbidden in namespace "tenant"'),
            id="nobody may ask",
        ),
    ],
)
async def test_a_last_look_that_fails_names_nobody_to_a_tenant(
    error: ExtenderError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rig = two_zones()
    rig.place(theirs("payroll-db-0"), "a2", owner=THEIRS)
    await rig.after(1)
    rig.place(ALONE, "a", owner=OURS)

    def fails() -> None:
        raise error

    rig.mover.objects.meanwhile = fails
    await rig.after(GRACE + 5)
    (note,) = rig.mover.notes("NotEvictedByAffinityRule")
    assert "could not be asked" in note
    assert "payroll" not in note
    assert str(error) in caplog.text


# Who is spared


@pytest.mark.parametrize(
    "spared",
    [
        pytest.param(
            ON_SSD.annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
            id="not safe to evict",
        ),
        pytest.param(ON_SSD.annotated("karpenter.sh/do-not-disrupt", "true"), id="do not disrupt"),
        pytest.param(
            ON_SSD.annotated("descheduler.alpha.kubernetes.io/prefer-no-eviction", ""),
            id="prefers no eviction",
        ),
        pytest.param(ON_SSD.priority(SYSTEM_CRITICAL), id="critical to the cluster"),
        pytest.param(ON_SSD.priority(SYSTEM_CRITICAL + 1000), id="critical to its node"),
        pytest.param(ON_SSD.in_group("gang"), id="in a pod group"),
    ],
)
async def test_what_deschedulers_and_autoscalers_spare_is_spared(spared: Pod) -> None:
    rig = two_zones()
    rig.place(spared, "a")
    rig.node("a", zone="a")
    await rig.after(GRACE + 100)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"disk": "spared"}
    (note,) = rig.mover.notes("NotEvictedByAffinityRule")
    assert "it is not to be evicted (it" in note


async def test_pods_of_a_daemon_set_are_spared() -> None:
    rig = two_zones()
    rig.place(ON_SSD, "a", owner="DaemonSet/disk")
    rig.node("a", zone="a")
    await rig.after(GRACE + 5)
    assert rig.outcomes() == {"disk": "spared"}


@pytest.mark.parametrize(
    "not_spared",
    [
        pytest.param(
            ON_SSD.annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"),
            id="safe to evict",
        ),
        pytest.param(ON_SSD.annotated("karpenter.sh/do-not-disrupt", "false"), id="may disrupt"),
        pytest.param(ON_SSD.priority(SYSTEM_CRITICAL - 1), id="of a high priority"),
    ],
)
async def test_what_they_move_goes(not_spared: Pod) -> None:
    rig = two_zones()
    rig.place(not_spared, "a")
    rig.node("a", zone="a")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["disk"]


async def test_who_is_spared_no_more_goes() -> None:
    rig = two_zones()
    rig.place(ON_SSD.annotated("karpenter.sh/do-not-disrupt", "true"), "a")
    rig.node("a", zone="a")
    await rig.after(GRACE + 5)
    assert rig.outcomes() == {"disk": "spared"}
    rig.place(ON_SSD, "a")
    await rig.after(5)
    assert rig.mover.evicted == ["disk"]


# Controllers


@pytest.mark.parametrize("leaving", [False, True], ids=["waits", "is on its way out"])
async def test_a_pod_that_names_another_namespace_s_controller_holds_up_nobody(
    *, leaving: bool
) -> None:
    rig = two_zones()
    rig.place(ON_SSD, "a", owner="ReplicaSet/web")
    forged = pod("forged", "tenant").owned_by("ReplicaSet/web")
    rig.put(forged.on("a2").being_deleted() if leaving else forged)
    rig.node("a", zone="a")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["disk"]


async def test_a_pod_that_names_another_namespace_s_controller_replaces_nobody() -> None:
    rig = two_zones()
    for name in ("one", "two"):
        rig.place(ON_SSD, "a", name, owner="ReplicaSet/web")
    rig.node("a", zone="a")
    await rig.after(GRACE + 1)
    assert len(rig.mover.evicted) == 1
    rig.put(pod("forged", "tenant").owned_by("ReplicaSet/web").on("a2"))
    await rig.after(5)
    assert len(rig.mover.evicted) == 1


@pytest.mark.parametrize("first", [True, False])
async def test_who_has_many_pods_to_move_does_not_take_the_turns_of_others(*, first: bool) -> None:
    rig = Rig(per_minute=1)
    for name in ("a", "b"):
        rig.node(name, disk="ssd")
    few = pod("few", "tenant").requires_nodes(node_term(requirement("disk", "In", "ssd")))
    placed = [(ON_SSD, f"many-{number}") for number in range(20)]
    placed.insert(0 if first else len(placed), (few, "few"))
    for raw, name in placed:
        rig.place(raw, "a", name, owner=f"ReplicaSet/{name}")
    rig.node("a")
    await rig.after(GRACE + 3 * 60)
    assert len(rig.mover.evicted) >= 3
    assert "few" in rig.mover.evicted[:2]


async def test_none_gives_way_for_longer_to_pods_that_no_other_node_would_take() -> None:
    rig = Rig(per_minute=1)
    rig.node("a", disk="ssd", gpu="yes")
    rig.node("b", disk="ssd")
    stuck = pod("stuck", "tenant").requires_nodes(node_term(requirement("gpu", "In", "yes")))
    for number in range(40):
        rig.place(stuck, "a", f"stuck-{number}", owner=f"ReplicaSet/stuck-{number}")
    for number in range(3):
        rig.place(ON_SSD, "a", f"disk-{number}", owner=f"ReplicaSet/disk-{number}")
    rig.node("a")
    gone: list[float] = []

    def evict(_: ModelPod) -> Eviction:
        gone.append(rig.now)
        return Eviction(Evicted.DONE)

    rig.mover.answer = evict
    await rig.after(GRACE + 2 * 62)
    assert [round(after - before) for before, after in pairwise(gone)] == [61, 61]


# Limits


@pytest.mark.parametrize("pods", [1, 9, 50, 100, 12_345])
def test_a_share_of_all_pods_is_rounded_down_from_what_it_is(pods: int) -> None:
    """A share of 29 % of 100 pods is less than 29 in binary fractions."""
    for percent in range(101):
        share = RequiredDuringExecution(max_affected=f"{percent}%").share
        assert CircuitBreaker(share, lambda: pods).allowed == max(1, percent * pods // 100)
