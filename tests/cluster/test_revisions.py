"""`affinity-extender.io/revisions: Own`: a rolling update does not stand in its own way."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Victims
from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.verbs.filtering import judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.interaction import interact
from extender.core.wire.manifests import REVISIONS_ANNOTATION
from extender.diagnosis.verbs.violations import patrol
from simulation.invariants.recount import mismatches
from tests.annotating import REQUIRED, annotated, moved
from tests.annotation_questions import LIMITS
from tests.beside import covering
from tests.builders import (
    HOST,
    Json,
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    selector,
    term,
)
from tests.oracle import IN_TREE_DEFAULTS, Cluster
from tests.verbs.judging import actual_refusals, chosen_of, expected_refusals

if TYPE_CHECKING:
    pass

NODES = [node(name, {HOST: name}) for name in "ab"]
COVERED = Selector.of((Requirement("rules", Operator.IN, frozenset(("on",))),))
ALONE = term(HOST, selector(app="web"))
OTHERS = term(HOST, selector(app="db"))


def replica(
    name: str, revision: str, owner: str = "ReplicaSet/web", key: str = "pod-template-hash"
) -> Pod:
    """Return a controller's pod that keeps pods with the same label off its node."""
    suffix = f"-{revision}" if owner.startswith("ReplicaSet") else ""
    made = pod(name).labels({"app": "web", key: revision}).owned_by(f"{owner}{suffix}")
    return made.anti_affinity(ALONE)


def own(made: Pod) -> Pod:
    return made.annotated(REVISIONS_ANNOTATION, "Own")


def space(*, annotated: bool = False, covered: bool = True) -> Json:
    made = namespace("default", {"rules": "on"} if covered else {})
    if annotated:
        made["metadata"]["annotations"] = {REVISIONS_ANNOTATION: "Own"}
    return made


def cluster(*pods: Json, where: Json | None = None, replaces: bool = True) -> ClusterState:
    """Return a state of two nodes."""
    state = ClusterState(scope=covering(COVERED, replaces=replaces))
    for each in NODES:
        state.upsert_node(model_node(each))
    state.upsert_namespace(model_namespace(where or space()))
    for raw in pods:
        state.upsert_pod(model_pod(raw))
    return state


def fits(state: ClusterState, incoming: Json, plugin: InterPodAffinity | None = None) -> str:
    """Return the nodes that a pod may go to, of a state with sound counters."""
    assert mismatches(state) == []
    asked = state.nodes.asked(["a", "b"])
    return "".join(
        judge(state, model_pod(incoming), asked, [plugin or InterPodAffinity()]).fits.names
    )


OLD, NEW = replica("old", "5d").on("a"), replica("new", "7f")


