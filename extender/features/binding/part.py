"""What the program gets where the extender binds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.requests import Requests
from extender.core.enabled import enforced
from extender.core.metrics.series import Collectors, CounterRow
from extender.core.parts import Context, Part
from extender.core.verbs.interaction import interacting
from extender.core.web.app import Callback
from extender.features.binding.binds import Binds, NoApiServer, PodBinder

RESULTS: Final = ("bound", "refused", "unclear", "error")


class Placing(Part):
    """Answers bind. Filter waits for the pods whose bind is not decided."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._row = self.metrics(context.metrics.make)
        self._clock = context.clocks.clock
        interact = interacting(context.state, specs=context.config.enforces_specs)
        self._awaited: Final = InFlightPods(interact, clock=self._clock)
        self.in_flight = self._awaited

    @staticmethod
    def metrics(make: Collectors) -> CounterRow:
        return make.counters("bind", "Bind calls, by result.", result=RESULTS)

    def callbacks(self, requests: Requests) -> Mapping[str, Callback]:
        plugins, binder = enforced(self._context.config), self._binder()
        picture = self._context.source.picture
        binds = Binds(
            requests, plugins, binder, self._awaited, self._row, picture=picture, clock=self._clock
        )
        return {"bind": binds}

    def _binder(self) -> PodBinder:
        api = self._context.source.api
        if api is None:
            return NoApiServer()
        from extender.features.binding.binder import Binder  # noqa: PLC0415

        return Binder(api.client, api.objects)


PART = Placing
