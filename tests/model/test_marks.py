"""What the mark of a victim says, and what is read from it."""

from __future__ import annotations

import msgspec
import pytest

from extender.model.disruption import mark_message, preemptor_in
from extender.wire.objects import PodReader


def test_the_preemptor_is_read_from_what_was_written() -> None:
    assert preemptor_in(mark_message("default-scheduler", "0b-1")) == "0b-1"


@pytest.mark.parametrize(
    "message",
    [
        "",
        "default-scheduler: preempting to accommodate a higher priority pod",
        "x (uid 1",
        "uid 1)",
    ],
)
def test_others_do_not_say_for_whom(message: str) -> None:
    assert preemptor_in(message) is None


@pytest.mark.parametrize(
    ("status", "reason", "victim_of"),
    [
        pytest.param("True", "PreemptionByScheduler", "1", id="a mark"),
        pytest.param("False", "PreemptionByScheduler", None, id="one that was taken back"),
        pytest.param("True", "EvictionByEvictionAPI", None, id="of somebody else"),
    ],
)
def test_a_pod_is_marked_by_its_condition(status: str, reason: str, victim_of: str | None) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": status,
        "reason": reason,
        "message": mark_message("s", "1"),
    }
    pod = {
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": {"nodeName": "n"},
        "status": {"conditions": [condition]},
    }
    read = PodReader().read(msgspec.Raw(msgspec.json.encode(pod)))
    assert (read.victim_of, read.preempted) == (victim_of, False), "it is not deleted yet"
