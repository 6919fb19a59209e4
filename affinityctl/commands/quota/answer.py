"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NotRequired, TypedDict

from extender.features.quota.rules import Cause


class Use(TypedDict):
    used: str
    hard: str


class Quota(TypedDict):
    name: str
    scopes: Sequence[str]
    pods: int
    resources: Mapping[str, Use]


class Refused(TypedDict):
    pod: str
    cause: Cause
    quota: str | None
    resources: Sequence[str]


class ToldNamespace(TypedDict):
    namespace: str
    placed: Sequence[str]
    waiting: Sequence[str]
    quotas: Sequence[Quota]
    refusedNow: Sequence[Refused]
    refusedIf: NotRequired[Sequence[Refused]]


class Surveyed(TypedDict):
    whatIf: Sequence[str]
    namespaces: Sequence[ToldNamespace]


ANSWERS: Final = (Surveyed,)
