"""Which plugins the configuration enables, with their arguments, and which of them refuse nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from extender.config import Config, Mode, PluginName
from extender.verbs.filters import filters
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.max_matching_pods import MaxMatchingPods
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.verbs.plugins import FilterPlugin, Plugins, ScorePlugin, ScorePlugins
from extender.verbs.quota import CrossNamespacePodAffinity
from extender.wire.node_affinity import read_node_affinity

AFFINITY = (PluginName.INTER_POD_AFFINITY, PluginName.NODE_AFFINITY)
"""Plugins that the scheduler has as well, but for what pods have in annotations."""


def filter_plugins(config: Config) -> Plugins:
    """Build what refuses nodes where the hard rules are ours.

    The plugins that are enabled; of the others, what pods have in annotations.
    """
    return _built(config, config.plugins)


def explained(config: Config) -> Plugins:
    """Build all that decides where a pod may go, whoever enforces it."""
    quotas = (
        each for each in filter_plugins(config) if isinstance(each, CrossNamespacePodAffinity)
    )
    return filters(node_affinity(config), inter_pod_affinity(config), next(quotas, None))


def enforced(config: Config) -> Plugins:
    """Return those that refuse nodes in this mode: in `assist`, what the scheduler lacks.

    There these are quotas and rules in annotations, and nothing where none of them counts.
    """
    match config.mode:
        case Mode.SHADOW:
            return ()
        case Mode.ASSIST if not config.looks_at_quotas:
            return ()
        case Mode.ASSIST:
            return _built(config, [each for each in config.plugins if each not in AFFINITY])
        case Mode.REPLACE:
            return filter_plugins(config)


def score_plugins(config: Config) -> ScorePlugins:
    """Build those of the enabled plugins that score, in every mode, and likewise annotations."""
    return tuple(each for each in filter_plugins(config) if isinstance(each, ScorePlugin))


def _built(config: Config, plugins: Sequence[PluginName]) -> Plugins:
    """Build plugins in their order; those that are there for annotations alone come last."""
    quota = PluginName.CROSS_NAMESPACE_POD_AFFINITY
    made: dict[PluginName, FilterPlugin] = {
        PluginName.INTER_POD_AFFINITY: inter_pod_affinity(config),
        PluginName.NODE_AFFINITY: node_affinity(config),
        quota: CrossNamespacePodAffinity(config.cross_namespace_pod_affinity.limited_by_default),
    }
    names = dict.fromkeys((*plugins, *AFFINITY, *([quota] if config.takes_annotations else [])))
    built = [replace(made[name], of_annotations=name not in plugins) for name in names]
    if config.takes_annotations:
        others = PluginName.INTER_POD_AFFINITY not in plugins
        built.append(MaxMatchingPods(of_annotations=others))
    return tuple(built)


def inter_pod_affinity(config: Config) -> InterPodAffinity:
    """Build the plugin with its arguments, enabled or not."""
    arguments = config.inter_pod_affinity
    return InterPodAffinity(
        arguments.hard_pod_affinity_weight,
        arguments.ignore_preferred_terms_of_existing_pods,
        weight=arguments.weight,
    )


def node_affinity(config: Config) -> NodeAffinityPlugin:
    """Build the plugin with its arguments, enabled or not."""
    arguments = config.node_affinity
    added, _ = read_node_affinity(arguments.added_affinity.as_json())
    return NodeAffinityPlugin(added, weight=arguments.weight)
