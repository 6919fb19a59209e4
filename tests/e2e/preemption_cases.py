"""The cases of preemption for our rules in which in-tree and we have to agree."""

from __future__ import annotations

from tests.e2e.objects import HOSTNAME, ZONE, node, pod, term
from tests.e2e.preempting import (
    DB,
    HIGH,
    LOW,
    MIDDLE,
    NEVER,
    NOBODY,
    WEB,
    Case,
    db,
    loner,
    one,
    plain,
    ranked,
    shy,
    tainted,
    wants,
    with_port,
)

CASES = {
    "room everywhere, one in the way": Case(
        [node("a"), db("on-a", "a"), plain("spared", "a")], [wants()], **one("a", "on-a")
    ),
    "one in the way on each node": Case(
        [
            *(node(name) for name in ("a", "b", "c")),
            *(db("on-a", "a", MIDDLE), db("on-b", "b", LOW), db("on-c", "c", MIDDLE)),
        ],
        [wants()],
        **one("b", "on-b"),
    ),
    "several in the way in a zone": Case(
        [
            *(node("z1", "z1"), node("z2a", "z2"), node("z2b", "z2")),
            *(db("x", "z1"), db("y", "z1"), db("z2-x", "z2a"), db("z2-y", "z2b")),
        ],
        [wants(key=ZONE)],
        **one("z1", "x", "y"),
    ),
    "a budget turns the choice": Case(
        [
            *(node("guarded"), node("free")),
            *(db("kept", "guarded", LOW, budget="strict"), db("on-free", "free", MIDDLE)),
        ],
        [wants()],
        **one("free", "on-free"),
        protected={"budget": "strict"},
    ),
    "a budget is gone beyond when there is no other way": Case(
        [node("a"), db("on-a", "a", LOW, budget="strict")],
        [wants()],
        **one("a", "on-a"),
        protected={"budget": "strict"},
    ),
    "equally important": Case([node("a"), db("on-a", "a", HIGH)], [wants()], **NOBODY),
    "preemptionPolicy Never": Case([node("a"), db("on-a", "a")], [wants(priority=NEVER)], **NOBODY),
    "victims that would not help": Case(
        [node("a", "z"), node("b", "z"), db("on-a", "a"), db("rock", "b", HIGH)],
        [wants(key=ZONE)],
        **NOBODY,
    ),
    "two of low priority rather than one above": Case(
        [node("a"), node("b"), db("x", "a"), db("y", "a"), db("on-b", "b", MIDDLE)],
        [wants()],
        **one("a", "x", "y"),
    ),
    "one rather than two of the same priority": Case(
        [node("a"), node("b"), db("x", "a"), db("y", "a"), db("on-b", "b")],
        [wants()],
        **one("b", "on-b"),
    ),
    "their rules, not its own": Case(
        [node("a"), node("b"), shy("shy-a", "a"), shy("shy-b", "b", MIDDLE)],
        [ranked(pod("important", labels=WEB), HIGH)],
        **one("a", "shy-a"),
    ),
    "host port and rule together": Case(
        [
            *(node("a"), node("b")),
            with_port(plain("holder", "a"), 8080),
            *(db("on-a", "a"), plain("spared", "a"), db("rock", "b", HIGH)),
        ],
        [with_port(wants(), 8080)],
        **one("a", "holder", "on-a"),
    ),
    "room and rule together": Case(
        [
            *(node("a", pods=3), node("b", pods=1)),
            *(db("on-a", "a"), plain("x", "a", MIDDLE), plain("y", "a", MIDDLE)),
            db("rock", "b", HIGH),
        ],
        [wants()],
        **one("a", "on-a"),
    ),
    "a more important one in the way makes room enough": Case(
        [node("a", pods=2), db("blocker", "a", MIDDLE), plain("spared", "a")],
        [wants()],
        **one("a", "blocker"),
        # Its successor may be tried before the scheduler holds the node for the preemptor.
        by_stock_too={"spared"},
    ),
    "room on one node, a rule on the other": Case(
        [
            *(node("full", pods=1), node("a")),
            *(plain("filler", "full", MIDDLE), db("on-a", "a")),
        ],
        [wants()],
        **one("a", "on-a"),
    ),
    "the cheaper node is closed": Case(
        [tainted(node("closed")), node("a"), db("x", "closed"), db("on-a", "a", MIDDLE)],
        [wants()],
        **one("a", "on-a"),
    ),
    "near one, away from another": Case(
        [
            *(node("a"), node("b")),
            ranked(pod("leader", labels={"app": "leader"}, on="a"), LOW),
            *(db("on-a", "a", MIDDLE), db("on-b", "b")),
        ],
        [
            ranked(
                pod(
                    "important",
                    near=[term(HOSTNAME, {"app": "leader"})],
                    apart=[term(HOSTNAME, DB)],
                ),
                HIGH,
            )
        ],
        # In-tree it fits on no node once all less important pods are gone: the leader is one.
        **NOBODY,
    ),
    "room near a less important one": Case(
        [
            *(node("a", pods=2), node("b")),
            ranked(pod("leader", labels={"app": "leader"}, on="a"), MIDDLE),
            plain("filler", "a"),
        ],
        [ranked(pod("important", near=[term(HOSTNAME, {"app": "leader"})]), HIGH)],
        # In-tree as above, though it is room that is missing.
        **NOBODY,
    ),
    "two that exclude each other, one node": Case(
        [node("a"), db("on-a", "a")],
        [loner("one"), loner("two")],
        places=[{"one": "a"}, {"two": "a"}],
        victims=[{"on-a"}, {"on-a"}],
    ),
    "two that exclude each other, two nodes": Case(
        [node("a"), node("b"), db("on-a", "a"), db("on-b", "b")],
        [loner("one"), loner("two")],
        places=[{"one": "a", "two": "b"}, {"one": "b", "two": "a"}],
        victims=[{"on-a", "on-b"}, {"on-a", "on-b"}],
    ),
}

EACH_TIME = {
    "room everywhere, one in the way",
    "several in the way in a zone",
    "a budget turns the choice",
    "preemptionPolicy Never",
    "victims that would not help",
    "host port and rule together",
    "room near a less important one",
    "a more important one in the way makes room enough",
    "two that exclude each other, one node",
}
"""What `make e2e` has time for; `make e2e-all` runs the rest too."""
assert CASES.keys() >= EACH_TIME
