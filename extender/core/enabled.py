"""Which plugins the configuration enables, with their arguments, and which of them refuse nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from extender.core.config import Config, Mode
from extender.core.config.features import Feature, enabled, features, refuses_in_assist
from extender.core.config.schema import OF_SCHEDULER
from extender.core.model.verdict import INTER_POD_AFFINITY
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.plugins import FilterPlugin, Plugins, ScorePlugin, ScorePlugins


def filter_plugins(config: Config) -> Plugins:
    """Build what refuses nodes where the hard rules are ours.

    The plugins that are enabled; of the others, what pods carry beside their specs.
    """
    return _built(config, config.plugins)


def enforced(config: Config) -> Plugins:
    """Return those that refuse nodes in this mode: in `assist`, what the scheduler lacks.

    There these are plugins of features and rules beside those of specs, if any.
    """
    match config.mode:
        case Mode.SHADOW:
            return ()
        case Mode.ASSIST if not refuses_in_assist(config):
            return ()
        case Mode.ASSIST:
            return _built(config, [each for each in config.plugins if each not in OF_SCHEDULER])
        case Mode.REPLACE:
            return filter_plugins(config)


def score_plugins(config: Config) -> ScorePlugins:
    """Build those plugins that score, in every mode."""
    return tuple(each for each in filter_plugins(config) if isinstance(each, ScorePlugin))


def _built(config: Config, plugins: Sequence[str]) -> Plugins:
    """Build plugins in their order; those that are there for rules beside specs come last."""
    made: dict[str, FilterPlugin] = {
        INTER_POD_AFFINITY: inter_pod_affinity(config),
        **of_features(config),
    }
    # What no name switches on goes with inter-pod affinity.
    unnamed = {each.name for each in features() if not each.plugin}
    names = sorted(dict.fromkeys((*plugins, *made)), key=unnamed.__contains__)
    switches = (INTER_POD_AFFINITY if each in unnamed else each for each in names)
    return tuple(
        replace(made[name], of_annotations=switch not in plugins)
        for name, switch in zip(names, switches, strict=True)
    )


def of_features(
    config: Config, some: Iterable[Feature] | None = None
) -> Mapping[str, FilterPlugin]:
    """Build the plugins of features, of those that are on unless given.

    By their names in `plugins`, or by those of their features.
    """
    return {
        each.plugin or each.name: each.module(each.judges).plugin(config)
        for each in (enabled(config) if some is None else some)
        if each.judges
    }


def inter_pod_affinity(config: Config) -> InterPodAffinity:
    """Build the plugin with its arguments, enabled or not."""
    arguments = config.inter_pod_affinity
    return InterPodAffinity(
        arguments.hard_pod_affinity_weight,
        arguments.ignore_preferred_terms_of_existing_pods,
        weight=arguments.weight,
    )
