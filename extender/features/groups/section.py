"""The list of profiles, and what the core has to know of the feature while it is off."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from extender.core.config.conditions import REPLACE
from extender.core.config.connections import Block
from extender.core.config.features import Feature, Leaves, Maturity, Right, more_rules
from extender.core.config.schema import Config, Mode
from extender.core.errors import ConfigError
from extender.core.wire.validation import is_label_key


class ProfileMode(enum.StrEnum):
    """Who decides about the pods of a profile that is not as `mode` says."""

    BIND = "bind"


class Profile(Block, frozen=True, kw_only=True):
    """A profile of the calling scheduler with a mode of its own, beside mode replace.

    A profile that is not in the list has the mode of the whole. docs/groups.md says what for.
    """

    scheduler_name: str
    """Name of the profile in the scheduler's file; pods choose it by spec.schedulerName."""

    mode: ProfileMode
    """bind: the scheduler's own plugins filter and score, so InterPodAffinity has to be on in this
    profile. The extender refuses nodes only for what no scheduler knows, and checks rules in specs
    once more when it binds."""


def profiles(config: Config) -> tuple[Profile, ...]:
    return config.listed(Profile)


def _check(config: Config) -> Iterator[ConfigError]:
    names = [each.scheduler_name for each in profiles(config)]
    for index, name in enumerate(names):
        path = f"profiles[{index}].schedulerName"
        if not is_label_key(name):  # events of a scheduler with another name would be refused
            yield ConfigError(path, f"{name!r} is not the name of a scheduler, such as groups")
        elif name in names[:index]:
            yield ConfigError(path, f"{name} comes twice")


_TO_READ: Final = (Right("scheduling.k8s.io", "podgroups", "get"),)

FEATURE = Feature(
    name="groups",
    maturity=Maturity.BETA,
    lists={"profiles": Profile},
    # In mode shadow for the comparison, in assist for rules that no scheduler knows.
    enabled=lambda config: config.mode is not Mode.ASSIST or more_rules(config),
    effect=REPLACE,
    check=_check,
    rights=_TO_READ,
    needed_rights=lambda config: _TO_READ if profiles(config) else (),
    leaves=Leaves(
        names=lambda config: [each.scheduler_name for each in profiles(config)],
        entry="profiles: [{{schedulerName: {}, mode: bind}}]",
        policy="affinity-extender-groups",
        label="affinity-extender.io/groups",
    ),
    mirrors="judging",
    judges="judging",
    words=r"features\.groups|ProfileMode|config\.profiles|listed\(Profile\)|pod_?groups\b",
)
