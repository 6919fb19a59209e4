"""The filters by which the server says where a pod may go."""

from __future__ import annotations

from extender.core.config import Config
from extender.core.enabled import filter_plugins, inter_pod_affinity, of_features
from extender.core.verbs.node_selection import of_nodes
from extender.core.verbs.plugins import Plugins
from extender.diagnosis.verbs.filters import filters


def explained(config: Config) -> Plugins:
    """Build all that decides where a pod may go, enforced here or by the scheduler."""
    made = of_features(config)
    further = [each for each in filter_plugins(config) if each.name in made]
    return filters(of_nodes(made.values()), inter_pod_affinity(config), further)
