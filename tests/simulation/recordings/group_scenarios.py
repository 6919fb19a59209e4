"""Scenarios of pod groups, which a control plane knows with `GenericWorkload` alone."""

from __future__ import annotations

from typing import Final

from tests.e2e.objects import JSON, ZONE, pod
from tests.simulation.recordings.scenarios import placed, refused
from tests.simulation.recordings.scripts import (
    Scenario,
    Step,
    create,
    hold,
    quiet,
    release,
    remove,
    spoil,
    until,
)
from tests.simulation.recordings.things import db, group, loner, member, node

THREE: Final = ("g1", "g2", "g3")
BESIDE: Final = (node("n1"), db("db", "n1"))


def created(built: JSON, *members: JSON) -> tuple[Step, ...]:
    """Create a group before its members: its first cycle may leave out some that were there."""
    steps = [create(built)]
    for each in members:
        steps += [create(member(each)), until(each["metadata"]["name"], "created")]
    return tuple(steps)


def all_placed(*names: str) -> tuple[Step, ...]:
    return tuple(placed(each) for each in names)


def _three(*before: Step) -> tuple[Step, ...]:
    return (*before, *created(group(least=3), *map(pod, THREE)))


GROUP_SCENARIOS: Final = (
    Scenario("a-gang-that-fits", (node("n1"),), (*_three(), *all_placed(*THREE))),
    Scenario(
        "a-gang-of-which-one-bind-fails",
        (node("n1"),),
        (*_three(spoil("bind", "g2")), *all_placed(*THREE)),
    ),
    Scenario(
        "a-gang-of-which-one-filter-call-fails",
        (node("n1"),),
        (*_three(spoil("filter", "g2")), *all_placed(*THREE)),
    ),
    Scenario(
        "a-member-waits-for-one-whose-bind-fails-meanwhile",
        (node("n1"),),
        (
            *_three(hold("bind", "g1"), hold("bind", "g3")),
            placed("g2"),
            until("g1", "bind"),
            until("g3", "bind"),
            spoil("bind", "g1"),
            hold("filter", "g1"),
            release("bind", "g1"),
            until("g1", "filter", 2),
            spoil("bind", "g3"),
            release("bind", "g3"),
            until("g3", "bind (held back): error"),
            quiet(),
            release("filter", "g1"),
            *all_placed("g1", "g3"),
        ),
    ),
    Scenario(
        "a-gang-that-has-no-place-yet",
        BESIDE,
        (
            *created(group(least=2), pod("g1"), loner("g2")),
            refused("g1"),
            refused("g2"),
            until("g1", "filter", 2),
            remove("db"),
            *all_placed("g1", "g2"),
        ),
    ),
    Scenario(
        "a-group-that-is-no-gang-and-one-of-which-has-no-place-yet",
        BESIDE,
        (
            *created(group(), pod("g1")),
            placed("g1"),
            create(member(loner("g2"))),
            refused("g2"),
            quiet(),
            remove("db"),
            placed("g2"),
        ),
    ),
    Scenario(
        "a-gang-whose-last-member-comes-late",
        (node("n1"),),
        (
            *created(group(least=3), pod("g1"), pod("g2")),
            quiet(),
            create(member(pod("g3"))),
            *all_placed(*THREE),
        ),
    ),
    Scenario(
        "a-member-beyond-those-that-a-gang-needs",
        (node("n1"),),
        (
            *created(group(least=1), pod("g1")),
            placed("g1"),
            quiet(),
            create(member(pod("g2"))),
            placed("g2"),
        ),
    ),
    Scenario(
        "a-gang-that-needs-a-domain",
        (node("a1", "a"), node("b1", "b")),
        (
            *created(
                group(least=2, schedulingConstraints={"topology": [{"key": ZONE}]}),
                *map(pod, ("g1", "g2")),
            ),
            *all_placed("g1", "g2"),
        ),
    ),
)
