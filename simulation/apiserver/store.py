"""What etcd holds, by version, and the rules by which the API server changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from simulation.apiserver.label_keys import LabelKeys

Json: TypeAlias = dict[str, Any]
"""An object; never changed in place, so that history and caches can share it."""

PATHS: Final = {
    "namespaces": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
    "resourcequotas": "/api/v1/resourcequotas",
    "podgroups": "/apis/scheduling.k8s.io/v1beta1/podgroups",
    "leases": "/apis/coordination.k8s.io/v1/leases",
}
FIRST_VERSION: Final = 1_000
KEPT_EVENTS: Final = 100_000
RESTORE: Final = "restore"
"""Who makes the changes that a restore comes down to."""


class Refused(Exception):  # noqa: N818 - a refusal is an answer
    """An answer of the API server that is no success."""

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.causes: list[Json] = []


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    version: int
    resource: str
    key: str
    old: Json | None
    new: Json | None
    by: str
    """Who asked for it."""
    ahead: int = 0

    @property
    def shown(self) -> int:
        """Return the version as clients see it."""
        return self.version - self.ahead


@dataclass(frozen=True, slots=True, eq=False)
class Backup:
    """What etcd had at some moment, and its version as clients saw it."""

    shown: int
    objects: Mapping[str, Mapping[str, Json]]


class Store:
    """All objects by resource and key, and what happened to them."""

    def __init__(self) -> None:
        self.version = FIRST_VERSION
        """Goes on when etcd is restored, so that changes have one order."""
        self.ahead = 0
        """By how much that is more than what clients see, which goes back."""
        self.compacted = FIRST_VERSION
        self.history: list[Change] = []
        self.observers: list[Callable[[Change], None]] = []
        self._objects: dict[str, dict[str, Json]] = {name: {} for name in PATHS}
        self._number = 0
        self._label_keys = LabelKeys()

    def all(self, resource: str) -> Mapping[str, Json]:
        return self._objects[resource]

    @property
    def count(self) -> int:
        return sum(map(len, self._objects.values()))

    def get(self, resource: str, key: str) -> Json:
        """Return an object; 404 without it."""
        found = self._objects[resource].get(key)
        if found is None:
            raise Refused(404, "NotFound", f"{resource} {key!r} not found")
        return found

    def new_uid(self) -> str:
        """Make a uid that nothing had before."""
        self._number += 1
        return f"uid-{self._number:06d}"

    def create(self, resource: str, obj: Json, by: str) -> Json:
        """Create an object; 409 where there is one of its name."""
        key = key_of(obj)
        if key in self._objects[resource]:
            raise Refused(409, "AlreadyExists", f"{resource} {key!r} already exists")
        if resource == "pods":
            obj = self._label_keys.merge(obj)
        metadata = {"uid": self.new_uid(), **obj["metadata"]}
        return self._write(resource, key, {**obj, "metadata": metadata}, by)

    def check_uid(self, resource: str, key: str, uid: str) -> None:
        """Do nothing, if an object is the one that is meant; 404 or 409 when it is not."""
        if uid and self.get(resource, key)["metadata"]["uid"] != uid:
            raise Refused(409, "Conflict", f"uid: {uid} is not that of {key}")

    def update(
        self, resource: str, key: str, change: Callable[[Json], Json], by: str, *, uid: str = ""
    ) -> Json:
        """Replace an object by what `change` makes of it; 404 or 409 when it is another one."""
        self.check_uid(resource, key, uid)
        found = self.get(resource, key)
        changed = change(found)
        return found if changed == found else self._write(resource, key, changed, by)

    def remove(self, resource: str, key: str, by: str, *, uid: str = "") -> None:
        self.check_uid(resource, key, uid)
        found = self.get(resource, key)
        self.version += 1
        del self._objects[resource][key]
        self._tell(Change(self.version, resource, key, found, None, by, self.ahead))

    def back_up(self, others: int = 0) -> Backup:
        """Copy what there is; `others` are writes that nobody here watches, and that come next."""
        copy = {name: {**each} for name, each in self._objects.items()}
        backup = Backup(self.version - self.ahead, copy)
        self.version += others
        # So that servers hear of the version.
        self._tell(Change(self.version, "leases", "", None, None, "others", self.ahead))
        return backup

    def restore(self, backup: Backup, *, bumped: bool = False) -> None:
        """Be as in a backup: what differs is told as changes, and versions are given out again.

        Unless they are `bumped` beyond those that there were, as `etcdutl --bump-revision` does.
        """
        before, self._objects = (
            self._objects,
            {name: {**each} for name, each in backup.objects.items()},
        )
        changes = [*_differences(before, self._objects)]
        if not bumped:
            self.ahead = self.version + len(changes) - backup.shown
        for resource, key, old, new in changes:
            self.version += 1
            self._tell(Change(self.version, resource, key, old, new, RESTORE, self.ahead))
        self.compact()

    def compact(self) -> None:
        """Forget everything but the present."""
        self.compacted = self.version
        self.history.clear()

    def since(self, resource: str, version: int) -> Iterator[Change]:
        """Yield the changes of a resource after a version; 410 when they are forgotten."""
        if version < self.compacted:
            raise Refused(410, "Expired", f"too old resource version: {version}")
        return (
            each for each in self.history if each.version > version and each.resource == resource
        )

    def _write(self, resource: str, key: str, obj: Json, by: str) -> Json:
        self.version += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self.version - self.ahead)}
        obj = {**obj, "metadata": metadata}
        old = self._objects[resource].get(key)
        self._objects[resource][key] = obj
        self._tell(Change(self.version, resource, key, old, obj, by, self.ahead))
        return obj

    def _tell(self, change: Change) -> None:
        self.history.append(change)
        if len(self.history) > KEPT_EVENTS:
            del self.history[: KEPT_EVENTS // 2]
            self.compacted = self.history[0].version - 1
        for observer in self.observers:
            observer(change)


def _differences(
    before: Mapping[str, Mapping[str, Json]], after: Mapping[str, Mapping[str, Json]]
) -> Iterator[tuple[str, str, Json | None, Json | None]]:
    """Yield resource, key, old and new: what differs goes, and comes as it was."""
    for resource in PATHS:
        was, is_ = before[resource], after[resource]
        for key in sorted({*was, *is_}):
            old, new = was.get(key), is_.get(key)
            if old is not None and old is not new:
                yield resource, key, old, None
            if new is not None and old is not new:
                yield resource, key, None, new


def key_of(obj: Json) -> str:
    """Return namespace/name, or the name of what has no namespace."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def is_live(pod: Json) -> bool:
    return pod["status"].get("phase") not in {"Succeeded", "Failed"}


def encode(obj: object) -> bytes:
    return msgspec.json.encode(obj)


def patched_status(pod: Json, **fields: Any) -> Json:
    """Return a pod with other values in its status; None takes a field away."""
    status = {**pod["status"], **fields}
    return {**pod, "status": {name: each for name, each in status.items() if each is not None}}