@pytest.mark.parametrize(
    ("there", "incoming", "where", "expected"),
    [
        pytest.param(OLD, NEW, space(), "b", id="nobody asks for it"),
        pytest.param(OLD, own(NEW), space(), "ab", id="the incoming pod asks for it"),
        pytest.param(own(OLD), NEW, space(), "ab", id="the placed pod asks for it"),
        pytest.param(OLD, NEW, space(annotated=True), "ab", id="the namespace asks for it"),
        pytest.param(OLD, own(NEW), space(covered=False), "b", id="annotations do not count there"),
        pytest.param(
            OLD, NEW, space(annotated=True, covered=False), "b", id="nor that of the namespace"
        ),
        pytest.param(
            OLD, own(replica("new", "5d")), space(annotated=True), "b", id="the same revision"
        ),
        pytest.param(
            OLD,
            own(replica("new", "7f", "ReplicaSet/shop")),
            space(annotated=True),
            "b",
            id="another workload",
        ),
        pytest.param(
            OLD,
            own(pod("new").labels(app="web").anti_affinity(ALONE)),
            space(annotated=True),
            "b",
            id="a pod without a controller",
        ),
        pytest.param(
            replica("old", "1", "StatefulSet/web", "controller-revision-hash").on("a"),
            own(replica("new", "2", "StatefulSet/web", "controller-revision-hash")),
            space(),
            "ab",
            id="a StatefulSet",
        ),
        pytest.param(
            replica("old", "5d", key="rollouts-pod-template-hash").on("a"),
            own(replica("new", "7f", key="rollouts-pod-template-hash")),
            space(),
            "ab",
            id="a Rollout of Argo",
        ),
        pytest.param(
            replica("old", "1", "CloneSet/web", "controller-revision-hash")
            .labels({"pod-template-hash": ""})
            .on("a"),
            own(
                replica("new", "2", "CloneSet/web", "controller-revision-hash").labels(
                    {"pod-template-hash": ""}
                )
            ),
            space(),
            "ab",
            id="an empty label beside the one that tells",
        ),
        pytest.param(
            replica("old", "5d", "ReplicaSet/web").labels(app="db").on("a"),
            own(NEW.anti_affinity(OTHERS)),
            space(),
            "b",
            id="a rule that is not about the pod itself",
        ),
        pytest.param(
            OLD,
            own(NEW.anti_affinity({**ALONE, "namespaceSelector": {}})),
            space(),
            "ab",
            id="a rule about all namespaces",
        ),
        pytest.param(moved(OLD), own(Pod(moved(NEW))), space(), "ab", id="rules in annotations"),
        pytest.param(
            OLD,
            Pod(moved(own(NEW).anti_affinity({**ALONE, "maxMatchingPods": 1}))),
            space(),
            "ab",
            id="a limit beside",
        ),
    ],
)
def test_pods_of_one_workload_do_not_keep_other_revisions_away(
    there: Json, incoming: Json, where: Json, expected: str
) -> None:
    state = cluster(there, where=where)
    assert fits(state, incoming) == expected
    in_the_way = interact(state, model_pod(incoming).pod_class, model_pod(there).pod_class)
    assert in_the_way is (expected == "b")


def test_pods_of_other_workloads_keep_a_new_revision_away_as_before() -> None:
    state = cluster(OLD, pod("db").labels(app="db").anti_affinity(ALONE).on("b"))
    assert fits(state, own(NEW)) == "a"


def test_pods_of_other_revisions_do_not_count_for_a_limit_either() -> None:
    limit = {"podAntiAffinity": {REQUIRED: [{**ALONE, "maxMatchingPods": 1}]}}
    labels, plain = {"app": "web", "pod-template-hash": "5d"}, pod("old").on("a")
    state = cluster(plain.labels(labels).owned_by("ReplicaSet/web-5d"))
    for number, (hash_, expected) in enumerate((("7f", "ab"), ("5d", "b"))):
        made = pod(f"new-{number}").labels(labels | {"pod-template-hash": hash_})
        incoming = annotated(own(made.owned_by(f"ReplicaSet/web-{hash_}")), limit)
        asked = state.nodes.asked(["a", "b"])
        assert "".join(judge(state, model_pod(incoming), asked, LIMITS).fits.names) == expected


def test_when_the_old_pods_are_gone_the_rule_holds_for_all() -> None:
    state = cluster(OLD, own(replica("first", "7f")).on("a"))
    assert fits(state, own(NEW)) == "b"
    state.remove_pod("default/old", "default-old")
    assert fits(state, own(NEW)) == "b"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(own(NEW), "b", id="spec"),
        pytest.param(Pod(moved(own(NEW))), "b", id="annotation, and the spec of a placed pod"),
    ],
)
def test_where_the_scheduler_enforces_specs_their_rules_are_as_it_knows_them(
    made: Json, expected: str
) -> None:
    # What is said of all rules, as by `explain`; in `assist` only annotations are judged.
    state = cluster(OLD, replaces=False)
    assert fits(state, made) == expected
    state = cluster(moved(OLD), replaces=False)
    assert fits(state, Pod(moved(own(NEW))), InterPodAffinity(of_annotations=True)) == "ab"


