"""Builds the callbacks that judge nodes: filter, and preempt with the hard rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from msgspec import structs

from extender.core.callbacks.by_profile import ByProfile
from extender.core.callbacks.filtering import Filters, Helper, Listeners
from extender.core.callbacks.in_flight import UNSEEN_HOLD_SECONDS, InFlightPods, unseen
from extender.core.callbacks.passing import NoScores, passing_filter, passing_preempt
from extender.core.callbacks.preempting import Preemptions
from extender.core.callbacks.requests import Requests
from extender.core.callbacks.wait_budget import WaitBudget
from extender.core.config import Mode
from extender.core.config.features import more_rules
from extender.core.enabled import enforced
from extender.core.parts import Context
from extender.core.verbs.interaction import interacting
from extender.core.verbs.plugins import Plugins
from extender.core.web.app import Callback


def judged(
    context: Context,
    requests: Requests,
    refusing: Plugins,
    in_flight: InFlightPods | None = None,
    answered: Callable[[], None] | None = None,
    *,
    waits: bool = True,
) -> dict[str, Callback]:
    """Build filter, and preempt where nodes are refused; by verb.

    With `waits`, filter waits for pods in flight: those given, or those that the watch will show.
    """
    config, hooks = context.config, requests.hooks
    judging = next((each for each in hooks if each.judges), None)
    pointer = next((each.pointer for each in hooks if each.pointer), None)
    preemptor = next((each.preemptor for each in hooks if each.preemptor), None)
    if waits and in_flight is None and refusing and (config.enforces_specs or more_rules(config)):
        in_flight = _unseen(context)
    listeners = Listeners(judging=judging, answered=answered, in_flight=in_flight)
    callbacks: dict[str, Callback] = {}
    if refusing:
        # As filter refuses nodes, the scheduler has to ask before it evicts pods from them.
        callbacks["preempt"] = preemptions = Preemptions(
            requests,
            refusing,
            may_be_empty=config.scheduler_takes_empty_victims,
            clock=context.clocks.clock,
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


def judged_elsewhere(
    context: Context,
    requests: Requests,
    profiles: Collection[str],
    usual: Mapping[str, Callback],
) -> dict[str, Callback]:
    """Build what pods get for whom the scheduler does all that it can, by their profiles; by verb.

    The usual bind looks at everything again. So no call waits for pods in flight; and whom the
    scheduler refuses by its own plugins, it helps itself.
    """
    config = structs.replace(context.config, mode=Mode.ASSIST)
    refusing, empty = enforced(config), config.scheduler_takes_empty_victims
    theirs: dict[str, Callback] = {
        "filter": passing_filter(warns=False),
        "preempt": passing_preempt(may_be_empty=empty, warns=False),
        "prioritize": NoScores(),
    }
    if refusing:
        assisting = replace(context, config=config, refused=None)
        theirs |= judged(assisting, requests, refusing, waits=False)
    return {
        verb: ByProfile(profiles, own, usual[verb]) for verb, own in theirs.items() if verb in usual
    }


def _unseen(context: Context) -> InFlightPods:
    state, specs = context.state, context.config.enforces_specs
    rules = "rules" if specs else "rules in annotations"
    loss = f"{rules} may be broken between them and pods placed right after them"
    budget = WaitBudget(context.clocks.clock, loss)
    interact = interacting(state, specs=specs)
    return unseen(state, context.clocks.clock, interact, budget, hold=UNSEEN_HOLD_SECONDS)
