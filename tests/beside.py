"""Rules beside specs, as the feature that has them reads and counts them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from extender.core.cluster.counts.scope import MakeScope, Scope
from extender.core.config.features import defaults, features, reads_rules
from extender.core.enabled import of_features
from extender.core.model.labels import EVERYTHING

if TYPE_CHECKING:
    from extender.core.model.labels import Selector
    from extender.core.verbs.plugins import Plugins

_CARRYING: Final = [each for each in features() if each.carries]
AFFINITY_ANNOTATION: Final = "affinity-extender.io/affinity"
POLICY_ANNOTATION: Final = "affinity-extender.io/affinity-policy"
RULES: Final = reads_rules(features())
LIMITS: Final[Plugins] = tuple(of_features(defaults(), _CARRYING).values())
"""The plugin for terms with a limit."""
needs_rules: Final = pytest.mark.skipif(RULES is None, reason="no feature has pods carry rules")


def covering(selector: Selector | None, *, replaces: bool = True) -> MakeScope:
    """Return a scope: rules beside specs count in the namespaces that are selected.

    Without `replaces`, the scheduler enforces the rules of specs.
    """
    for each in _CARRYING:
        return partial(each.module("scope").AnnotationScope, selector, of_specs=replaces)
    return Scope


COVERS_ALL: Final = covering(EVERYTHING)
