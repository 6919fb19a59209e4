"""Builds the callbacks and what runs beside them, as the configuration has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import random
from time import monotonic

from extender.callbacks.answers import Answers, Rules
from extender.callbacks.binding import Binds
from extender.callbacks.in_flight import Flights
from extender.callbacks.preempting import Preemptions
from extender.callbacks.shadow import Disagreements
from extender.cluster.state import ClusterState
from extender.config import Config, Mode, Plugin
from extender.controllers.nomination.controller import NominationController, NominationLimits
from extender.metrics import Metrics
from extender.preparing import Preparer
from extender.source import (
    Source,
    pod_reader,
)
from extender.verbs.binding import interact
from extender.verbs.plugins import (
    CrossNamespacePodAffinity,
    FilterPlugin,
    InterPodAffinity,
    Plugins,
)
from extender.verbs.prioritizing import Scoring
from extender.web.app import Application, callbacks_app
from extender.wire.objects import MOST_ENTRIES


def build_callbacks(
    config: Config,
    source: Source,
    state: ClusterState,
    metrics: Metrics,
    unsynced: Callable[[], str | None],
    *,
    preparer: Preparer,
    nomination: NominationController | None,
) -> Application:
    """Build the callbacks' application; binding and preemption go with the hard rules."""
    limit = config.serving.max_body_bytes
    rules, pods = _rules(config), pod_reader(config, MOST_ENTRIES)
    if not rules.plugins:
        plugins = _plugins(config)
        shadow = Disagreements(state, metrics, plugins) if config.mode is Mode.SHADOW else None
        answers = Answers(
            state,
            rules,
            metrics,
            unsynced,
            pods=pods,
            shadow=shadow,
            preparer=preparer,
        )
        return callbacks_app(answers, metrics, limit)
    # Whoever refuses nodes has to be asked before pods are evicted from them.
    preemptions = Preemptions(
        state,
        metrics,
        rules.plugins,
        unready=unsynced,
        may_be_empty=config.scheduler_takes_empty_victims,
        clock=monotonic,
        pods=pods,
        give_way=None if nomination is None else nomination.give_way,
        preparer=preparer,
    )
    binding = config.mode is Mode.REPLACE
    flights = Flights(partial(interact, state))
    answers = Answers(
        state,
        rules,
        metrics,
        unsynced,
        flights if binding else None,
        nomination=nomination,
        keep_waiting=preemptions.keep_waiting,
        pods=pods,
        preparer=preparer,
    )
    if not binding:
        return callbacks_app(answers, metrics, limit, preemptions=preemptions)
    binds = Binds(
        state,
        source.binder,
        flights,
        metrics,
        rules.plugins,
        unready=unsynced,
        clock=monotonic,
        preparer=preparer,
    )
    return callbacks_app(answers, metrics, limit, binds, preemptions)


def build_nomination(
    config: Config, source: Source, state: ClusterState, metrics: Metrics, preparer: Preparer
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
        clock=monotonic,
        chance=random,
        preparer=preparer,
    )


def _plugins(config: Config) -> Plugins:
    """Build the plugins that are enabled."""
    limited = config.cross_namespace_pod_affinity.limited_by_default
    built: dict[Plugin, FilterPlugin] = {
        Plugin.INTER_POD_AFFINITY: InterPodAffinity(),
        Plugin.CROSS_NAMESPACE_POD_AFFINITY: CrossNamespacePodAffinity(limited),
    }
    return tuple(built[name] for name in config.plugins)


def _enforced(config: Config) -> Plugins:
    """Return those that refuse nodes in this mode: in `assist`, what the scheduler lacks."""
    match config.mode:
        case Mode.SHADOW:
            return ()
        case Mode.ASSIST:
            return tuple(each for each in _plugins(config) if each != InterPodAffinity())
        case Mode.REPLACE:
            return _plugins(config)


def _rules(config: Config) -> Rules:
    plugin = config.inter_pod_affinity
    return Rules(
        plugins=_enforced(config),
        resolvable=config.filter.resolvable,
        scoring=Scoring(
            plugin.hard_pod_affinity_weight, plugin.ignore_preferred_terms_of_existing_pods
        ),
        max_score=config.prioritize.max_score,
    )
