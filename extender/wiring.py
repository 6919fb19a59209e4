"""Builds the callbacks and what runs beside them, as the configuration has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import random
from time import monotonic, time

from extender.callbacks.binding import Binds
from extender.callbacks.filtering import Filters, Listeners
from extender.callbacks.in_flight import InFlightPods
from extender.callbacks.preempting import Preemptions
from extender.callbacks.prioritizing import Priorities
from extender.callbacks.requests import Requests
from extender.callbacks.shadow import Disagreements
from extender.cluster.state import ClusterState
from extender.config import Config, Mode, Plugin
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.moving import Clocks, EvictionLimits
from extender.controllers.nomination.controller import NominationController, NominationLimits
from extender.controllers.preemption.controller import PreemptionController
from extender.metrics import Metrics
from extender.model.objects import PodClass
from extender.ports import Check
from extender.preparing import Preparer
from extender.source import Source, pod_reader
from extender.verbs.conflicts import interact
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.verbs.plugins import FilterPlugin, Plugins, ScorePlugins
from extender.verbs.quota import CrossNamespacePodAffinity
from extender.web.app import Application, Callback, callbacks_app
from extender.web.explain import Explain
from extender.wire.node_affinity import read_node_affinity
from extender.wire.objects import MOST_ENTRIES

AFFINITY = (Plugin.INTER_POD_AFFINITY, Plugin.NODE_AFFINITY)
"""Plugins that the scheduler has as well, but for what pods have in annotations."""


def build_callbacks(
    config: Config,
    source: Source,
    state: ClusterState,
    metrics: Metrics,
    unsynced: Check,
    *,
    preparer: Preparer,
    nomination: NominationController | None,
    preemption: PreemptionController | None = None,
    clock: Callable[[], float] = monotonic,
) -> Application:
    """Build the callbacks' application; binding and preemption go with the hard rules."""
    enforced, pods = _enforced(config), pod_reader(config, MOST_ENTRIES)
    shadow = Disagreements(state, metrics, _plugins(config)) if config.mode is Mode.SHADOW else None
    requests = Requests(state, pods, preparer, unsynced)
    priorities = Priorities(
        state,
        score_plugins(config),
        metrics,
        requests,
        max_score=config.prioritize.max_score,
        is_attempt=config.mode is Mode.ASSIST,
        silent=shadow is not None,
    )
    listeners = Listeners(shadow=shadow, answered=priorities.filter_answered)
    others: dict[str, Callback] = {}
    if enforced and config.mode is Mode.REPLACE:
        in_flight = InFlightPods(_interact(state, config), clock=clock)
        listeners = replace(listeners, in_flight=in_flight)
        others["bind"] = Binds(
            state,
            source.binder,
            in_flight,
            metrics,
            enforced,
            unready=unsynced,
            clock=clock,
            preparer=preparer,
        )
    if enforced:
        # Whoever refuses nodes has to be asked before pods are evicted from them.
        others["preempt"] = preemptions = Preemptions(
            state,
            metrics,
            enforced,
            unready=unsynced,
            may_be_empty=config.scheduler_takes_empty_victims,
            clock=clock,
            pods=pods,
            give_way=None if nomination is None else nomination.give_way,
            preemption=preemption,
            preparer=preparer,
        )
        listeners = replace(
            listeners,
            helpers=[each for each in (nomination, preemption) if each is not None],
            held=preemptions.held,
        )
    filters = Filters(
        state,
        enforced,
        metrics,
        requests,
        resolvable=config.filter.resolvable,
        listeners=listeners,
    )
    callbacks: dict[str, Callback] = {"filter": filters, "prioritize": priorities, **others}
    return callbacks_app(callbacks, metrics, config.serving.max_body_bytes)


def build_nomination(
    config: Config,
    source: Source,
    state: ClusterState,
    metrics: Metrics,
    preparer: Preparer,
    *,
    clock: Callable[[], float] = monotonic,
    chance: Callable[[], float] = random,
) -> NominationController | None:
    """Build what nominates nodes, where the hard rules are ours and somebody can be told."""
    if source.nominator is None or not config.hints.enabled or config.mode is not Mode.REPLACE:
        return None
    limits = NominationLimits(
        config.hints.per_second, config.hints.max_outstanding, config.hints.patience_seconds
    )
    nominator = source.nominator
    plugins = _plugins(config)
    return NominationController(
        state,
        nominator,
        metrics,
        limits,
        plugins,
        clock=clock,
        chance=chance,
        preparer=preparer,
    )


def build_explain(config: Config, state: ClusterState, unsynced: Check) -> Explain:
    """Build what explains the verdicts of the plugins that are enabled, in every mode."""
    return Explain(
        state,
        _plugins(config),
        score_plugins(config),
        pod_reader(config, MOST_ENTRIES),
        unsynced,
        max_score=config.prioritize.max_score,
    )


