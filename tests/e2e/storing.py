"""Drawn and built objects as a real API server takes them, what it has, and how it goes again."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.applying import collection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.e2e.api import Api
    from tests.e2e.objects import JSON

OF_VOLUMES = (
    "StorageClass",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "PersistentVolumeClaim",
    "PersistentVolume",
)
_WITH_STATUS = {"Pod", "PersistentVolume", "PersistentVolumeClaim"}
"""Kinds whose status is left out when they are created."""


def admissible(thing: Mapping[str, object]) -> JSON:
    """Return a thing with what an API server wants to have; pods are of one priority."""
    made: JSON = json.loads(json.dumps(thing))
    # The garbage collector would look for the pods that claims belong to.
    for name in ("uid", "ownerReferences"):
        made["metadata"].pop(name, None)
    template = made.get("spec", {}).get("template", {})
    spec = made["spec"] if made["kind"] == "Pod" else template.get("spec", {})
    for name in ("priority", "preemptionPolicy"):
        spec.pop(name, None)
    for kind in ("containers", "initContainers"):
        for number, each in enumerate(spec.get(kind, ())):
            each |= {"name": f"{kind.lower()}-{number}", "image": "none.invalid/none"}
            asked = each.get("resources", {}).get("requests", {})
            if limits := {name: amount for name, amount in asked.items() if "/" in name}:
                each["resources"]["limits"] = limits
    return made


async def create(api: Api, thing: JSON) -> JSON:
    """Create a thing with its status, on its way out if it is drawn so."""
    path = f"{collection(thing)}/{thing['metadata']['name']}"
    made = await api.create(collection(thing), thing)
    if thing["kind"] in _WITH_STATUS and "status" in thing:
        await api.patch(f"{path}/status", {"status": thing["status"]})
    if "deletionTimestamp" in thing["metadata"]:
        await api.request("DELETE", path)
    return made


async def stored(api: Api, kind: str) -> list[JSON]:
    """Return all objects of a kind, in all namespaces, each with its kind."""
    path = collection({"kind": kind, "metadata": {}}).replace("/namespaces//", "/")
    listing = await api.get(path)
    return [each | {"kind": kind} for each in listing["items"]]


@asynccontextmanager
async def removed_afterwards(api: Api, *kinds: str) -> AsyncIterator[None]:
    """Leave neither volumes nor claims behind, nor anything of these kinds."""
    try:
        yield
    finally:
        for kind in (*kinds, *OF_VOLUMES):
            there = await stored(api, kind)
            for path in dict.fromkeys(map(collection, there)):
                await api.delete(path)
            for each in there:
                if each["metadata"].get("finalizers"):
                    path = f"{collection(each)}/{each['metadata']['name']}"
                    await api.patch(path, {"metadata": {"finalizers": None}})
