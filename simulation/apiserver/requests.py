"""Requests that change something: what each asks for, and what may go wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

from simulation.apiserver.store import Json, Refused, Store
from simulation.apiserver.verbs import Meant, bind, check, delete, evict, mark, patch, patch_status


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    params: Mapping[str, str]
    body: bytes
    by: str
    made: float = 0.0
    """When, by the clock of everybody; long ago for one that was answered meanwhile."""

    @property
    def kind(self) -> Kind:
        last = self.path.rpartition("/")[2]
        if last == "binding":
            return Kind.BIND
        if self.method == "DELETE" or last in {"events", "eviction"} or self._is_merge:
            return Kind.EVICTION
        return Kind.OTHER

    @property
    def key(self) -> str:
        return pod_key(self.path)

    @property
    def unclear(self) -> tuple[int, ...]:
        """Return the answers that leave open what becomes of it.

        A conflict is none for an eviction, which the API server tries again (EvictionREST.Create).
        """
        return (500, 504) if self.path.endswith("/eviction") else (409, 500, 504)

    @property
    def _is_merge(self) -> bool:
        return self.method == "PATCH" and self.body.startswith(b"{")


def pod_key(path: str) -> str:
    return "/".join(path.split("/")[4:7:2])


def one_of(path: str) -> tuple[str, str]:
    """Return the resource and the key of the one object that a path is about."""
    parts = path.split("/")
    if parts[1] == "apis" and parts[4] == "namespaces":
        return parts[6], "/".join(parts[5:8:2])
    if parts[3] == "namespaces" and len(parts) > len(("", "api", "v1", "namespaces", "name")):
        return parts[5], pod_key(path)
    return parts[3], parts[4]


EVICTS: Final = "/evicts since "
"""Between who has an eviction carried out and when it was asked for."""


class Kind(Enum):
    BIND = "bind"
    EVICTION = "eviction"
    """A deletion, or what is written about it."""
    OTHER = "other"


@dataclass(slots=True)
class Troubles:
    """What is wrong with the server at present; numbers are chances from 0 to 1."""

    down: bool = False
    stalled_until: float = 0.0
    """Until then etcd carries out nothing."""
    throttled: float = 0.0
    """Turned away with 429."""
    lost: float = 0.0
    """Carried out, and the answer does not come."""
    unsure: float = 0.0
    """Binds answered with an error, and carried out a while later."""
    failing: float = 0.0
    """Binds answered with an error, and not carried out."""
    unsure_evictions: float = 0.0
    failing_evictions: float = 0.0
    forbidden: float = 0.0
    """Evictions that the extender has no right to (any more)."""

    def any(self, now: float) -> bool:
        chances = self.throttled, self.lost, self.unsure, self.failing
        about = self.unsure_evictions, self.failing_evictions, self.forbidden
        return self.down or self.stalled_until > now or any((*chances, *about))

    def refusal(self, request: Request) -> Refused | None:
        """Return how the server turns a request away that it has not the right to."""
        deletes = request.kind is Kind.EVICTION and "extender" in request.by
        if deletes and self.forbidden:
            what = f'cannot {request.method.lower()} resource "pods"'
            why = f'pods "{request.key}" is forbidden: User "{request.by}" {what}'
            return Refused(403, "Forbidden", why)
        return None

    def chances(self, kind: Kind) -> tuple[float, float]:
        match kind:
            case Kind.BIND:
                return self.failing, self.unsure
            case Kind.EVICTION:
                return self.failing_evictions, self.unsure_evictions
            case Kind.OTHER:
                return 0.0, 0.0

    def end(self) -> None:
        """Let nothing be wrong that is so by chance."""
        self.lost = self.unsure = self.failing = self.throttled = 0.0
        self.unsure_evictions = self.failing_evictions = self.forbidden = 0.0


def act_of(store: Store, request: Request) -> Callable[[], None]:
    """Return what carries a request out; Refused when there is no such request."""
    body: Any = msgspec.json.decode(request.body) if request.body else {}
    last = request.path.rpartition("/")[2]
    match request.method, last:
        case "POST", "events":
            return lambda: None
        case "POST", "binding":
            uid, node = body["metadata"].get("uid", ""), body["target"]["name"]
            notes = body["metadata"].get("annotations") or {}
            return lambda: bind(store, request.key, uid, node, request.by, annotations=notes)
        case "POST", "eviction":
            return _eviction(store, request, body.get("deleteOptions", {}))
        case "PATCH", "status":
            return _patch(store, request, body)
        case "PATCH", _ if one_of(request.path)[0] == "pods":
            return lambda: patch(store, request.key, body, request.by)
        case "DELETE", _:
            return _deletion(store, request, body)
    raise Refused(405, "MethodNotAllowed", f"{request.method} {request.path}")


def _patch(store: Store, request: Request, body: Any) -> Callable[[], None]:
    key, by = request.key, request.by
    if isinstance(body, list):
        return lambda: patch_status(store, key, body, by)
    uid, version = (body["metadata"].get(name, "") for name in ("uid", "resourceVersion"))
    conditions = body["status"]["conditions"]
    return lambda: mark(store, key, conditions, by, uid=uid, version=version)


def _eviction(store: Store, request: Request, options: Json) -> Callable[[], None]:
    meant, dry_run = _preconditions(options), bool(options.get("dryRun"))
    by = f"{request.by}{EVICTS}{request.made}"
    return lambda: evict(store, request.key, by, meant, dry_run=dry_run)


def _deletion(store: Store, request: Request, body: Any) -> Callable[[], None]:
    meant = _preconditions(body)
    if body.get("dryRun"):
        return lambda: check(store, request.key, meant)
    return lambda: delete(store, request.key, request.by, meant)


def _preconditions(options: Json) -> Meant:
    found = options.get("preconditions", {})
    return Meant(found.get("uid", ""), found.get("resourceVersion", ""))
