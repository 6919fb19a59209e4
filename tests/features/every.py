"""What the tests of each feature's folder have to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.config.features import defaults, features
from extender.core.enabled import of_features
from extender.core.metrics import Metrics
from extender.core.parts import part_of

if TYPE_CHECKING:
    from extender.core.parts import Part
    from extender.core.verbs.plugins import FilterPlugin
    from extender.core.web.offered import Findings
    from tests.web.showing import Seen


def switched_on(name: str) -> dict[str, Any]:
    """Return fields of the configuration with which a feature is on."""
    found: dict[str, Any] = _example(name).ON
    return found


def switch_in_chart(name: str) -> str:
    """Return by what the chart gives a feature its rights."""
    field = next(each.field for each in features() if each.name == name)
    found: str = getattr(_example(name), "SWITCH", f".Values.{field}.enabled")
    return found


def routes(name: str) -> tuple[str, ...]:
    """Return the paths that a feature answers on the operations port."""
    found: tuple[str, ...] = getattr(_example(name), "ROUTES", ())
    if not _frames(name):
        return found
    others = (each.name for each in features() if each.name != name)
    return (*found, *(path for each in others for path in routes(each) if path[:6] == "/page/"))


def pages() -> tuple[str, ...]:
    """Return addresses of pages that features show."""
    return _of_examples("PAGES")


def shown_over(seen: Seen) -> list[Part]:
    """Return the features with pages, with all that they may show of a cluster."""
    return [
        _showing(each.name).shown(seen)
        for each in features()
        if routes(each.name) and not _frames(each.name)
    ]


def framing(seen: Seen) -> list[Part]:
    """Return the features that show the pages of all, over a cluster."""
    return [_showing(each.name).framing(seen) for each in features() if _frames(each.name)]


def has_pages() -> bool:
    """Return whether there is a feature that shows the pages of all."""
    return any(_frames(each.name) for each in features())


def _frames(name: str) -> bool:
    return hasattr(_example(name), "FRAMES")


def _example(name: str) -> ModuleType:
    return import_module(f"tests.features.{name}.example")


def _showing(name: str) -> ModuleType:
    return import_module(f"tests.features.{name}.showing")


def values_of(name: str) -> dict[str, Any]:
    """Return valid values of a feature's fields, by path, where none follows from the default."""
    found: dict[str, Any] = getattr(_example(name), "VALUES", {})
    return found


def findings_over(state: ClusterState) -> list[Findings]:
    """Return what features know of pods that should be elsewhere, as much as they may show."""
    modules = (getattr(_example(each.name), "FINDINGS", None) for each in features())
    return [import_module(name).findings(state) for name in modules if name]


def switched_off(name: str) -> dict[str, Any]:
    """Return fields of the configuration with which a feature is off."""
    found: dict[str, Any] = getattr(_example(name), "OFF", {})
    return found


def remembered() -> dict[str, int]:
    """Return how many entries about pods that no watch shows features may have, by attribute."""
    examples = (_example(each.name) for each in features())
    return dict(chain.from_iterable(getattr(each, "REMEMBERED", {}).items() for each in examples))


def verbs(name: str) -> tuple[str, ...]:
    """Return the verbs that a feature answers."""
    found: tuple[str, ...] = getattr(_example(name), "VERBS", ())
    return found


def shipped_with(mode: str) -> dict[str, Any]:
    """Return the fields of features in what is shipped for a mode."""
    examples = (_example(each.name) for each in features())
    shipped = (getattr(each, "SHIPPED", {}).get(mode, {}) for each in examples)
    return dict(chain.from_iterable(each.items() for each in shipped))


def parsers() -> dict[str, tuple[Callable[[bytes], object], list[Any]]]:
    """Return by name what features read of others, each with what it is given to begin with."""
    examples = (_example(each.name) for each in features())
    modules = (import_module(each.PARSERS) for each in examples if hasattr(each, "PARSERS"))
    return dict(chain.from_iterable(each.PARSERS.items() for each in modules))


def in_steps() -> dict[str, Callable[[ClusterState], Iterator[object]]]:
    """Return by name what features do with a state in steps, for those who measure these."""
    examples = (_example(each.name) for each in features())
    return {name: run for each in examples for name, run in getattr(each, "STEPS", {}).items()}


def all_metrics() -> CollectorRegistry:
    """Return the metrics of the program with every feature on."""
    registry = CollectorRegistry()
    metrics = Metrics(registry, "0")
    for each in features():
        part_of(each).metrics(metrics.make)
    return registry


def planted_in_simulation() -> dict[str, Any]:
    """Return the bugs of features that the simulation has to find."""
    examples = (_example(each.name) for each in features())
    modules = (import_module(each.PLANTED) for each in examples if hasattr(each, "PLANTED"))
    return dict(chain.from_iterable(each.PLANTED.items() for each in modules))


def _of_examples(name: str) -> tuple[Any, ...]:
    examples = (import_module(f"tests.features.{each.name}.example") for each in features())
    return tuple(chain.from_iterable(getattr(each, name, ()) for each in examples))


def plugins() -> tuple[FilterPlugin, ...]:
    """Return the plugins of features, each with several arguments."""
    return _of_examples("PLUGINS")


def usual_plugins() -> tuple[FilterPlugin, ...]:
    """Return the plugins of features, each once, with its default arguments."""
    return tuple(of_features(defaults(), features()).values())


def objects() -> tuple[dict[str, Any], ...]:
    """Return objects that are mirrored for features."""
    return _of_examples("OBJECTS")
