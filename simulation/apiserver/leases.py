"""Leases: whoever writes one names the version that the write is based on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from simulation.apiserver.requests import Request
from simulation.apiserver.store import PATHS, Json, Refused, Store

_GROUP = PATHS["leases"].removesuffix("leases")


def is_about_lease(path: str) -> bool:
    return path.startswith(_GROUP)


def lease_act(store: Store, request: Request) -> Callable[[], Json]:
    *_, namespace, _, name = request.path.rstrip("/").split("/")
    key = f"{namespace}/{name}"
    if request.method == "GET":
        return lambda: store.get("leases", key)
    sent: Any = msgspec.json.decode(request.body)
    if request.method == "POST":
        return lambda: store.create("leases", sent, request.by)

    def change(found: Json) -> Json:
        if sent["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", f"leases {key!r}: the object has been modified")
        annotations = sent["metadata"].get("annotations", {})
        metadata = {**found["metadata"], "annotations": annotations}
        return {**found, "metadata": metadata, "spec": sent["spec"]}

    return lambda: store.update("leases", key, change, request.by)
