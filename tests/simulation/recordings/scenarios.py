"""The scenarios: small enough that only one order of things is right."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, pod, term
from tests.e2e.objects import node as roomy_node
from tests.simulation.recordings.scripts import (
    Scenario,
    Step,
    bind,
    create,
    delete,
    hold,
    lose,
    quiet,
    relabel,
    release,
    remove,
    restart_scheduler,
    spoil,
    until,
)

DB, WEB, CREW = {"app": "db"}, {"app": "web"}, {"app": "crew"}
LOW, MIDDLE, HIGH = 10, 20, 1000
RED: Final = {"namespaceSelector": {"matchLabels": {"team": "red"}}}


def node(name: str, zone: str = "z", cpu: int = 4) -> JSON:
    """Return a node."""
    built = roomy_node(name, zone)
    room = {**built["status"]["allocatable"], "cpu": str(cpu)}
    return built | {"status": built["status"] | {"capacity": room, "allocatable": room}}


def sized(built: JSON, milli: int, priority: int = 0) -> JSON:
    """Return a pod that needs processors, with a priority."""
    resources = {"requests": {"cpu": f"{milli}m"}}
    containers = [{**each, "resources": resources} for each in built["spec"]["containers"]]
    return built | {"spec": built["spec"] | {"containers": containers, "priority": priority}}


def web(name: str, **more: Any) -> JSON:
    """Return a pod that excludes its like by host."""
    return pod(name, labels=WEB, apart=[term(HOSTNAME, WEB)], **more)


def loner(name: str) -> JSON:
    """Return a pod that wants no database on its host."""
    return pod(name, apart=[term(HOSTNAME, DB)])


def crew(name: str) -> JSON:
    """Return a pod that must share a zone with its like."""
    return pod(name, labels=CREW, near=[term(ZONE, CREW)])


def db(name: str, on: str) -> JSON:
    """Return a database that has a place."""
    return pod(name, labels=DB, on=on)


def placed(name: str) -> Step:
    """Wait until a pod is bound."""
    return until(name, "bound")


def refused(name: str) -> Step:
    """Wait until a pod is told that there is no place for it."""
    return until(name, "Unschedulable")


PREEMPTION: Final = (
    *(node("n1", cpu=1), node("n2", cpu=1)),
    sized(pod("victim", on="n1"), 800, LOW),
    sized(pod("dearer", on="n2"), 800, MIDDLE),
)
SHOP: Final = (
    *(node("n1"), node("n2"), namespace("shop", team="red")),
    *(pod(f"db-{n}", "shop", labels=DB, on=n) for n in ("n1", "n2")),
)

SCENARIOS: Final = (
    Scenario(
        "a-pod-that-fits",
        (node("n1"), node("n2"), node("n3")),
        (create(pod("web")), placed("web")),
    ),
    Scenario(
        "a-pod-that-fits-on-one-node-is-not-scored",
        (node("n1"), node("n2"), db("db", "n1")),
        (create(loner("web")), placed("web")),
    ),
    Scenario(
        "two-exclusive-pods-at-once",
        (node("n1"),),
        (
            hold("bind", "w1"),
            create(web("w1")),
            until("w1", "bind"),
            create(web("w2")),
            placed("w2"),
            release("bind", "w1"),
            refused("w1"),
        ),
    ),
    Scenario(
        "two-binding-cycles-overlap",
        (node("n1"), node("n2")),
        (
            hold("bind", "w1"),
            hold("bind", "w2"),
            create(pod("w1")),
            until("w1", "bind"),
            create(pod("w2")),
            until("w2", "bind"),
            release("bind", "w2"),
            placed("w2"),
            release("bind", "w1"),
            placed("w1"),
        ),
    ),
    Scenario(
        "a-deletion-wakes-a-refused-pod",
        (node("n1"), db("db", "n1")),
        (create(loner("web")), refused("web"), quiet(), remove("db"), placed("web")),
    ),
    Scenario(
        "a-refused-pod-is-woken-by-a-pod-that-changes-nothing",
        (node("n1"), db("db", "n1")),
        (
            create(loner("web")),
            refused("web"),
            quiet(),
            create(pod("other")),
            placed("other"),
        ),
    ),
    Scenario(
        "an-added-node-wakes-a-refused-pod",
        (node("n1"), db("db", "n1")),
        (create(loner("web")), refused("web"), quiet(), create(node("n2")), placed("web")),
    ),
    Scenario(
        "the-first-pod-of-a-group",
        (node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")),
        (create(crew("c1")), placed("c1"), quiet(), create(crew("c2")), placed("c2")),
    ),
    Scenario(
        "filter-answers-an-error",
        (node("n1"), node("n2")),
        (spoil("filter", "web"), create(pod("web")), placed("web")),
    ),
    Scenario(
        "the-answer-of-filter-is-lost",
        (node("n1"), node("n2")),
        (lose("filter", "web"), create(pod("web")), placed("web")),
    ),
    Scenario(
        "the-answer-of-prioritize-is-lost",
        (node("n1"), node("n2")),
        (lose("prioritize", "web"), create(pod("web")), placed("web")),
    ),
    Scenario(
        "the-answer-of-bind-is-lost",
        (node("n1"), node("n2")),
        (lose("bind", "web"), create(pod("web")), placed("web")),
    ),
    Scenario(
        "bind-answers-an-error",
        (node("n1"), node("n2")),
        (spoil("bind", "web"), create(pod("web")), placed("web")),
    ),
    Scenario(
        "two-errors-and-the-back-off-grows",
        (node("n1"),),
        (
            spoil("filter", "web"),
            create(pod("web")),
            until("web", "filter 1: error"),
            spoil("filter", "web"),
            placed("web"),
        ),
    ),
    Scenario(
        "bind-meets-a-pod-that-somebody-else-has-bound",
        (node("n1"), node("n2"), db("db", "n2")),
        (
            hold("bind", "web"),
            create(loner("web")),
            until("web", "bind"),
            bind("web", "n2"),
            placed("web"),
            release("bind", "web"),
        ),
    ),
    Scenario(
        "a-pod-is-deleted-between-filter-and-bind",
        (node("n1"), node("n2")),
        (
            hold("bind", "web"),
            create(pod("web")),
            until("web", "bind"),
            delete("web"),
            until("web", "gone"),
            release("bind", "web"),
        ),
    ),
    Scenario(
        "a-pod-is-replaced-by-its-namesake-before-its-bind",
        (node("n1"), node("n2")),
        (
            hold("bind", "web"),
            create(pod("web")),
            until("web", "bind"),
            delete("web"),
            until("web", "gone"),
            create(pod("web")),
            until("web", "bind", 2),
            placed("web"),
            release("bind", "web"),
        ),
    ),
    Scenario(
        "preemption-of-one-victim-that-ends-slowly",
        PREEMPTION,
        (
            create(sized(pod("urgent"), 800, HIGH)),
            until("victim", "deleting"),
            until("urgent", "nominated"),
            quiet(),
            remove("victim"),
            placed("urgent"),
        ),
    ),
    Scenario(
        "a-nominated-pod-goes-where-there-is-a-place-sooner",
        PREEMPTION,
        (
            create(sized(pod("urgent"), 800, HIGH)),
            until("victim", "deleting"),
            until("urgent", "nominated"),
            quiet(),
            remove("dearer"),
            placed("urgent"),
        ),
    ),
    Scenario(
        "the-answer-of-preempt-is-lost",
        PREEMPTION,
        (
            lose("preempt", "urgent"),
            create(sized(pod("urgent"), 800, HIGH)),
            refused("urgent"),
            quiet(),
            remove("dearer"),
            placed("urgent"),
        ),
    ),
    Scenario(
        "preemption-that-the-extender-refuses",
        (
            node("n1", cpu=1),
            sized(pod("victim", on="n1"), 800, LOW),
            sized(db("rock", "n1"), 100, HIGH),
        ),
        (create(sized(loner("urgent"), 800, HIGH)), refused("urgent")),
    ),
    Scenario(
        "a-relabelled-namespace-and-the-hint-that-is-taken",
        SHOP,
        (
            create(pod("web", apart=[term(HOSTNAME, DB, **RED)])),
            refused("web"),
            quiet(),
            relabel("shop", team="blue"),
            placed("web"),
        ),
    ),
    Scenario(
        "filter-answers-an-error-about-the-nominated-node",
        SHOP,
        (
            create(pod("web", apart=[term(HOSTNAME, DB, **RED)])),
            refused("web"),
            quiet(),
            spoil("filter", "web"),
            relabel("shop", team="blue"),
            placed("web"),
        ),
    ),
    Scenario(
        "the-scheduler-restarts-with-an-assumed-pod",
        (node("n1"),),
        (
            hold("bind", "web"),
            create(pod("web")),
            until("web", "bind"),
            restart_scheduler(),
            until("web", "bind", 2),
            placed("web"),
            release("bind", "web"),
        ),
    ),
)
