"""Builds the callbacks and what runs beside them, as the configuration has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from extender.callbacks.in_flight import (
    FEW,
    SCORE_HOLD_SECONDS,
    InFlightPods,
    unseen,
)
from extender.callbacks.passing import passing_filter, passing_preempt
from extender.callbacks.prioritizing import Priorities
from extender.callbacks.requests import Requests
from extender.callbacks.wait_budget import WaitBudget
from extender.cluster.state import ClusterState
from extender.config import Mode, effective
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.moving import EvictionLimits
from extender.controllers.eviction.repair import RepairController
from extender.controllers.eviction.repair_mover import RepairLimits
from extender.controllers.eviction.stopping import Stopping
from extender.controllers.eviction.turns import EvictionTurns, Notes
from extender.enabled import enforced, score_plugins
from extender.parts import Context, Part, Program
from extender.ports import Check, Hook
from extender.reading import pods_apart
from extender.source import pod_reader
from extender.verbs.interaction import prefer
from extender.web.app import Application, Callback, LastCalls, callbacks_app
from extender.web.ops import ops_app
from extender.wire.limits import OF_REQUESTS


def build_callbacks(context: Context, hooks: Sequence[Hook] = ()) -> Application:
    """Build the callbacks' application; binding and preemption go with the hard rules."""
    config, state, metrics = context.config, context.state, context.metrics
    clock = context.clocks.clock
    refusing = enforced(config)
    pods = pods_apart(pod_reader(config, OF_REQUESTS.entries, asked=True))
    judging = next((each for each in hooks if each.judges), None)
    requests = Requests(
        state, metrics, pods, context.warm_up, context.unsynced, asks=context.askers.note
    )
    priorities = Priorities(
        requests,
        score_plugins(config),
        max_score=config.prioritize.max_score,
        mode=config.mode,
        in_flight=_unseen_by_scores(state, clock) if config.mode is Mode.ASSIST else None,
    )
    callbacks: dict[str, Callback] = {"filter": passing_filter(), "prioritize": priorities}
    if refusing or judging is not None:
        from extender.judging import judged  # noqa: PLC0415 - the default passes every node

        callbacks |= judged(context, requests, refusing, hooks, priorities.filter_answered)
    elif config.mode is Mode.ASSIST:
        empty = config.scheduler_takes_empty_victims
        callbacks["preempt"] = passing_preempt(may_be_empty=empty)
    serving = config.serving
    hosts = serving.allowed_hosts if serving.tls_cert_file is None else None
    return callbacks_app(callbacks, metrics, serving.max_body_bytes, hosts)


def _unseen_by_scores(state: ClusterState, clock: Callable[[], float]) -> InFlightPods:
    interact, budget = partial(prefer, state), WaitBudget(clock)
    return unseen(state, clock, interact, budget, hold=SCORE_HOLD_SECONDS, most_alike=FEW)


@dataclass(frozen=True, slots=True)
class Evicting:
    """What evicts running pods, where it is enabled."""

    eviction: EvictionController | None = None
    repair: RepairController | None = None
    stopping: Stopping | None = None

    @property
    def checks(self) -> Mapping[str, Check]:
        """Return what it has to say beside readiness."""
        return {} if self.stopping is None else {"moves": self.stopping.check}


def build_evicting(context: Context) -> Evicting:
    """Build what moves pods for their rules, where that is wanted and somebody can be told."""
    source, config = context.source, context.config
    settings, preferred = config.required_during_execution, config.preferred_during_execution
    mover, leadership = source.mover, source.leadership
    if mover is None or leadership is None or not config.moves_pods:
        return Evicting()
    live, dry = (
        EvictionTurns.of(
            leadership,
            context.state,
            settings.evictions_per_minute,
            context.clocks.clock,
            dry_run=dry_run,
        )
        for dry_run in (False, True)
    )
    leadership.keep(Notes(live, context.askers))
    limits = EvictionLimits(
        settings.evictions_per_minute,
        settings.grace_period_seconds,
        settings.share,
        settings.dry_run,
    )
    shared = context.of_controllers, mover
    eviction = repair = None
    if settings.enabled:
        eviction = EvictionController(
            *shared,
            dry if settings.dry_run else live,
            execution=settings.execution,
            limits=limits,
            unready=context.unsynced,
        )
    if preferred.enabled:
        repair = RepairController(
            *shared,
            dry if preferred.dry_run else live,
            limits=RepairLimits(
                preferred.min_gain, preferred.settle_seconds, preferred.rest_seconds
            ),
            eviction=replace(limits, dry_run=preferred.dry_run),
            asks=context.askers.asks,
            unready=context.unsynced,
        )
    return Evicting(eviction, repair, Stopping(*shared, live))


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