def test_edits_count_at_once_whoever_makes_them() -> None:
    state = cluster(OLD, where=space(covered=False))
    assert fits(state, NEW) == "b"
    for where, expected in (
        (space(), "b"),
        (space(annotated=True), "ab"),
        (space(annotated=True, covered=False), "b"),
        (space(annotated=True), "ab"),
        (space(), "b"),
    ):
        state.upsert_namespace(model_namespace(where))
        assert fits(state, NEW) == expected
    for placed, expected in ((own(OLD), "ab"), (OLD, "b"), (own(OLD), "ab")):
        state.upsert_pod(model_pod(placed))
        assert fits(state, NEW) == expected
    # The name of its ReplicaSet tells of another workload, once its label is edited.
    state.upsert_pod(model_pod(own(OLD.labels({"pod-template-hash": "7f"}))))
    assert fits(state, NEW) == "b"
    state.upsert_pod(model_pod(own(OLD)))
    assert fits(state, NEW) == "ab"
    state.remove_namespace("default")
    assert fits(state, NEW) == "b"


def test_neither_of_two_revisions_breaks_a_rule() -> None:
    state = cluster(OLD, own(NEW.on("a")))
    assert [found for step in patrol(state, 1) for found in step] == []


def test_preemption_spares_pods_of_another_revision() -> None:
    other = pod("db").labels(app="db").anti_affinity(ALONE).on("a")
    for incoming, victims in ((NEW, ["default-db", "default-old"]), (own(NEW), ["default-db"])):
        state = cluster(OLD, other)
        asking = model_pod(incoming.priority(5))
        (chosen,) = chosen_of(
            state, asking, {"a": Victims((), 0)}, [InterPodAffinity()], may_be_empty=False
        ).values()
        assert sorted(chosen.uids) == victims


def test_a_reserved_place_is_no_exception() -> None:
    state = cluster()
    state.reserve(model_pod(replica("old", "5d")), "a", deadline=180.0)
    assert (fits(state, NEW), fits(state, own(NEW))) == ("b", "ab")


NAMES = ("a", "b")


@pytest.mark.parametrize("seed", range(20))
def test_streams_of_edits_are_answered_as_if_they_had_always_been_so(seed: int) -> None:
    dice = random.Random(seed)
    state, pods, where = cluster(), dict[str, Json](), space()
    for number in range(60):
        if dice.random() < 0.15:
            where = space(annotated=dice.random() < 0.5, covered=dice.random() < 0.8)
            state.upsert_namespace(model_namespace(where))
        name = f"pod-{dice.randrange(6)}"
        if name in pods and dice.random() < 0.3:
            state.remove_pod(f"default/{name}", f"default-{name}")
            del pods[name]
        else:
            pods[name] = _drawn(dice, name, pods.get(name))
            state.upsert_pod(model_pod(pods[name]))
        asking = _drawn(dice, f"asking-{number}", None)
        asking["spec"].pop("nodeName", None)
        assert mismatches(state) == []
        seen = Cluster(NODES, [where], [*pods.values()])
        if "rules" not in where["metadata"]["labels"]:
            seen = Cluster(NODES, [space()], [*map(_plain, pods.values())])
        told = asking if "rules" in where["metadata"]["labels"] else _plain(asking)
        assert actual_refusals(state, asking, NAMES) == expected_refusals(
            seen, told, NAMES, IN_TREE_DEFAULTS
        )


def _drawn(dice: random.Random, name: str, before: Json | None) -> Pod:
    revision, workload = dice.choice(("5d", "7f")), dice.choice(("web", "shop"))
    made = replica(name, revision, f"ReplicaSet/{workload}").on(dice.choice(NAMES))
    if dice.random() < 0.3:
        made = made.labels(app=dice.choice(("web", "db"))).anti_affinity(OTHERS)
    if before is not None:
        made = Pod({**made, "spec": before["spec"]})
    return own(made) if dice.random() < 0.4 else made


def _plain(made: Json) -> Json:
    metadata: dict[str, Any] = {**made["metadata"]}
    metadata.pop("annotations", None)
    return {**made, "metadata": metadata}
