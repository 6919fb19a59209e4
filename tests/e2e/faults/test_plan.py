"""The plan of a run, and the report on runs."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from tests.e2e.faults import injector
from tests.e2e.faults.injector import HOPS, KILLED, PAUSED, Fault, faults
from tests.e2e.faults.proxy import Mode
from tests.e2e.faults.report import written

DECK = len(HOPS) * len(Mode) + len(KILLED) + len(PAUSED) + 6


def deal(seed: int) -> list[Fault]:
    return [*islice(faults(Random(seed)), 2 * DECK)]


def test_a_seed_draws_the_same_faults_again() -> None:
    assert deal(1) == deal(1)
    assert deal(1) != deal(2)


@pytest.mark.parametrize("half", [slice(DECK), slice(DECK, None)])
def test_each_round_has_every_kind_everywhere(half: slice) -> None:
    names = {each.name for each in deal(3)[half]}
    assert names == {
        *(f"{mode}: {where}" for mode in Mode for where in HOPS),
        *(f"{injector.KILL}: {where}" for where in KILLED),
        *(f"{injector.PAUSE}: {where}" for where in PAUSED),
        *(
            f"{kind}: {injector.ETCD}"
            for kind in (injector.COMPACTION, injector.NO_SPACE, injector.RESTORE)
        ),
        f"{injector.JUMP}: {injector.EXTENDER}",
    }


def test_who_holds_leases_stands_still_for_longer_than_these_last() -> None:
    paused = [each for each in deal(4) if each.kind == injector.PAUSE]
    longest = [each for each in paused if each.where in injector.OUTLASTING_LEASES]
    assert len(longest) == 2 * len(injector.OUTLASTING_LEASES)
    assert all(each.seconds > 15 for each in longest)


def test_the_report_adds_runs_up_and_names_what_was_wrong() -> None:
    one = {
        "seed": 7,
        "seconds": 10.0,
        "counts": {"binds": 1000, "contested binds": 900},
        "injected": {"cut: there": 2, "SIGKILL: etcd": 1},
        "hit": {"cut: there": 1234},
        "wrong": [["pod stuck", "default/a is pending"]],
        "stuck": 1,
        "waited": 3.4,
    }
    text = written([one, one | {"seed": 8, "wrong": [], "stuck": 0, "waited": 5.0}])
    assert "| 7 | 10 | 3 | 1,000 | 900 | 0 | 0 | 0 | 0 | 1 | 3 |" in text
    assert "| **all** | 20 | 6 | 2,000 | 1,800 | 0 | 0 | 0 | 0 | 1 | 5 |" in text
    assert "| cut: there | 4 | 2,468 |" in text
    assert "- pod stuck: default/a is pending" in text
