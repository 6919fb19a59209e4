"""Builds the callbacks and what runs beside them, as the configuration has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

from extender.core.callbacks.in_flight import (
    FEW,
    SCORE_HOLD_SECONDS,
    InFlightPods,
    unseen,
)
from extender.core.callbacks.passing import passing_filter, passing_preempt
from extender.core.callbacks.prioritizing import Priorities
from extender.core.callbacks.requests import Requests
from extender.core.callbacks.wait_budget import WaitBudget
from extender.core.cluster.state import ClusterState
from extender.core.config import Mode, effective
from extender.core.config.features import left_to_scheduler
from extender.core.enabled import enforced, score_plugins
from extender.core.parts import Context, Part, Program
from extender.core.ports import Check
from extender.core.reading import pods_apart
from extender.core.source import pod_reader
from extender.core.verbs.interaction import prefer
from extender.core.web.app import Application, Callback, LastCalls, callbacks_app
from extender.core.web.ops import ops_app
from extender.core.wire.limits import OF_REQUESTS


def build_callbacks(
    context: Context, parts: Sequence[Part] = (), stopping: Callable[[], bool] = lambda: False
) -> Application:
    """Build the callbacks' application, with what parts add; preemption goes with hard rules."""
    config, state, metrics = context.config, context.state, context.metrics
    clock = context.clocks.clock
    refusing = enforced(config)
    hooks = [*chain.from_iterable(each.hooks for each in parts)]
    pods = pods_apart(pod_reader(config, OF_REQUESTS.entries, asked=True))
    state.forgetful.append(pods.here.forgetting)
    requests = Requests(state, metrics, pods, context.warm_up, context.unsynced, hooks=hooks)
    priorities = Priorities(
        requests,
        score_plugins(config),
        max_score=config.prioritize.max_score,
        mode=config.mode,
        in_flight=_unseen_by_scores(state, clock) if config.mode is Mode.ASSIST else None,
    )
    callbacks: dict[str, Callback] = {"filter": passing_filter(), "prioritize": priorities}
    for each in parts:
        callbacks |= each.callbacks(requests)
    if refusing or any(each.judges for each in hooks):
        from extender.judging import judged  # noqa: PLC0415 - the default passes every node

        in_flight = next((each.in_flight for each in parts if each.in_flight is not None), None)
        callbacks |= judged(context, requests, refusing, in_flight, priorities.filter_answered)
    elif config.mode is Mode.ASSIST:
        empty = config.scheduler_takes_empty_victims
        callbacks["preempt"] = passing_preempt(may_be_empty=empty)
    if elsewhere := left_to_scheduler(config):
        from extender.judging import judged_elsewhere  # noqa: PLC0415 - few have such profiles

        apart = Requests(state, metrics, pods, context.warm_up, context.unsynced)
        callbacks |= judged_elsewhere(context, apart, elsewhere, callbacks)
    serving = config.serving
    hosts = serving.allowed_hosts if serving.tls_cert_file is None else None
    return callbacks_app(callbacks, metrics, serving.max_body_bytes, hosts, stopping)


def _unseen_by_scores(state: ClusterState, clock: Callable[[], float]) -> InFlightPods:
    interact, budget = partial(prefer, state), WaitBudget(clock)
    return unseen(state, clock, interact, budget, hold=SCORE_HOLD_SECONDS, most_alike=FEW)


def build_ops(
    context: Context,
    readiness: Mapping[str, Check],
    parts: Sequence[Part] = (),
    *,
    calls: LastCalls,
    callbacks_url: str,
) -> Application:
    """Build the operations port's application, with what parts add."""
    config = context.config
    readiness = {**readiness, **dict(chain.from_iterable(each.checks.items() for each in parts))}
    sections = tuple(chain.from_iterable(each.sections for each in parts))
    program = Program(readiness, sections, calls, callbacks_url)
    for each in parts:
        each.built(program)
    return ops_app(
        configuration=effective(config),
        readiness=readiness,
        metrics=context.metrics,
        hosts=config.serving.allowed_hosts,
        routes=chain.from_iterable(each.routes for each in parts),
    )
