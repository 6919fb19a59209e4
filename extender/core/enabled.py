"""Which plugins the configuration enables, with their arguments, and which of them refuse nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from extender.core.config import Config, Mode
from extender.core.config.features import Feature, enabled
from extender.core.config.schema import OF_SCHEDULER
from extender.core.model.verdict import INTER_POD_AFFINITY
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.max_matching_pods import MaxMatchingPods
from extender.core.verbs.plugins import FilterPlugin, Plugins, ScorePlugin, ScorePlugins


def filter_plugins(config: Config) -> Plugins:
    """Build what refuses nodes where the hard rules are ours.

    The plugins that are enabled; of the others, what pods have in annotations.
    """
    return _built(config, config.plugins)


def enforced(config: Config) -> Plugins:
    """Return those that refuse nodes in this mode: in `assist`, what the scheduler lacks.

    There these are plugins of features and rules in annotations, if any.
    """
    match config.mode:
        case Mode.SHADOW:
            return ()
        case Mode.ASSIST if not config.refuses_in_assist:
            return ()
        case Mode.ASSIST:
            return _built(config, [each for each in config.plugins if each not in OF_SCHEDULER])
        case Mode.REPLACE:
            return filter_plugins(config)


def score_plugins(config: Config) -> ScorePlugins:
    """Build those of the enabled plugins that score, in every mode, and likewise annotations."""
    return tuple(each for each in filter_plugins(config) if isinstance(each, ScorePlugin))


def _built(config: Config, plugins: Sequence[str]) -> Plugins:
    """Build plugins in their order; those that are there for annotations alone come last."""
    made: dict[str, FilterPlugin] = {
        INTER_POD_AFFINITY: inter_pod_affinity(config),
        **of_features(config),
    }
    names = dict.fromkeys((*plugins, *made))
    built = [replace(made[name], of_annotations=name not in plugins) for name in names]
    if config.takes_annotations:
        others = INTER_POD_AFFINITY not in plugins
        built.append(MaxMatchingPods(of_annotations=others))
    return tuple(built)


def of_features(
    config: Config, some: Iterable[Feature] | None = None
) -> Mapping[str, FilterPlugin]:
    """Build the plugins of features by their names, of those that are on unless given."""
    return {
        each.plugin: each.module(each.judges).plugin(config)
        for each in (enabled(config) if some is None else some)
        if each.plugin
    }


def inter_pod_affinity(config: Config) -> InterPodAffinity:
    """Build the plugin with its arguments, enabled or not."""
    arguments = config.inter_pod_affinity
    return InterPodAffinity(
        arguments.hard_pod_affinity_weight,
        arguments.ignore_preferred_terms_of_existing_pods,
        weight=arguments.weight,
    )
