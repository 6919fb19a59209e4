"""Builds the callbacks that judge nodes: filter, and preempt with the hard rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from extender.core.callbacks.filtering import Filters, Helper, Listeners
from extender.core.callbacks.in_flight import UNSEEN_HOLD_SECONDS, InFlightPods, unseen
from extender.core.callbacks.preempting import Preemptions
from extender.core.callbacks.requests import Requests
from extender.core.callbacks.wait_budget import WaitBudget
from extender.core.config.features import more_rules
from extender.core.parts import Context
from extender.core.verbs.interaction import interacting
from extender.core.verbs.plugins import Plugins
from extender.core.web.app import Callback


def judged(
    context: Context,
    requests: Requests,
    refusing: Plugins,
    in_flight: InFlightPods | None,
    answered: Callable[[], None],
) -> dict[str, Callback]:
    """Build filter, and preempt where nodes are refused; by verb."""
    config, hooks, clock = context.config, requests.hooks, context.clocks.clock
    judging = next((each for each in hooks if each.judges), None)
    pointer = next((each.pointer for each in hooks if each.pointer), None)
    preemptor = next((each.preemptor for each in hooks if each.preemptor), None)
    if in_flight is None and refusing and (config.enforces_specs or more_rules(config)):
        in_flight = _unseen(context)
    listeners = Listeners(judging=judging, answered=answered, in_flight=in_flight)
    callbacks: dict[str, Callback] = {}
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


def _unseen(context: Context) -> InFlightPods:
    state, specs = context.state, context.config.enforces_specs
    rules = "rules" if specs else "rules in annotations"
    loss = f"{rules} may be broken between them and pods placed right after them"
    budget = WaitBudget(context.clocks.clock, loss)
    interact = interacting(state, specs=specs)
    return unseen(state, context.clocks.clock, interact, budget, hold=UNSEEN_HOLD_SECONDS)
