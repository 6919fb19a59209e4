"""The scenarios: small enough that only one order of things is right."""

from __future__ import annotations

from typing import Final

from tests.e2e.objects import HOSTNAME, pod, term
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
from tests.simulation.recordings.things import (
    DB,
    HIGH,
    LOW,
    PREEMPTION,
    RED,
    SHOP,
    crew,
    db,
    loner,
    node,
    sized,
    web,
)


def placed(name: str) -> Step:
    """Wait until a pod is bound."""
    return until(name, "bound")


def refused(name: str) -> Step:
    """Wait until a pod is told that there is no place for it."""
    return until(name, "Unschedulable")


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
        "the-scheduler-gives-a-bind-up-that-arrives-later",
        (node("n1"),),
        (
            hold("bind", "web"),
            create(pod("web")),
            until("web", "bind"),
            until("web", "bind", 2),
            placed("web"),
            release("bind", "web"),
        ),
    ),
    Scenario(
        "the-scheduler-gives-a-filter-call-up",
        (node("n1"),),
        (
            hold("filter", "web"),
            create(pod("web")),
            until("web", "filter", 2),
            placed("web"),
            release("filter", "web"),
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
