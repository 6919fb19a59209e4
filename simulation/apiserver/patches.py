"""Patches of whole objects: a merge patch (RFC 7386), or a JSON Patch (RFC 6902) on maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.apiserver.store import Json, Refused

COST = "controller.kubernetes.io/pod-deletion-cost"
LARGEST_COST = (1 << 31) - 1


def patched(obj: Json, patch: Any) -> Json:
    """Return a pod as a patch leaves it; 409 if it names another uid or version, 422 if invalid."""
    changed = _operated(obj, patch) if isinstance(patch, list) else _merged(obj, patch)
    for name in ("uid", "resourceVersion"):
        if changed["metadata"].get(name) != obj["metadata"].get(name):
            raise Refused(409, "Conflict", f"{name} is not {changed['metadata'].get(name)}")
    check_cost(changed)
    return changed


def check_cost(pod: Json) -> None:
    """Raise 422 as ValidatePodSpecificAnnotations does: a cost is a number of 32 bits."""
    cost = (pod["metadata"].get("annotations") or {}).get(COST, "0")
    plain = isinstance(cost, str) and cost.removeprefix("-").isdigit()
    if not plain or str(int(cost)) != cost or not -LARGEST_COST - 1 <= int(cost) <= LARGEST_COST:
        raise Refused(422, "Invalid", f"must be a 32bit integer: {cost!r}")


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    kept = old if isinstance(old, dict) else {}
    changed = {**kept, **{name: _merged(kept.get(name), each) for name, each in patch.items()}}
    return {name: each for name, each in changed.items() if each is not None}


def _operated(obj: Json, operations: Sequence[Json]) -> Json:
    for each in operations:
        *parents, last = (_unescaped(name) for name in each["path"].split("/")[1:])
        obj = _operated_at(obj, parents, last, each)
    return obj


def _operated_at(found: Any, parents: Sequence[str], last: str, operation: Json) -> Json:
    path = operation["path"]
    if not isinstance(found, dict):
        raise Refused(422, "Invalid", f"no such path: {path}")
    if parents:
        name, *more = parents
        return {**found, name: _operated_at(found.get(name), more, last, operation)}
    match operation["op"]:
        case "test":
            if found.get(last) != operation["value"]:
                raise Refused(422, "Invalid", f"testing {path} failed")
            return found
        case "remove" | "replace" if last not in found:
            raise Refused(422, "Invalid", f"no such path: {path}")
        case "remove":
            return {name: each for name, each in found.items() if name != last}
        case _:
            return {**found, last: operation["value"]}


def _unescaped(name: str) -> str:
    return name.replace("~1", "/").replace("~0", "~")
