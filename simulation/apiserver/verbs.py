"""What the API server does to pods beyond plain writes: bind, patch, delete and evict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from simulation.apiserver.patches import check_cost, patched
from simulation.apiserver.store import Json, Refused, Store, is_live, patched_status

NOMINATED: Final = "/status/nominatedNodeName"
DISRUPTION_TARGET: Final = "DisruptionTarget"


def bind(
    store: Store,
    key: str,
    uid: str,
    node: str,
    by: str,
    *,
    annotations: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Set a pod's node, once and for all, and the Binding's annotations (BindingREST.assignPod)."""

    def assign(pod: Json) -> Json:
        if "deletionTimestamp" in pod["metadata"]:
            raise Refused(409, "Conflict", f"pod {key} is being deleted, cannot be assigned")
        found = pod["spec"].get("nodeName")
        if found:
            raise Refused(409, "Conflict", f"pod {key} is already assigned to node {found!r}")
        # As since 1.35: what is bound is no longer nominated.
        cleared = patched_status(pod, nominatedNodeName=None, scheduled=True)
        bound = {**cleared, "spec": {**pod["spec"], "nodeName": node}}
        return _annotated(bound, annotations) if annotations else bound

    store.update("pods", key, assign, by, uid=uid)


def _annotated(pod: Json, annotations: Mapping[str, str]) -> Json:
    metadata = pod["metadata"]
    changed = {**(metadata.get("annotations") or {}), **annotations}
    pod = {**pod, "metadata": {**metadata, "annotations": changed}}
    check_cost(pod)
    return pod


def patch(store: Store, key: str, what: Any, by: str) -> None:
    """Apply a merge patch or a JSON Patch to a pod, beyond its status."""
    store.update("pods", key, lambda pod: patched(pod, what), by)


def patch_status(store: Store, key: str, operations: list[dict[str, Any]], by: str) -> None:
    """Apply a JSON Patch of the kind that hints are set and withdrawn with."""

    def apply(pod: Json) -> Json:
        for operation in operations:
            pod = _applied(pod, operation)
        return pod

    store.update("pods", key, apply, by)


def _applied(pod: Json, operation: dict[str, Any]) -> Json:
    path = operation["path"]
    if path == "/metadata/uid":
        held = pod["metadata"]["uid"]
    elif path == "/spec/nodeName":
        held = pod["spec"].get("nodeName")
    elif path == NOMINATED:
        held = pod["status"].get("nominatedNodeName")
    else:
        raise Refused(422, "Invalid", f"no such path here: {path}")
    match operation["op"]:
        case "test":
            if held != operation["value"]:
                raise Refused(422, "Invalid", f"testing {path} failed")
            return pod
        case "add":
            return patched_status(pod, nominatedNodeName=operation["value"])
        case "remove":
            if held is None:
                raise Refused(422, "Invalid", f"cannot remove {path}: there is none")
            return patched_status(pod, nominatedNodeName=None)
        case other:
            raise Refused(422, "Invalid", f"no such operation: {other}")


def mark(
    store: Store, key: str, conditions: list[Json], by: str, *, uid: str = "", version: str = ""
) -> None:
    """Change conditions of a pod; each is merged into the one of its type.

    With a resourceVersion, only if nothing was written to the pod since.
    """

    def change(pod: Json) -> Json:
        if version not in {"", pod["metadata"]["resourceVersion"]}:
            raise Refused(409, "Conflict", f"{key} has been modified")
        known = {each["type"]: each for each in pod["status"].get("conditions", ())}
        for each in conditions:
            # Times are those of the wall, so no two runs would be alike.
            new = {name: value for name, value in each.items() if name != "lastTransitionTime"}
            if "lastProbeTime" in new:
                new["lastProbeTime"] = f"version {store.version}"
            known[each["type"]] = {**known.pop(each["type"], {}), **new}
        return patched_status(pod, conditions=[*known.values()])

    store.update("pods", key, change, by, uid=uid)


def mark_of(pod: Json) -> str | None:
    """Return the message of a pod's condition DisruptionTarget, None when it is no such target."""
    for each in pod["status"].get("conditions", ()):
        if each["type"] == DISRUPTION_TARGET and each["status"] == "True":
            return str(each["message"])
    return None


@dataclass(frozen=True, slots=True)
class Meant:
    """Which pod a request is about: preconditions."""

    uid: str = ""
    version: str = ""


ANY: Final = Meant()


def check(store: Store, key: str, meant: Meant) -> None:
    """Do nothing, if a pod is the one that is meant, as it was; 404 or 409 when it is not."""
    store.check_uid("pods", key, meant.uid)
    if meant.version not in {"", store.get("pods", key)["metadata"]["resourceVersion"]}:
        raise Refused(409, "Conflict", f"resourceVersion: {key} has changed since {meant.version}")


def delete(
    store: Store, key: str, by: str, meant: Meant = ANY, *, grace: float | None = None
) -> None:
    """Delete a pod: at once when nobody runs it, else its kubelet is asked to end it first.

    It is marked in either case, so that watches show it as deleting before it is gone. Without
    `grace` it has its own.
    """
    check(store, key, meant)
    pod, uid = store.get("pods", key), meant.uid
    if grace is None:
        grace = float(pod["spec"].get("terminationGracePeriodSeconds", 30))
    at_once = not pod["spec"].get("nodeName") or not is_live(pod) or grace <= 0

    def mark(pod: Json) -> Json:
        if "deletionTimestamp" in pod["metadata"]:
            return pod
        marks = {
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": 0 if at_once else int(grace),
        }
        return {**pod, "metadata": {**pod["metadata"], **marks}}

    store.update("pods", key, mark, by, uid=uid)
    if at_once:
        store.remove("pods", key, by, uid=uid)


def evict(
    store: Store,
    key: str,
    by: str,
    meant: Meant = ANY,
    *,
    grace: float | None = None,
    dry_run: bool = False,
) -> None:
    """Delete a pod if the disruption budgets about it allow that; 429 when one does not."""
    check(store, key, meant)
    pod = store.get("pods", key)
    if "deletionTimestamp" in pod["metadata"]:
        return
    if not budgets_allow(store, pod):
        raise Refused(429, "TooManyRequests", "it would violate a disruption budget")
    if dry_run:
        return
    for budget in _protecting(store, pod):
        name = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
        store.update("poddisruptionbudgets", name, _spent, by)
    delete(store, key, by, grace=grace)


def budgets_allow(store: Store, pod: Json) -> bool:
    return all(each["status"]["disruptionsAllowed"] > 0 for each in _protecting(store, pod))


def _protecting(store: Store, pod: Json) -> list[Json]:
    return [each for each in store.all("poddisruptionbudgets").values() if is_about(each, pod)]


def is_about(budget: Json, pod: Json) -> bool:
    """Tell whether a budget protects a pod; budgets here select by one set of labels."""
    labels = pod["metadata"].get("labels", {})
    wanted = budget["spec"]["selector"]["matchLabels"]
    same = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and all(labels.get(name) == value for name, value in wanted.items())


def _spent(budget: Json) -> Json:
    left = budget["status"]["disruptionsAllowed"] - 1
    return {**budget, "status": {**budget["status"], "disruptionsAllowed": left}}
