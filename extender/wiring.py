"""Builds the callbacks and what runs beside them, as the configuration has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from extender.callbacks.binding import Binds
from extender.callbacks.filtering import Filters, Helper, Listeners
from extender.callbacks.in_flight import (
    FEW,
    SCORE_HOLD_SECONDS,
    UNSEEN_HOLD_SECONDS,
    InFlightPods,
)
from extender.callbacks.passing import passing_filter, passing_preempt
from extender.callbacks.preempting import Preemptions
from extender.callbacks.prioritizing import Priorities
from extender.callbacks.requests import Requests
from extender.callbacks.wait_budget import WaitBudget
from extender.cluster.state import ClusterState
from extender.config import Config, Mode, PluginName, effective
from extender.enabled import enforced, score_plugins
from extender.model.objects import PodClass
from extender.parts import Context, Part
from extender.ports import Check, Hook
from extender.reading import pods_apart
from extender.source import pod_reader
from extender.verbs.interaction import interact, prefer
from extender.web.app import Application, Callback, callbacks_app
from extender.web.domains import Domains
from extender.web.ops import ops_app
from extender.web.page.pages import Pages
from extender.web.page.status import Shown
from extender.wire.limits import OF_REQUESTS


def build_callbacks(context: Context, hooks: Sequence[Hook] = ()) -> Application:
    """Build the callbacks' application; binding and preemption go with the hard rules."""
    config, state, metrics = context.config, context.state, context.metrics
    clock = context.clocks.clock
    refusing = enforced(config)
    pods = pods_apart(pod_reader(config, OF_REQUESTS.entries, asked=True))
    judging = next((each for each in hooks if each.judges), None)
    pointer = next((each.pointer for each in hooks if each.pointer), None)
    preemptor = next((each.preemptor for each in hooks if each.preemptor), None)
    requests = Requests(state, metrics, pods, context.warm_up, context.unsynced, hooks=hooks)
    priorities = Priorities(
        requests,
        score_plugins(config),
        max_score=config.prioritize.max_score,
        mode=config.mode,
        in_flight=_unseen_by_scores(state, clock) if config.mode is Mode.ASSIST else None,
    )
    listeners = Listeners(judging=judging, answered=priorities.filter_answered)
    others: dict[str, Callback] = {}
    if config.mode is Mode.REPLACE:
        in_flight = InFlightPods(_interact(state, config), clock=clock)
        listeners = replace(listeners, in_flight=in_flight)
        binder = context.source.binder
        others["bind"] = Binds(
            requests,
            refusing,
            binder,
            in_flight,
            clock=clock,
            hooks=hooks,
            pointer=pointer,
        )
    elif config.mode is Mode.ASSIST and config.takes_annotations:
        listeners = replace(listeners, in_flight=_unseen_by_annotations(state, clock))
    if refusing:
        # Whoever refuses nodes has to be asked before pods are evicted from them.
        others["preempt"] = preemptions = Preemptions(
            requests,
            refusing,
            may_be_empty=config.scheduler_takes_empty_victims,
            clock=clock,
            release_nomination=None if pointer is None else pointer.release_nomination,
            preemption=preemptor,
        )
        helpers: list[Helper] = [*hooks]
        if context.refused is not None:
            helpers.append(context.refused)
        listeners = replace(listeners, helpers=helpers, held=preemptions.held)
    filters: Callback
    if refusing or judging is not None:
        resolvable = config.resolves_refusals
        filters = Filters(requests, refusing, resolvable=resolvable, listeners=listeners)
    else:
        filters = passing_filter()
        if config.mode is Mode.ASSIST:
            others["preempt"] = passing_preempt(may_be_empty=config.scheduler_takes_empty_victims)
    callbacks: dict[str, Callback] = {"filter": filters, "prioritize": priorities, **others}
    serving = config.serving
    hosts = serving.allowed_hosts if serving.tls_cert_file is None else None
    return callbacks_app(callbacks, metrics, serving.max_body_bytes, hosts)


def _interact(state: ClusterState, config: Config) -> Callable[[PodClass, PodClass], bool]:
    """Return what tells whether pods get in each other's way, by the rules that are ours."""
    if PluginName.INTER_POD_AFFINITY in config.plugins:
        return partial(interact, state)
    return _interact_by_annotation(state)


def _interact_by_annotation(state: ClusterState) -> Callable[[PodClass, PodClass], bool]:
    return lambda one, other: interact(state, one.by_annotation, other.by_annotation)


def _unseen_by_scores(state: ClusterState, clock: Callable[[], float]) -> InFlightPods:
    interact, budget = partial(prefer, state), WaitBudget(clock)
    return _unseen_pods(state, clock, interact, budget, hold=SCORE_HOLD_SECONDS, most_alike=FEW)


def _unseen_by_annotations(state: ClusterState, clock: Callable[[], float]) -> InFlightPods:
    loss = "rules in annotations may be broken between them and pods placed right after them"
    interact, budget = _interact_by_annotation(state), WaitBudget(clock, loss)
    return _unseen_pods(state, clock, interact, budget, hold=UNSEEN_HOLD_SECONDS)


def _unseen_pods(
    state: ClusterState,
    clock: Callable[[], float],
    interact: Callable[[PodClass, PodClass], bool],
    budget: WaitBudget,
    *,
    hold: float,
    most_alike: int | None = None,
) -> InFlightPods:
    """Return the pods that the scheduler places by our answers, until the watch shows where."""
    in_flight = InFlightPods(
        interact,
        known=lambda pod: state.pod(pod.key, pod.uid),
        most_alike=most_alike,
        budget=budget,
        hold=hold,
        clock=clock,
    )
    state.pod_observers.append(in_flight.look_again)
    return in_flight


def build_ops(
    context: Context, readiness: Mapping[str, Check], shown: Shown, parts: Sequence[Part] = ()
) -> Application:
    """Build the operations port's application, with the page for people."""
    config = context.config
    readiness = {**readiness, **dict(chain.from_iterable(each.checks.items() for each in parts))}
    ops = ops_app(
        configuration=effective(config),
        readiness=readiness,
        metrics=context.metrics,
        domains=Domains(context.state, context.unsynced, context.turns),
        hosts=config.serving.allowed_hosts,
        routes=chain.from_iterable(each.routes for each in parts),
    )
    sections = chain.from_iterable(each.sections for each in parts)
    Pages(shown, readiness, sections).add_to(ops)
    return ops
