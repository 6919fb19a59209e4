"""When nodes are nominated and pods evicted, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from affinityctl.commands.lint.rights import needed_rights
from extender.core.config.document import decode, effective
from extender.core.config.features import Help, gives, switch_of
from extender.core.config.schema import API_VERSION, KIND
from extender.features.refused_pods.section import FEATURE, hints, preempts

HEADER = {"apiVersion": API_VERSION, "kind": KIND}


def test_their_defaults() -> None:
    found = effective(decode(HEADER))
    assert found["hints"] == {
        "enabled": True,
        "perSecond": 20,
        "maxOutstanding": 100,
        "patienceSeconds": 5,
    }
    assert found["preemption"] == {}


@pytest.mark.parametrize(
    ("version", "mode", "fields", "on"),
    [
        ("1.33", "replace", {}, True),
        ("1.37", "replace", {}, True),
        ("1.38", "replace", {}, False),
        ("1.38", "replace", {"preemption": {"enabled": True}}, True),
        ("1.37", "replace", {"preemption": {"enabled": False}}, False),
        ("1.37", "replace", {"filter": {"resolvable": True}}, True),
        ("1.38", "replace", {"filter": {"resolvable": False}}, False),
        ("1.37", "assist", {}, False),
    ],
)
def test_who_preempts_follows_from_the_scheduler_unless_it_is_said(
    version: str, mode: str, fields: dict[str, Any], *, on: bool
) -> None:
    config = decode({**HEADER, **fields, "mode": mode, "schedulerVersion": version})
    assert preempts(config) == on
    assert hints(config) == (mode == "replace")
    assert gives(config, Help.NODE)
    assert mode != "replace" or gives(config, Help.ROOM) == on


@pytest.mark.parametrize("nominates", [True, False])
@pytest.mark.parametrize("evicts", [True, False])
def test_each_can_go_without_the_other_and_with_it_its_rights(
    *, nominates: bool, evicts: bool
) -> None:
    switches = {"hints": {"enabled": nominates}, "preemption": {"enabled": evicts}}
    config = decode({**HEADER, "mode": "replace", **switches})
    assert FEATURE.enabled(config) == (nominates or evicts)
    needed = {f"{each}" for each in needed_rights(config)}
    assert ("patch pods/status" in needed) == (nominates or evicts)
    assert ("delete pods" in needed) == evicts


def test_what_gives_them_says_where_they_are_switched_on() -> None:
    assert switch_of(Help.NODE) == "hints.enabled"
    assert switch_of(Help.ROOM) == "preemption.enabled"
