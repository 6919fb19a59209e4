"""The callbacks as the program puts them together by its configuration, without an API server."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.context import Clocks
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.source import Source, StillPicture
from extender.core.warm_up import WarmUp
from extender.core.web.app import CALLBACKS
from extender.wiring import build_callbacks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from extender.core.cluster.state import ClusterState
    from extender.core.config import Config
    from extender.core.ports import Check
    from extender.core.source import ApiServer
    from extender.core.web.app import Callback


def context_over(
    state: ClusterState,
    unready: str | None = None,
    metrics: Metrics | None = None,
    fields: Mapping[str, Any] | None = None,
    **more: Any,
) -> Context:
    """Return what parts share, by a configuration with some fields."""
    metrics, source = metrics or Metrics(), Source("a test", StillPicture({}, {}))
    config = decode({"apiVersion": API_VERSION, "kind": KIND, **(fields or {})})
    shared = config, source, state, metrics, lambda: unready, WarmUp(state, metrics), History()
    return Context(*shared, **more)


def wired(
    config: Config,
    state: ClusterState,
    metrics: Metrics | None = None,
    *,
    unsynced: Check = lambda: None,
    clock: Callable[[], float] = monotonic,
    api: ApiServer | None = None,
) -> Mapping[str, Callback]:
    """Return the callbacks by their verbs."""
    metrics = metrics or Metrics()
    context = Context(
        config,
        Source("a test", StillPicture({}, {}), api=api),
        state,
        metrics,
        unsynced,
        WarmUp(state, metrics, clock=clock),
        History(clock),
        Clocks(clock, clock, lambda: 0.5),
    )
    return build_callbacks(context, build_parts(context))[CALLBACKS]
