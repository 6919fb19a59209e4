"""What answers bind, as a program of today has it: its feature may be taken out."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.requests import Requests
from extender.core.config.features import Feature, Right, features
from extender.core.kube.client import ApiClient
from extender.core.parts import part_of
from extender.core.ports import ClusterReader
from extender.core.source import StillPicture
from extender.core.verbs.plugins import Plugins
from extender.core.web.app import Callback

_RIGHT = Right("", "pods/binding", "create")


def binds(
    requests: Requests,
    plugins: Plugins,
    in_flight: InFlightPods,
    clock: Callable[[], float],
    binder: object = None,
) -> Callback:
    """Build it; `binder` binds and reads pods, else there is no API server."""
    row, module = part_of(_feature()).metrics(requests.metrics.make), _module("binds")
    binder = module.NoApiServer() if binder is None else binder
    callback: Callback = module.Binds(
        requests, plugins, binder, in_flight, row, picture=StillPicture({}, {}), clock=clock
    )
    return callback


def binder_of(client: ApiClient, objects: ClusterReader) -> object:
    """Build what binds by requests."""
    binder: object = _module("binder").Binder(client, objects)
    return binder


def success() -> Any:
    """Return what a binder says of a pod that it has bound."""
    outcome: Any = _module("outcome")
    return outcome.Bound(outcome.BindOutcome.BOUND)


def _module(name: str) -> ModuleType:
    return _feature().module(name)


def _feature() -> Feature:
    (feature,) = (each for each in features() if _RIGHT in each.rights)
    return feature
