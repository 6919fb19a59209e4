"""Which pods wait for a node: by what keeps them from most nodes, and one by one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from math import inf
from typing import Any, Final

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.model.objects import Pod
from extender.core.model.wording import plural
from extender.core.web.offered import Asked, View
from extender.core.web.turns import QueryError, in_slices, sorting
from extender.diagnosis.verbs.explanation import Explanation
from extender.diagnosis.verbs.telling import summary
from extender.diagnosis.verbs.waiting import cause_of, kind_of
from extender.features.explain.answer import Explain

MOST_KINDS: Final = 20
"""Kinds of pods that are explained, those of most pods first."""
SECONDS: Final = 4.0
"""For all of them, with the rests between them, so that there is a page whatever pods ask for: a
dozen kinds with 5,000 nodes."""
STEP: Final = 200
"""Pods that are told apart between two turns of others, in some 1 ms."""


@dataclass(slots=True)
class _Kind:
    """Pods that are alike."""

    oldest: Pod
    count: int = 1

    def add(self, pod: Pod) -> None:
        self.count += 1
        if _created(pod) < _created(self.oldest):
            self.oldest = pod


@dataclass(frozen=True, slots=True)
class _Told:
    kind: _Kind
    cause: str
    summary: str


async def waiting(explain: Explain, last: RefusedPods | None, asked: Asked, now: float) -> View:
    """Return the page where no pod is asked about."""
    pods = [pod for pod in explain.state.waiting_pods if not pod.status.deleting]
    refused = {} if last is None else {each.uid: each for each in last.latest()}
    wanted, unready = asked.get("q"), explain.unready()
    by_cause = {} if unready else await _by_cause(explain, pods, wanted)

    def order(pod: Pod) -> tuple[float, float, str]:
        known = refused.get(pod.uid)
        return (-known.last if known else 0.0), _created(pod), pod.key

    found = [pod for pod in pods if wanted in pod.key]
    chosen = asked.choose(await in_slices(sorting(found, order)), lambda _: True)
    first = "those refused last first" if refused else "the oldest first"
    values = {
        "unready": unready,
        "kinds": 0,
        **by_cause,
        "waiting": f"{plural(chosen.found, 'pod')} without a node, {first}",
        "chosen": chosen,
        "refused": refused,
        "now": now,
    }
    return View("explain/templates/pods.html", values)


async def _by_cause(explain: Explain, pods: Collection[Pod], wanted: str) -> Mapping[str, Any]:
    kinds: dict[Hashable, _Kind] = {}
    for place, pod in enumerate(pods):
        if place % STEP == 0:
            await asyncio.sleep(0)
        if wanted in pod.key:
            kind = kind_of(pod)
            if kind in kinds:
                kinds[kind].add(pod)
            else:
                kinds[kind] = _Kind(pod)
    most = sorted(kinds.values(), key=lambda each: (-each.count, each.oldest.key))
    told = await _telling(explain, most[:MOST_KINDS])
    of_cause: Counter[str] = Counter()
    for each in told:
        of_cause[each.cause] += each.kind.count
    told.sort(key=lambda each: (-of_cause[each.cause], each.cause, -each.kind.count))
    more = len(kinds) - len(told)
    left = sum(each.count for each in kinds.values()) - of_cause.total()
    return {
        "kinds": len(kinds),
        "told": told,
        "caption": f"{plural(of_cause.total(), 'pod')}, for {plural(len(of_cause), 'cause')}",
        "left": f"{plural(left, 'pod')} of {plural(more, 'more kind')}" if more else "",
    }


async def _telling(explain: Explain, kinds: Sequence[_Kind]) -> list[_Told]:
    """Explain the oldest of each kind, as many as there is time for."""
    told: list[_Told] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            for kind in kinds:
                try:
                    found = await explain.explained(kind.oldest, partial(_told_of, kind))
                except QueryError as error:
                    if error.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
                        raise
                    # That is of this pod alone: a tenant's long rules hide no other's pods.
                    found = _Told(kind, "not looked into", str(error))
                told.append(found)
    return told


def _told_of(kind: _Kind, found: Explanation) -> _Told:
    return _Told(kind, cause_of(found), summary(found))


def _created(pod: Pod) -> float:
    return inf if pod.status.created is None else pod.status.created
