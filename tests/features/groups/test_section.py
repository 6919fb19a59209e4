"""The list of profiles in the configuration."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.config import effective
from extender.core.errors import ConfigError
from extender.features.groups.section import Profile, ProfileMode, profiles
from tests.config.test_decoding import load_fields

BIND = {"schedulerName": "groups", "mode": "bind"}


def loaded(*some: Any) -> Any:
    return load_fields({"mode": "replace", "profiles": [*some]})


def test_profiles_are_read_and_written() -> None:
    config = loaded(BIND, {**BIND, "schedulerName": "example.com/gangs_2"})
    assert config.profiles == profiles(config)
    assert profiles(config) == (
        Profile(scheduler_name="groups", mode=ProfileMode.BIND),
        Profile(scheduler_name="example.com/gangs_2", mode=ProfileMode.BIND),
    )
    assert effective(config)["profiles"][0] == BIND


def test_without_any_there_are_none() -> None:
    assert profiles(loaded()) == profiles(load_fields({"mode": "assist"})) == ()


@pytest.mark.parametrize(
    ("some", "expected"),
    [
        pytest.param([{"mode": "bind"}], "[0].schedulerName: missing", id="no name"),
        pytest.param([{"schedulerName": "a"}], "[0].mode: missing", id="no mode"),
        pytest.param(
            [BIND, {**BIND, "schedulerName": ""}],
            "[1].schedulerName: '' is not the name of a scheduler, such as groups",
            id="an empty name",
        ),
        pytest.param(
            [{**BIND, "schedulerName": "pod groups"}],
            "[0].schedulerName: 'pod groups' is not the name of a scheduler",
            id="a name with which no event is taken",
        ),
        pytest.param([BIND, BIND], "[1].schedulerName: groups comes twice", id="a name twice"),
        pytest.param(
            [{**BIND, "mode": "assist"}], "[0].mode: 'assist' is not one of bind", id="a mode"
        ),
        pytest.param(
            [{**BIND, "name": "a"}], "[0].name: no such field; known: schedulerName", id="a field"
        ),
        pytest.param(["groups"], "[0]: 'groups' is not a mapping of fields", id="a name alone"),
    ],
)
def test_a_profile_that_cannot_be_used_is_named(some: list[Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(*some)
    assert f"/etc/extender.yaml: profiles{expected}" in str(caught.value)


def test_it_is_no_list() -> None:
    with pytest.raises(ConfigError, match="profiles: a mapping is not a list"):
        load_fields({"mode": "replace", "profiles": BIND})


@pytest.mark.parametrize("mode", ["assist", "shadow"])
def test_they_have_an_effect_in_replace_alone(mode: str) -> None:
    with pytest.raises(ConfigError, match="profiles: has no effect except in mode replace"):
        load_fields({"mode": mode, "profiles": [BIND]})
