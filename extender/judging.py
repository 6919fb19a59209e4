"""Builds the callbacks that judge nodes: filter, and preempt and bind with the hard rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from extender.core.callbacks.binding import Binds
from extender.core.callbacks.filtering import Filters, Helper, Listeners
from extender.core.callbacks.in_flight import UNSEEN_HOLD_SECONDS, InFlightPods, unseen
from extender.core.callbacks.preempting import Preemptions
from extender.core.callbacks.requests import Requests
from extender.core.callbacks.wait_budget import WaitBudget
from extender.core.cluster.state import ClusterState
from extender.core.config import Config, Mode, PluginName
from extender.core.model.objects import PodClass
from extender.core.parts import Context
from extender.core.ports import Hook
from extender.core.verbs.interaction import interact
from extender.core.verbs.plugins import Plugins
from extender.core.web.app import Callback


def judged(
    context: Context,
    requests: Requests,
    refusing: Plugins,
    hooks: Sequence[Hook],
    answered: Callable[[], None],
) -> dict[str, Callback]:
    """Build filter, and of preempt and bind what goes with what is refused; by verb."""
    config, state, clock = context.config, context.state, context.clocks.clock
    judging = next((each for each in hooks if each.judges), None)
    pointer = next((each.pointer for each in hooks if each.pointer), None)
    preemptor = next((each.preemptor for each in hooks if each.preemptor), None)
    listeners = Listeners(judging=judging, answered=answered)
    callbacks: dict[str, Callback] = {}
    if config.mode is Mode.REPLACE:
        in_flight = InFlightPods(_interact(state, config), clock=clock)
        listeners = replace(listeners, in_flight=in_flight)
        binder = context.source.binder
        callbacks["bind"] = Binds(
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
        # As filter refuses nodes, the scheduler has to ask before it evicts pods from them.
        callbacks["preempt"] = preemptions = Preemptions(
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
    resolvable = config.resolves_refusals
    callbacks["filter"] = Filters(requests, refusing, resolvable=resolvable, listeners=listeners)
    return callbacks


def _interact(state: ClusterState, config: Config) -> Callable[[PodClass, PodClass], bool]:
    if PluginName.INTER_POD_AFFINITY in config.plugins:
        return partial(interact, state)
    return _interact_by_annotation(state)


def _interact_by_annotation(state: ClusterState) -> Callable[[PodClass, PodClass], bool]:
    return lambda one, other: interact(state, one.by_annotation, other.by_annotation)


def _unseen_by_annotations(state: ClusterState, clock: Callable[[], float]) -> InFlightPods:
    loss = "rules in annotations may be broken between them and pods placed right after them"
    interact, budget = _interact_by_annotation(state), WaitBudget(clock, loss)
    return unseen(state, clock, interact, budget, hold=UNSEEN_HOLD_SECONDS)
