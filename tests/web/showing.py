"""The page over a state that a test has put together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from extender.callbacks.refused_pods import RefusedPods
from extender.cluster.state import ClusterState
from extender.controllers.history import History
from extender.metrics import Metrics
from extender.model.labels import EVERYTHING
from extender.parts import Part
from extender.ports import Check
from extender.web.domains import Domains
from extender.web.ops import ops_app
from extender.web.page.pages import Pages
from extender.web.page.status import RecentCalls, ResourceStatus, Shown, Status
from extender.web.turns import Turns
from tests.builders import empty_state


def status(**changed: Any) -> Status:
    """Return what an extender in mode replace says of itself that began a minute ago."""
    now = time.time()
    known = Status(
        mode="replace",
        source="cluster.yaml",
        callbacks="http://127.0.0.1:10280",
        started=now - 61,
        resources=(ResourceStatus("pods", synced=True, objects=1234, last_event=now - 2),),
    )
    return replace(known, **changed)


def shown(
    state: ClusterState | None = None, metrics: Metrics | None = None, **changed: Any
) -> Shown:
    """Return what the page shows parts of."""
    state = state or empty_state(annotations=EVERYTHING)
    known = Shown(
        state,
        RecentCalls(metrics or Metrics()),
        Turns(),
        History(),
        lambda: None,
        status,
        refused=RefusedPods(state),
    )
    return replace(known, **changed)


def app_of(
    seen: Shown,
    readiness: Mapping[str, Check] | None = None,
    configuration: Mapping[str, Any] | None = None,
    metrics: Metrics | None = None,
    parts: Sequence[Part] = (),
) -> web.Application:
    """Serve the operations port with it, and with what features add."""
    app = ops_app(
        configuration=configuration or {},
        readiness=readiness or {},
        metrics=metrics or Metrics(),
        domains=Domains(seen.state, seen.unready, seen.turns),
        routes=[route for each in parts for route in each.routes],
    )
    sections = [section for each in parts for section in each.sections]
    Pages(seen, readiness or {}, sections).add_to(app)
    return app
