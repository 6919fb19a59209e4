"""Lists in pages, each list at one version, and tokens that expire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from affinityctl.reading.label_selectors import parse_selector
from simulation.apiserver.store import Json, Refused, Store

MOST_TOKENS: Final = 100


def collection_of(path: str) -> tuple[str, str]:
    """Return the path of all objects of a resource, and the namespace if it is one's alone."""
    head, _, rest = path.partition("/namespaces/")
    space, _, resource = rest.partition("/")
    one = bool(resource) and "/" not in resource
    return (f"{head}/{resource}", space) if one else (path, "")


def chosen(objects: list[Json], params: Mapping[str, str], space: str) -> list[Json]:
    """Return the objects that selectors choose; of fields, a pod's node alone is told here."""
    if space:
        objects = [each for each in objects if each["metadata"]["namespace"] == space]
    nodes = [
        each.removeprefix("spec.nodeName=")
        for each in params.get("fieldSelector", "").split(",")
        if each.startswith("spec.nodeName=")
    ]
    if nodes:
        objects = [each for each in objects if each["spec"].get("nodeName") in nodes]
    if "labelSelector" not in params:
        return objects
    selector = parse_selector(params["labelSelector"], "labelSelector")
    return [each for each in objects if selector.matches(each["metadata"].get("labels", {}))]


class Pages:
    """The lists that clients are in the middle of."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rest: dict[str, tuple[int, list[Json]]] = {}
        self._number = 0

    def first(self, objects: list[Json], version: int, limit: int) -> Json:
        page, rest = objects[:limit], objects[limit:]
        metadata: Json = {"resourceVersion": str(version - self._store.ahead)}
        if rest:
            self._number += 1
            token = metadata["continue"] = f"page-{self._number}"
            self._rest[token] = version, rest
            if len(self._rest) > MOST_TOKENS:
                # Whoever asks for one object alone never comes back for the rest.
                del self._rest[next(iter(self._rest))]
        return {"kind": "List", "metadata": metadata, "items": page}

    def next(self, token: str, limit: int) -> Json:
        """Return the page after a token; 410 when its version is compacted."""
        version, rest = self._rest.pop(token, (-1, []))
        if version < self._store.compacted:
            raise Refused(410, "Expired", "The provided continue parameter is too old")
        return self.first(rest, version, limit)
