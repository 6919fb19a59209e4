"""When a field of the configuration has an effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extender.core.config.schema import Config, Mode


@dataclass(frozen=True, slots=True)
class Condition:
    """When a field has an effect."""

    holds: Callable[[Config], bool]
    why: str
    """Says after "has no effect" when it has none."""
    or_more_rules: bool = False
    """It has one as well where pods carry rules beside those of their specs."""


ALWAYS: Final = Condition(lambda _: True, "")
REPLACE: Final = Condition(
    lambda config: config.mode is Mode.REPLACE, "except in mode replace, where the extender binds"
)
WRITING: Final = Condition(
    lambda config: config.mode is not Mode.SHADOW, "in mode shadow, which changes nothing"
)


def of_plugin(plugin: str) -> Condition:
    """Return that a plugin is enabled, or sees to what pods carry beside their specs."""
    return Condition(
        lambda config: plugin in config.plugins,
        f"unless {plugin} is among the plugins",
        or_more_rules=True,
    )