def _interact(state: ClusterState, config: Config) -> Callable[[PodClass, PodClass], bool]:
    """Return what tells whether pods get in each other's way, by the rules that are ours."""
    if Plugin.INTER_POD_AFFINITY in config.plugins:
        return partial(interact, state)
    return lambda one, other: interact(state, one.by_annotation, other.by_annotation)


def build_preemption(
    config: Config,
    source: Source,
    state: ClusterState,
    metrics: Metrics,
    *,
    preparer: Preparer,
    nomination: NominationController | None,
    clock: Callable[[], float] = monotonic,
    chance: Callable[[], float] = random,
) -> PreemptionController | None:
    """Build what evicts pods for others, where the hard rules are ours and somebody can be told."""
    nominator, evictor = source.nominator, source.evictor
    wanted = config.preemption.enabled and config.mode is Mode.REPLACE
    if nominator is None or evictor is None or not wanted:
        return None
    return PreemptionController(
        state,
        nominator,
        evictor,
        metrics,
        _plugins(config),
        clock=clock,
        chance=chance,
        preparer=preparer,
        give_way=None if nomination is None else nomination.give_way,
        is_hint=lambda uid: nomination is not None and nomination.nominates(uid),
    )


def build_eviction(
    config: Config,
    source: Source,
    state: ClusterState,
    metrics: Metrics,
    unready: Check,
    *,
    preparer: Preparer,
    clocks: Clocks | None = None,
) -> EvictionController | None:
    """Build what moves pods that break rules, where that is wanted and somebody can be told."""
    mover, leadership, settings = source.mover, source.leadership, config.required_during_execution
    if mover is None or leadership is None or not settings.enabled:
        return None
    return EvictionController(
        state,
        mover,
        leadership,
        metrics,
        _plugins(config),
        execution=settings.execution,
        limits=EvictionLimits(
            settings.evictions_per_minute,
            settings.grace_period_seconds,
            settings.share,
            settings.dry_run,
        ),
        clocks=clocks or Clocks(monotonic, time, random),
        unready=unready,
        preparer=preparer,
    )


def _plugins(config: Config) -> Plugins:
    """Build what refuses nodes where the hard rules are ours.

    The plugins that are enabled; of affinity that is not, what pods have in annotations.
    """
    return _filters(config, config.plugins)


def _enforced(config: Config) -> Plugins:
    """Return those that refuse nodes in this mode: in `assist`, what the scheduler lacks."""
    match config.mode:
        case Mode.SHADOW:
            return ()
        case Mode.ASSIST:
            return _filters(config, [each for each in config.plugins if each not in AFFINITY])
        case Mode.REPLACE:
            return _plugins(config)


def _filters(config: Config, plugins: Sequence[Plugin]) -> Plugins:
    limited = config.cross_namespace_pod_affinity.limited_by_default
    built: dict[Plugin, FilterPlugin] = {
        **_affinity(config, plugins),
        Plugin.CROSS_NAMESPACE_POD_AFFINITY: CrossNamespacePodAffinity(limited),
    }
    return tuple(built[name] for name in _with_annotations(plugins))


def score_plugins(config: Config) -> ScorePlugins:
    """Build those of the enabled plugins that score, in every mode, and likewise annotations."""
    built = _affinity(config, config.plugins)
    return tuple(built[name] for name in _with_annotations(config.plugins) if name in built)


def _with_annotations(plugins: Sequence[Plugin]) -> Sequence[Plugin]:
    """Return plugins in their order; those that are there for annotations alone come last."""
    return tuple(dict.fromkeys((*plugins, *AFFINITY)))


def _affinity(
    config: Config, plugins: Sequence[Plugin]
) -> dict[Plugin, InterPodAffinity | NodeAffinityPlugin]:
    """Build both kinds of affinity, only for annotations where the scheduler has the plugin."""
    pods, nodes = _inter_pod_affinity(config), _node_affinity(config)
    return {
        Plugin.INTER_POD_AFFINITY: replace(
            pods, of_annotations=Plugin.INTER_POD_AFFINITY not in plugins
        ),
        Plugin.NODE_AFFINITY: replace(nodes, of_annotations=Plugin.NODE_AFFINITY not in plugins),
    }


def _inter_pod_affinity(config: Config) -> InterPodAffinity:
    arguments = config.inter_pod_affinity
    return InterPodAffinity(
        arguments.hard_pod_affinity_weight,
        arguments.ignore_preferred_terms_of_existing_pods,
        arguments.weight,
    )


def _node_affinity(config: Config) -> NodeAffinityPlugin:
    arguments = config.node_affinity
    added, _ = read_node_affinity(arguments.added_affinity.as_json())
    return NodeAffinityPlugin(added, arguments.weight)
