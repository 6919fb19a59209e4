"""Which pods wait for a node: by what keeps them from most nodes, and one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Hashable, Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Final, TypeVar

from extender.callbacks.refused_pods import RefusedPod, RefusedPods
from extender.features.explain.answer import Explain
from extender.model.objects import Pod
from extender.model.wording import plural
from extender.verbs.explaining.steps import taking_apart
from extender.verbs.explaining.telling import summary
from extender.verbs.explaining.waiting import kind_of, telling_cause
from extender.web.page.layout import duration, explain_link, heading, soft
from extender.web.page.overview import why_refused
from extender.web.page.tables import (
    Asked,
    Steps,
    choosing,
    numbers,
    paged,
    search,
    table,
    texts,
)

MOST_KINDS: Final = 20
"""Kinds of pods that are explained, those of most pods first; each takes some 50 ms with 5,000
nodes."""
SECONDS: Final = 4.0
"""For all of them, so that there is a page whatever pods ask for."""
EACH_SECONDS: Final = 0.5
"""For one of them, so that it does not keep the others from being explained."""

BY_CAUSE: Final = (
    *texts("What keeps them from most nodes"),
    *numbers("Pods", "For up to"),
    *texts("Made by", "The oldest", "In detail"),
)
ONE_BY_ONE: Final = (
    *texts("Pod"),
    *numbers("Priority"),
    *texts("Nominated node", "Refused by filter, when it was asked last"),
    *numbers("For"),
)

T = TypeVar("T")


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
    """What one of a kind waits for."""

    kind: _Kind
    cause: str
    summary: str


def waiting(explain: Explain, refused: RefusedPods | None, asked: Asked, now: float) -> Steps:
    """Yield the page where no pod is asked about."""
    yield heading("Pods that wait for a node")
    yield search(asked, "Part of namespace/name")
    pods = list(explain.state.waiting_pods)
    yield from _by_cause(explain, pods, asked.get("q"), now)
    yield from _one_by_one(refused, pods, asked, now)


def _by_cause(explain: Explain, pods: Collection[Pod], wanted: str, now: float) -> Steps:
    if reason := explain.unready():
        yield soft(f"What they wait for is not known yet: {reason}.")
        return
    kinds: dict[Hashable, _Kind] = {}
    for pod in pods:
        if wanted in pod.key:
            kind = kind_of(pod)
            if kind in kinds:
                kinds[kind].add(pod)
            else:
                kinds[kind] = _Kind(pod)
        yield None
    if not kinds:
        return
    chosen = yield from choosing(
        kinds.values(), lambda _: True, lambda each: (-each.count, each.oldest.key), 1
    )
    told = yield from _telling(explain, chosen.rows[:MOST_KINDS])
    of_cause: Counter[str] = Counter()
    for each in told:
        of_cause[each.cause] += each.kind.count
    told.sort(key=lambda each: (-of_cause[each.cause], each.cause, -each.kind.count))
    caption = f"{plural(of_cause.total(), 'pod')}, for {plural(len(of_cause), 'cause')}"
    yield from table("causes", caption, BY_CAUSE, (_told_row(each, now) for each in told))
    if (more := len(kinds) - len(told)) > 0:
        left = sum(each.count for each in kinds.values()) - of_cause.total()
        yield soft(
            f"And {plural(left, 'pod')} of {plural(more, 'more kind')}, which are not looked into. "
            "A search looks into those that it finds."
        )


def _telling(explain: Explain, kinds: Sequence[_Kind]) -> Generator[None, None, list[_Told]]:
    """Explain the oldest of each kind, as many as there is time for."""
    until = perf_counter() + SECONDS
    told = []
    for kind in kinds:
        seconds = min(EACH_SECONDS, until - perf_counter())
        found = yield from _within(seconds, _told_of(explain, kind))
        if found is not None:
            told.append(found)
    return told


def _told_of(explain: Explain, kind: _Kind) -> Generator[None, None, _Told]:
    found = yield from explain.explaining(kind.oldest)
    cause = yield from telling_cause(found)
    told = _Told(kind, cause, summary(found))
    yield from taking_apart(found)
    return told


def _within(seconds: float, steps: Generator[None, None, T]) -> Generator[None, None, T | None]:
    """Take steps for so long; None where they come to no end."""
    until = perf_counter() + seconds
    while perf_counter() < until:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        yield
    steps.close()
    return None


def _told_row(told: _Told, now: float) -> Sequence[str]:
    kind, workload = told.kind, told.kind.oldest.workload
    return (
        told.cause,
        f"{kind.count:,}",
        _age(kind.oldest, now),
        "" if workload is None else str(workload),
        explain_link(kind.oldest.key),
        told.summary,
    )


def _one_by_one(last: RefusedPods | None, pods: Collection[Pod], asked: Asked, now: float) -> Steps:
    refused = {} if last is None else {each.uid: each for each in last.latest()}
    wanted = asked.get("q")

    def order(pod: Pod) -> tuple[float, float, str]:
        known = refused.get(pod.uid)
        return (-known.last if known else 0.0), _created(pod), pod.key

    page = yield from choosing(pods, lambda pod: wanted in pod.key, order, asked.page)
    first = "those refused last first" if refused else "the oldest first"
    caption = f"{plural(page.found, 'pod')} without a node, {first}"
    rows = (_row(pod, refused.get(pod.uid), now) for pod in page.rows)
    yield from paged(asked, "waiting", caption, ONE_BY_ONE, rows, page=page)


def _row(pod: Pod, refused: RefusedPod | None, now: float) -> Sequence[str]:
    return (
        explain_link(pod.key),
        f"{pod.spec.priority}",
        pod.status.nominated or "",
        "" if refused is None else why_refused(refused),
        _age(pod, now),
    )


def _age(pod: Pod, now: float) -> str:
    return "" if pod.status.created is None else duration(now - pod.status.created)


def _created(pod: Pod) -> float:
    return inf if pod.status.created is None else pod.status.created
