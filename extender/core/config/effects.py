"""Where each field has an effect: one table, by which what would have none is refused.

A field has an effect when its value can change what the program does in the given mode with the
given plugins. A block that is switched off (`enabled: false`) may keep its other values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from msgspec import Struct, structs

from extender.core.config.conditions import ALWAYS, Condition, of_plugin
from extender.core.config.connections import Block
from extender.core.config.features import defaults, features, more_rules
from extender.core.config.schema import Config, Mode
from extender.core.errors import ConfigError
from extender.core.model.verdict import INTER_POD_AFFINITY

_DECIDING: Final = frozenset(("mode", "plugins"))


_OF_CORE: Final[Mapping[str, Condition]] = {
    "apiVersion": ALWAYS,
    "kind": ALWAYS,
    "mode": ALWAYS,
    "plugins": ALWAYS,
    "schedulerVersion": ALWAYS,
    "interPodAffinity": of_plugin(INTER_POD_AFFINITY),
    "filter.resolvable": Condition(
        lambda config: config.mode is Mode.REPLACE, "except in mode replace"
    ),
    "prioritize.maxScore": ALWAYS,
    "featureGates": ALWAYS,
    "serving": ALWAYS,
    "serving.allowedClientNames": Condition(
        lambda config: config.serving.client_ca_file is not None,
        "without clientCAFile, which knows clients",
    ),
    "clientConnection": ALWAYS,
    "logging": ALWAYS,
    "clusterFiles": ALWAYS,
}


def effects() -> Mapping[str, Condition]:
    """Return when each field has an effect, by its path, or by that of a block for all in it."""
    usual = {name: each.effect for each in features() for name in each.fields}
    every = {
        **_OF_CORE,
        **usual,
        **dict(chain.from_iterable(each.effects.items() for each in features())),
    }
    return {path: _whole(each) if each.or_more_rules else each for path, each in every.items()}


def deciding() -> frozenset[str]:
    """Return the fields on which conditions depend; while one is wrong, none can be judged."""
    carrying = (each for each in features() if each.carries)
    return _DECIDING.union(*(each.fields for each in carrying))


def _whole(condition: Condition) -> Condition:
    """Return a condition with what features say of rules beside those of specs."""
    where = "".join(f" or {each.carries.where}" for each in features() if each.carries)
    return replace(
        condition,
        holds=lambda config: condition.holds(config) or more_rules(config),
        why=f"{condition.why}{where}",
    )


def without_effect(config: Config) -> Iterator[ConfigError]:
    """Yield each field that differs from its default where it has no effect."""
    default = defaults()
    for path, condition in effects().items():
        if not condition.holds(config):
            for field in _differing(path, at(config, path), at(default, path)):
                yield ConfigError(field, f"has no effect {condition.why}")


def at(value: object, path: str) -> object:
    """Return what a configuration has at a path, as the file spells it."""
    for name in path.split("."):
        value = dict(_fields(value))[name] if isinstance(value, Struct) else None
    return value


def _differing(path: str, value: object, default: object) -> Iterator[str]:
    if isinstance(value, Block):
        for name, one in _fields(value):
            yield from _differing(f"{path}.{name}", one, at(default, name))
    elif value != default:
        yield path


def _fields(block: Struct) -> Iterator[tuple[str, object]]:
    for each in structs.fields(block):
        yield each.encode_name, getattr(block, each.name)
