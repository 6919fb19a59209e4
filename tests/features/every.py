"""What the tests of each feature's folder have to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from extender.cluster.state import ClusterState
from extender.config.features import features
from extender.metrics import Metrics
from extender.parts import part_of

if TYPE_CHECKING:
    from extender.parts import Part
    from extender.web.offered import Findings
    from extender.web.page.status import Shown


def switched_on(name: str) -> dict[str, Any]:
    """Return fields of the configuration with which a feature is on."""
    found: dict[str, Any] = import_module(f"tests.features.{name}.example").ON
    return found


def routes(name: str) -> tuple[str, ...]:
    """Return the paths that a feature answers on the operations port."""
    example = import_module(f"tests.features.{name}.example")
    found: tuple[str, ...] = getattr(example, "ROUTES", ())
    return found


def pages() -> tuple[str, ...]:
    """Return addresses of pages that features show."""
    examples = (import_module(f"tests.features.{each.name}.example") for each in features())
    return tuple(chain.from_iterable(getattr(each, "PAGES", ()) for each in examples))


def shown_over(seen: Shown) -> list[Part]:
    """Return the features with pages, with all that they may show of a cluster."""
    names = (f"tests.features.{each.name}.showing" for each in features() if routes(each.name))
    return [import_module(name).shown(seen) for name in names]


def values_of(name: str) -> dict[str, Any]:
    """Return valid values of a feature's fields, by path, where none follows from the default."""
    found: dict[str, Any] = getattr(import_module(f"tests.features.{name}.example"), "VALUES", {})
    return found


def findings_over(state: ClusterState) -> list[Findings]:
    """Return what features know of pods that should be elsewhere, as much as they may show."""
    names = (f"tests.features.{each.name}.example" for each in features())
    modules = (getattr(import_module(name), "FINDINGS", None) for name in names)
    return [import_module(name).findings(state) for name in modules if name]


def switched_off(name: str) -> dict[str, Any]:
    """Return fields of the configuration with which a feature is off."""
    found: dict[str, Any] = getattr(import_module(f"tests.features.{name}.example"), "OFF", {})
    return found


def in_steps() -> dict[str, Callable[[ClusterState], Iterator[object]]]:
    """Return by name what features do with a state in steps, for those who measure these."""
    examples = (import_module(f"tests.features.{each.name}.example") for each in features())
    return {name: run for each in examples for name, run in getattr(each, "STEPS", {}).items()}


def all_metrics() -> CollectorRegistry:
    """Return the metrics of the program with every feature on."""
    registry = CollectorRegistry()
    metrics = Metrics(registry, "0")
    metrics.track_quotas(lambda: 0, lambda: 0)
    for each in features():
        part_of(each).metrics(metrics.make)
    return registry


def planted_in_simulation() -> dict[str, Any]:
    """Return the bugs of features that the simulation has to find."""
    examples = (import_module(f"tests.features.{each.name}.example") for each in features())
    modules = (import_module(each.PLANTED) for each in examples if hasattr(each, "PLANTED"))
    return dict(chain.from_iterable(each.PLANTED.items() for each in modules))
