"""Reads from the API server how many members of a pod group have to be placed together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec

from extender.core.errors import ApiError, ExtenderError
from extender.core.kube.calls import object_path
from extender.core.kube.client import ApiClient
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import name_of, namespace_of
from extender.core.model.lru_cache import CountedCache
from extender.core.timing import LogThrottle
from extender.core.wire.decoding import Int64, decode
from extender.features.groups.ledger import Members

APIS: Final = tuple(f"/apis/scheduling.k8s.io/{each}" for each in ("v1beta1", "v1alpha2"))
"""The second is that of Kubernetes 1.36, which has no other."""
KNOWN_SECONDS: Final = 10.0
"""For how long an answer is taken for right: a PodGroup may be edited."""
MOST_KNOWN: Final = 1_024

_FINAL: Final = frozenset((HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN))

_log = logging.getLogger(__name__)


class _Gang(msgspec.Struct, rename="camel"):
    min_count: Int64 = 0


class _Policy(msgspec.Struct):
    gang: _Gang | None = None


class _Spec(msgspec.Struct, rename="camel"):
    scheduling_policy: _Policy = msgspec.field(default_factory=_Policy)


class _PodGroup(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_POD_GROUP = msgspec.json.Decoder(_PodGroup)


class PodGroups:
    """What the API server says of pod groups, for a moment."""

    def __init__(self, client: ApiClient, clock: Callable[[], float], members: Members) -> None:
        self._client = client
        self._clock = clock
        self._known: CountedCache[str, tuple[int, float]] = CountedCache(MOST_KNOWN)
        members.ended.append(self._known.pop)
        self._log = LogThrottle(_log, clock=clock)

    async def needed(self, group: str) -> int | None:
        """Return the minCount of a gang; 0 for another policy, and without the right to read it.

        None where the API server does not say it now.
        """
        known = self._known.get(group)
        if known is not None and self._clock() - known[1] < KNOWN_SECONDS:
            return known[0]
        count = await self._read(group)
        if count is not None:
            self._known.put(group, (count, self._clock()))
        return count

    async def _read(self, group: str) -> int | None:
        """Return the same, by a request."""
        for api in APIS:
            try:
                path = object_path(api, namespace_of(group), "podgroups", name_of(group))
                body = await self._client.get(path, {}, within=WITHIN.read)
                gang = decode(_POD_GROUP, body).spec.scheduling_policy.gang
            except ExtenderError as error:
                if isinstance(error, ApiError) and error.is_missing:
                    continue  # the group, or in this version all groups
                says = "pod group %s cannot be read, so its gang may be bound in part: %s"
                self._log.log(logging.WARNING, "unread", says, group, error)
                is_final = isinstance(error, ApiError) and error.status in _FINAL
                return 0 if is_final else None
            return 0 if gang is None else gang.min_count
        return 0
