"""What the tests of each feature's folder have to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from typing import Any

from extender.cluster.state import ClusterState
from extender.config.features import features
from tests.planted.bugs import Bug


def switched_on(name: str) -> dict[str, Any]:
    """Return fields of the configuration with which a feature is on."""
    found: dict[str, Any] = import_module(f"tests.features.{name}.example").ON
    return found


def switched_off(name: str) -> dict[str, Any]:
    """Return fields of the configuration with which a feature is off."""
    found: dict[str, Any] = getattr(import_module(f"tests.features.{name}.example"), "OFF", {})
    return found


def in_steps() -> dict[str, Callable[[ClusterState], Iterator[object]]]:
    """Return by name what features do with a state in steps, for those who measure these."""
    examples = (import_module(f"tests.features.{each.name}.example") for each in features())
    return {name: run for each in examples for name, run in getattr(each, "STEPS", {}).items()}


def planted() -> tuple[Bug, ...]:
    """Return the bugs that are planted in features."""
    modules = (import_module(f"tests.features.{each.name}.bugs") for each in features())
    return tuple(chain.from_iterable(each.BUGS for each in modules))
