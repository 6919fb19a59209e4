"""`affinity-extender.io/revisions: Own` while pods run."""

from __future__ import annotations

from collections import deque

from extender.core.cluster.state import ClusterState
from extender.core.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.core.wire.manifests import REVISIONS_ANNOTATION
from extender.features.moving.rules.breaches import breaches, suspects
from extender.features.moving.rules.execution import Execution
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
from tests.features.moving.booked import books_over

COVERED = Selector.of((Requirement("rules", Operator.IN, frozenset(("on",))),))
ALONE = term(HOST, selector(app="web"))


def replica(name: str, revision: str) -> Pod:
    """Return a pod of a Deployment's revision that keeps pods with the same label off its node."""
    made = pod(name).labels({"app": "web", "pod-template-hash": revision})
    return made.owned_by(f"ReplicaSet/web-{revision}").anti_affinity(ALONE)


def own(made: Pod) -> Pod:
    return made.annotated(REVISIONS_ANNOTATION, "Own")


OLD, NEW = replica("old", "5d").on("a"), replica("new", "7f")


def test_while_pods_run_the_annotation_decides_whether_a_rule_is_broken() -> None:
    state = ClusterState(scope=covering(COVERED))
    watch = books_over(state, Execution(plain=EVERYTHING)).watch
    state.upsert_namespace(model_namespace(namespace("default", {"rules": "on"})))
    state.upsert_node(model_node(node("a", {HOST: "a"})))

    def broken(*pods: Json) -> set[str]:
        for raw in pods:
            state.upsert_pod(model_pod(raw))
        while watch.pending:
            deque(suspects(watch, 1000), maxlen=0)
        every = [*state.pods.values()]
        return {str(each.key) for each in every if [*breaches(watch, each)]}

    both = {"default/old", "default/new"}
    assert broken(OLD, NEW.on("a")) == both
    assert broken(own(NEW).on("a")) == set()
    assert broken(NEW.on("a")) == both
