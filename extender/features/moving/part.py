"""What the program gets where running pods are moved for their rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from extender.core.enabled import filter_plugins
from extender.core.metrics.series import Collectors
from extender.core.parts import Context, Part, Task
from extender.core.ports import Hook, Leadership
from extender.features.moving.askers import Askers, Listening
from extender.features.moving.eviction import EvictionController
from extender.features.moving.known import Known
from extender.features.moving.mover import EvictionLimits
from extender.features.moving.repair import RepairController
from extender.features.moving.repair_mover import RepairLimits
from extender.features.moving.rows import Rows
from extender.features.moving.rules.books import Books
from extender.features.moving.rules.execution import Execution
from extender.features.moving.section import PreferredDuringExecution, RequiredDuringExecution
from extender.features.moving.shared import Shared
from extender.features.moving.steering import Steering
from extender.features.moving.stopping import Stopping
from extender.features.moving.turns import EvictionTurns, Notes


class Moving(Part):
    """Evicts pods for required and for preferred rules, each where that is on.

    Nothing of it runs on a cluster from files.
    """

    def __init__(self, context: Context) -> None:
        required = context.config.section(RequiredDuringExecution)
        rows = self.metrics(context.metrics.make)
        books = Books.of(context.state, Execution(required.plain))
        self.ledgers = books.ledgers
        self._running: Mapping[str, EvictionController | RepairController | Stopping] = {}
        api, leadership = context.source.api, context.source.leadership
        if api is not None and leadership is not None:
            from extender.features.moving.evictor import ApiMover  # noqa: PLC0415

            port = ApiMover(api.client, api.objects, api.lease)
            self._act(context, Shared(books, rows, port), leadership)

    @staticmethod
    def metrics(make: Collectors) -> Rows:
        """Make its rows."""
        return Rows.made(make)

    def _act(self, context: Context, shared: Shared, leadership: Leadership) -> None:
        config, clocks = context.config, context.clocks
        required = config.section(RequiredDuringExecution)
        preferred = config.section(PreferredDuringExecution)
        per_minute = required.evictions_per_minute
        live, dry = (
            EvictionTurns.of(leadership, shared.books, per_minute, clocks.clock, dry_run=dry_run)
            for dry_run in (False, True)
        )
        askers = Askers(clocks.epoch)
        leadership.keep(Notes(live, askers))
        hooks: list[Hook] = [Listening(askers)]
        limits = EvictionLimits(
            per_minute, required.grace_period_seconds, required.share, required.dry_run
        )
        shared_by_all = context.of_controllers, shared
        eviction = repair = None
        if required.enabled:
            eviction = EvictionController(
                *shared_by_all,
                dry if required.dry_run else live,
                execution=Execution(required.plain),
                limits=limits,
                unready=context.unsynced,
            )
        if preferred.enabled:
            repair = RepairController(
                *shared_by_all,
                dry if preferred.dry_run else live,
                limits=RepairLimits(
                    preferred.min_gain, preferred.settle_seconds, preferred.rest_seconds
                ),
                eviction=replace(limits, dry_run=preferred.dry_run),
                asks=askers.asks,
                holds=(lambda _: False) if eviction is None else eviction.holds,
                unready=context.unsynced,
            )
            plugins, successors = filter_plugins(config), shared.books.successors
            hooks.append(Steering(context.state, successors, plugins, preferred.min_gain))
        stopping = Stopping(*shared_by_all, live)
        self.hooks = tuple(hooks)
        self.checks = {"moves": stopping.check}
        context.findings.append(Known(context.state, eviction, repair))
        acting = {"eviction": eviction, "repair": repair, "stopping": stopping}
        self._running = {name: each for name, each in acting.items() if each is not None}

    def tasks(self) -> Iterator[Task]:
        """Yield what evicts, where there is an API server."""
        return ((name, each.run()) for name, each in self._running.items())


PART = Moving
