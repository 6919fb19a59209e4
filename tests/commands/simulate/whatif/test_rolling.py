"""Updates turn by turn: never fewer pods than may be, nor more, and stuck where they get stuck."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affinityctl.commands.simulate.applied import SimulationReader, apply, known_of
from affinityctl.commands.simulate.whatif.outcome import Update
from affinityctl.commands.simulate.whatif.rolling import Version, roll
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.reading.strategies import rollout
from extender.core.model.labels import TEMPLATE_HASH
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.stepping import at_once
from extender.core.wire.manifests import REVISIONS_ANNOTATION
from extender.diagnosis.wire.workloads import read_workload
from tests.builders import HOST, Pod, node, node_term, pod, selector, term, workload
from tests.commands.simulate.whatif.cases import ROOM, scheduler_of

WEB = selector(app="web")
WITH_KEY: dict[str, Any] = {"matchLabelKeys": [TEMPLATE_HASH]}


def nodes(number: int, room: dict[str, str] | None = None) -> list[Any]:
    return [node(f"n{each}", {HOST: f"n{each}"}, room or ROOM) for each in range(number)]


def template(*, apart: bool = True, **of_the_term: Any) -> Pod:
    made = pod("t").labels(app="web").requests(cpu="100m")
    return made.anti_affinity(term(HOST, WEB, **of_the_term)) if apart else made


def replicas(made: Pod, on: Sequence[str], owner: str = "ReplicaSet/web-old") -> list[Pod]:
    old = made.labels({TEMPLATE_HASH: "old"}).owned_by(owner)
    pods = []
    for number, name in enumerate(on):
        each = Pod(old | {"metadata": old["metadata"] | {"name": f"web-{number}"}})
        pods.append(each.uid(f"u{number}").on(name) if name else each.uid(f"u{number}"))
    return pods


def updated(
    scheduler: Scheduler,
    kind: str,
    made: Pod,
    old: Sequence[ModelPod] | None = None,
    /,
    **spec: Any,
) -> Update:
    """Update pods of a cluster to a template, all of them if none are given."""
    raw = json.dumps(workload(kind, "web", made, **spec)).encode()
    old = [*scheduler.state.pods.values()] if old is None else old
    asked = read_workload(kind, raw)
    make = apply(asked, SimulationReader(), 3, "new").make
    scheduler.workloads[asked.identity] = known_of(asked)
    looks = roll(scheduler, Version("web", kind, make, rollout(asked, len(old))), old)
    update = at_once(looks).update
    assert isinstance(update, Update)
    return update


SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
NO_SURGE = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


@pytest.mark.parametrize(
    ("made", "number", "spec", "stuck"),
    [
        pytest.param(template(), 3, {"strategy": SURGE}, True, id="no node is left for the surge"),
        pytest.param(
            template(**WITH_KEY), 3, {"strategy": SURGE}, False, id="versions may share a node"
        ),
        pytest.param(
            template().annotated(REVISIONS_ANNOTATION, "Own"),
            3,
            {"strategy": SURGE},
            False,
            id="each revision counts its own",
        ),
        pytest.param(template(), 4, {"strategy": SURGE}, False, id="a node is free"),
        pytest.param(template(), 3, {"strategy": NO_SURGE}, False, id="an old pod goes first"),
        pytest.param(template(), 3, {}, True, id="25% of 3 pods is no pod that may be away"),
        pytest.param(template(), 3, {"strategy": {"type": "Recreate"}}, False, id="recreated"),
        pytest.param(
            template().requests(cpu="3"), 3, {"strategy": NO_SURGE}, True, id="too large for any"
        ),
    ],
)
def test_deployments(made: Pod, number: int, spec: dict[str, Any], stuck: bool) -> None:
    old = replicas(template(), ["n0", "n1", "n2"])
    if "matchLabelKeys" in str(made):
        old = replicas(made, ["n0", "n1", "n2"])
    scheduler = scheduler_of(nodes(number), [], old)
    update = updated(scheduler, "Deployment", made, replicas=3, **spec)
    assert (update.stuck is not None) is stuck
    if not stuck:
        assert {each.pod_class.labels[TEMPLATE_HASH] for each in scheduler.state.pods.values()} == {
            "new"
        }


def test_pods_that_are_being_deleted_are_gone_before_recreated_ones_come() -> None:
    """As oldPodsRunning of the Deployment controller."""
    first, second, third = replicas(template(), ["n0", "n1", "n2"])
    third["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scheduler = scheduler_of(nodes(3), [], [first, second, third])
    raw = workload("Deployment", "web", template(), replicas=3, strategy={"type": "Recreate"})
    asked = read_workload("Deployment", json.dumps(raw).encode())
    make = apply(asked, SimulationReader(), 3, "new").make
    old = [pod for pod in scheduler.state.pods.values() if not pod.status.deleting]
    update = at_once(roll(scheduler, Version("web", "Deployment", make, rollout(asked, 2)), old))
    assert update.update is not None
    assert update.update.stuck is None
    assert {pod.node for pod in scheduler.state.pods.values()} == {"n0", "n1", "n2"}
    assert all(pod.node for pod in scheduler.state.pods.values())


@pytest.mark.parametrize(
    ("room", "asks", "eased"),
    [
        pytest.param({"pods": "1"}, "100m", True, id="an old pod leaves its place"),
        pytest.param({"cpu": "150m"}, "100m", True, id="and its cpu"),
        pytest.param({"cpu": "150m"}, "200m", False, id="which is too little"),
        pytest.param({"pods": "2"}, "100m", False, id="nothing is stuck"),
    ],
)
def test_it_is_known_whether_it_would_help_if_an_old_pod_went_first(
    room: dict[str, str], asks: str, eased: bool
) -> None:
    old = replicas(template(apart=False), ["n0", "n1", "n2"])
    scheduler = scheduler_of(nodes(3, ROOM | room), [], old)
    made = pod("t").labels(app="web").requests(cpu=asks)
    update = updated(scheduler, "Deployment", made, replicas=3, strategy=SURGE)
    assert update.eased is eased
    if update.stuck is not None:
        assert update.kept == ["default/web-0", "default/web-1", "default/web-2"]
        assert {pod.node for pod in scheduler.state.pods.values()} == {"n0", "n1", "n2", None}
        assert [pod.key for pod in scheduler.waiting] == ["default/web-new-1"]


def test_it_says_who_waits_for_whom() -> None:
    scheduler = scheduler_of(nodes(3), [], replicas(template(), ["n0", "n1", "n2"]))
    update = updated(scheduler, "Deployment", template(), replicas=3, strategy=SURGE)
    assert update.stuck == (
        "after 1 step: default/web-0, default/web-1, default/web-2 stay until default/web-new-1 "
        "runs, and default/web-new-1 waits for them to go"
    )
    assert update.waits == ["default/web-new-1"]
    assert update.kept == ["default/web-0", "default/web-1", "default/web-2"]


@pytest.mark.parametrize(
    ("unavailable", "gone"),
    [(1, ["web-2"]), (2, ["web-2", "web-3"]), (3, ["web-2", "web-3", "web-0"])],
)
def test_old_pods_that_wait_go_first_and_do_not_count_as_available(
    unavailable: int, gone: list[str]
) -> None:
    made = template(apart=False)
    old = replicas(made, ["n0", "n1", "", ""])
    scheduler = scheduler_of(nodes(2, ROOM | {"pods": "1"}), [], old)
    limits = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": unavailable}}
    update = updated(scheduler, "Deployment", made, replicas=4, strategy=limits)
    assert [each.pod.partition("/")[2] for each in update.steps[0].removed] == gone
    running = {"default/web-0", "default/web-1"} - {f"default/{name}" for name in gone}
    assert {*update.kept} <= running, "old pods that wait keep no other from a node"


def test_of_old_pods_the_one_that_shares_its_node_with_a_new_one_goes_first() -> None:
    made = template(apart=False)
    (small,), (_, large) = nodes(1, ROOM | {"pods": "1"}), nodes(2)
    scheduler = scheduler_of([small, large], [], replicas(made, ["n0", "n1"]))
    update = updated(scheduler, "Deployment", made, replicas=2, strategy=SURGE)
    assert [each.pod for step in update.steps for each in step.removed] == [
        "default/web-1",
        "default/web-0",
    ]


def test_only_the_old_pods_are_named_that_keep_the_new_one_away() -> None:
    tiny = node("n2", {}, ROOM | {"cpu": "200m"})
    old = replicas(template(apart=False), ["n0", "n1", "n2"])
    scheduler = scheduler_of([*nodes(2), tiny], [], old)
    made = template().requests(cpu="1")
    update = updated(scheduler, "Deployment", made, replicas=3, strategy=SURGE)
    assert update.kept == ["default/web-0", "default/web-1"]


def test_all_old_pods_are_gone_before_a_recreated_one_comes() -> None:
    old = replicas(template(), ["n0", "n1", "n2"])
    scheduler = scheduler_of(nodes(3), [], old)
    strategy = {"type": "Recreate"}
    update = updated(scheduler, "Deployment", template(), replicas=2, strategy=strategy)
    assert [(len(each.removed), len(each.created)) for each in update.steps] == [(3, 0), (0, 2)]


def test_a_daemon_set_with_room_surges_on_every_node() -> None:
    made = template(apart=False)
    scheduler = scheduler_of(nodes(3), [], replicas(made, ["n0", "n1", "n2"], "DaemonSet/web"))
    strategy = {"rollingUpdate": {"maxSurge": 1}}
    update = updated(scheduler, "DaemonSet", made, updateStrategy=strategy)
    assert [len(each.removed) for each in update.steps] == [0, 1, 0, 1, 0, 1]
    assert update.stuck is None


def test_a_stateful_set_stops_at_the_first_pod_that_finds_no_node() -> None:
    old = replicas(template(apart=False), ["n0", "n1", "n2"], "StatefulSet/web")
    scheduler = scheduler_of(nodes(3), [], old)
    update = updated(scheduler, "StatefulSet", template().requests(cpu="3"), replicas=3)
    assert [each.removed[0].pod for each in update.steps] == ["default/web-2"]
    assert update.waits == ["default/web-2"]
    assert update.stuck is not None


def test_a_stateful_set_keeps_what_is_below_its_partition() -> None:
    old = replicas(template(), ["n0", "n1", "n2"], "StatefulSet/web")
    scheduler = scheduler_of(nodes(3), [], old)
    strategy = {"rollingUpdate": {"partition": 2}}
    update = updated(scheduler, "StatefulSet", template(), replicas=3, updateStrategy=strategy)
    assert [each.removed[0].pod for each in update.steps] == ["default/web-2"]
    assert update.stuck is None


def in_order(on: Sequence[str], size: str = "100m") -> list[Pod]:
    return replicas(template(apart=False).requests(cpu=size), on, "StatefulSet/web")


def test_with_two_unavailable_a_stateful_set_creates_the_lower_ordinal_first() -> None:
    scheduler = scheduler_of(nodes(3), [], in_order(["n0", "n1", "n2"]))
    strategy = {"rollingUpdate": {"maxUnavailable": 2}}
    made = template(apart=False)
    update = updated(scheduler, "StatefulSet", made, replicas=3, updateStrategy=strategy)
    turns = [
        ([each.pod[-1] for each in t.removed], [k[-1] for k in t.created]) for t in update.steps
    ]
    assert turns == [(["2", "1"], ["1"]), ([], ["2"]), (["0"], ["0"])]


@pytest.mark.parametrize(
    ("policy", "stuck"),
    [
        pytest.param(
            {},
            "after 0 steps: the StatefulSet controller waits for default/web-1, which has no node; "
            "delete that pod",
            id="in order, a pod that waits has to be deleted by hand",
        ),
        pytest.param({"podManagementPolicy": "Parallel"}, None, id="in parallel it goes first"),
    ],
)
def test_a_stateful_set_is_updated_past_a_pod_that_waits(
    policy: dict[str, str], stuck: str | None
) -> None:
    old = in_order(["n0", "", "n1"], size="1500m")
    scheduler = scheduler_of(nodes(2), [], old)
    made = template(apart=False).requests(cpu="200m")
    update = updated(scheduler, "StatefulSet", made, replicas=3, **policy)
    assert update.stuck == stuck


def test_an_old_pod_that_a_new_one_preempts_leaves_no_trace() -> None:
    (old,) = replicas(template(apart=False).requests(cpu="1500m"), ["n0"])
    scheduler = scheduler_of(nodes(1), [], [old])
    made = template(apart=False).requests(cpu="1500m").priority(10)
    update = updated(scheduler, "Deployment", made, replicas=1, strategy=SURGE)
    assert update.stuck is None
    assert [*scheduler.state.pods] == ["default/web-new-1"]


def test_of_old_replica_sets_the_oldest_goes_first() -> None:
    old = [
        each.created(f"2026-01-0{4 - number}T00:00:00Z")
        for number, each in enumerate(replicas(template(apart=False), ["n0", "n1"]))
    ]
    old[0] = old[0].owned_by("ReplicaSet/web-later")
    scheduler = scheduler_of(nodes(3), [], old)
    update = updated(scheduler, "Deployment", template(apart=False), replicas=2, strategy=SURGE)
    gone = [each.pod for step in update.steps for each in step.removed]
    assert gone == ["default/web-1", "default/web-0"]


def test_a_daemon_set_goes_node_by_node_and_surges_where_it_may() -> None:
    port = pod("t").labels(app="web").host_port(8080)
    for strategy, stuck in (({}, False), ({"rollingUpdate": {"maxSurge": 1}}, True)):
        old = replicas(port, ["n0", "n1"], "DaemonSet/web")
        scheduler = scheduler_of(nodes(2), [], old)
        update = updated(scheduler, "DaemonSet", port, updateStrategy=strategy)
        assert (update.stuck is not None) is stuck, "two pods have no room for one port"


@pytest.mark.parametrize(
    ("unready", "strategy", "gone", "stuck"),
    [
        pytest.param("", {"maxSurge": 1}, [], True, id="the port is taken by a sound pod"),
        pytest.param("n0", {"maxSurge": 1}, ["n0"], True, id="not by one that is not ready"),
        pytest.param("n0 n1 n2", {"maxSurge": 1}, ["n0", "n1", "n2"], False, id="as all are"),
        pytest.param("n0 n1", {}, ["n0", "n1"], True, id="they go beyond maxUnavailable too"),
    ],
)
def test_pods_of_a_daemon_set_that_are_not_ready_are_replaced_at_once(
    unready: str, strategy: dict[str, Any], gone: list[str], *, stuck: bool
) -> None:
    port = pod("t").labels(app="web").host_port(8080)
    old = [
        each.ready(yes=each["spec"]["nodeName"] not in unready.split())
        for each in replicas(port, ["n0", "n1", "n2"], "DaemonSet/web")
    ]
    there = nodes(3)
    if not strategy:
        there[0]["status"]["allocatable"]["cpu"] = "100m"
        port = port.requests(cpu="1")
    scheduler = scheduler_of(there, [], old)
    update = updated(scheduler, "DaemonSet", port, updateStrategy={"rollingUpdate": strategy})
    where = {f"default/web-{number}": f"n{number}" for number in range(3)}
    assert [where[each.pod] for step in update.steps for each in step.removed] == gone
    assert (update.stuck is not None) is stuck


TAINT = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("asks", "taints", "left", "stuck"),
    [
        pytest.param({}, [], ["n0", "n1", "n2"], False, id="it comes to a node without one"),
        pytest.param({"disk": "ssd"}, [], ["n1"], False, id="and leaves nodes not asked for"),
        pytest.param(
            {}, [TAINT | {"key": "dedicated"}], ["n1", "n2"], False, id="and those with a taint"
        ),
        pytest.param({}, [TAINT], ["n1", "n2"], True, id="on a dead one, its pod does not go"),
    ],
)
def test_an_update_of_a_daemon_set_goes_by_the_nodes_that_its_template_wants(
    asks: dict[str, str], taints: list[Any], left: list[str], *, stuck: bool
) -> None:
    there = [
        node("n0", {HOST: "n0"}, ROOM, taints),
        node("n1", {HOST: "n1", "disk": "ssd"}, ROOM),
        node("n2", {HOST: "n2"}, ROOM),
    ]
    made = template(apart=False)
    scheduler = scheduler_of(there, [], replicas(made, ["n0", "n1"], "DaemonSet/web"))
    update = updated(scheduler, "DaemonSet", made.selects(**asks))
    found = [each for each in scheduler.state.pods.values() if each.node]
    assert (update.stuck is not None) is stuck
    assert sorted(str(each.node) for each in found) == left
    old = [each.node for each in found if TEMPLATE_HASH in each.pod_class.labels]
    assert old == (["n1"] if stuck else [])


def test_a_daemon_set_is_updated_on_cordoned_nodes_as_well() -> None:
    made = template(apart=False)
    cordoned = nodes(2)
    cordoned[0]["spec"]["unschedulable"] = True
    scheduler = scheduler_of(cordoned, [], replicas(made, ["n0", "n1"], "DaemonSet/web"))
    update = updated(scheduler, "DaemonSet", made)
    assert (update.stuck, len(update.steps)) == (None, 2)


def test_the_pod_of_a_daemon_set_that_waits_for_its_node_is_replaced_first_and_there() -> None:
    large = template(apart=False).requests(cpu="1500m")
    waits = large.requires_nodes(node_term(In="n1"))
    old = [*replicas(large, ["n0"], "DaemonSet/web"), *replicas(waits, [""], "DaemonSet/web")]
    old[1] = Pod(old[1] | {"metadata": old[1]["metadata"] | {"name": "late", "uid": "late"}})
    full = [pod("full").requests(cpu="1").on("n1")]
    for others, small, steps in ((full, "1500m", 1), (full, "100m", 2)):
        scheduler = scheduler_of(nodes(2), [], [*old, *others])
        mine = [each for each in scheduler.state.pods.values() if each.spec.owner]
        update = updated(scheduler, "DaemonSet", template(apart=False).requests(cpu=small), mine)
        assert update.steps[0].created == ["default/web-new-1@n1"]
        assert len(update.steps) == steps, update.stuck


@given(
    wanted=st.integers(1, 6),
    number=st.integers(1, 7),
    surge=st.integers(0, 3),
    unavailable=st.integers(0, 3),
    apart=st.booleans(),
)
def test_a_deployment_keeps_within_its_limits_and_ends(
    wanted: int, number: int, surge: int, unavailable: int, apart: bool
) -> None:
    on = [f"n{each % number}" for each in range(wanted)]
    if apart and wanted > number:
        return
    scheduler = scheduler_of(nodes(number, ROOM | {"pods": "2"}), [], replicas(template(), on))
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    update = updated(
        scheduler,
        "Deployment",
        template(apart=apart),
        replicas=wanted,
        strategy={"rollingUpdate": limits},
    )
    least = wanted - (unavailable or int(not surge))
    running = there = wanted
    for step in update.steps:
        running += len(step.placed) - len(step.removed)
        there += len(step.created) - len(step.removed)
        assert there <= wanted + surge
        if step.removed:
            assert running >= least
    if update.stuck is None:
        assert running == there == wanted
