"""What the core gets while the feature is on: a reader, a scope and a plugin."""

from __future__ import annotations

from functools import partial
from typing import Final

from extender.core.cluster.counts.scope import MakeScope
from extender.core.config import Config
from extender.features.annotations.reading import AnnotationReader
from extender.features.annotations.rules import MaxMatchingPods
from extender.features.annotations.scope import AnnotationScope
from extender.features.annotations.section import Annotations

READER: Final = AnnotationReader


def scope(config: Config) -> MakeScope:
    """Return what makes the scope of a state, with the selector of a configuration."""
    selector = config.section(Annotations).selector
    return partial(AnnotationScope, selector, of_specs=config.enforces_specs)


def plugin(config: Config) -> MaxMatchingPods:
    """Build the plugin; it has no arguments."""
    del config
    return MaxMatchingPods()
