"""All pods that wait, by what keeps them waiting, with their age."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Final

from affinityctl.commands.explain.answer import Survey, ToldCause
from affinityctl.terminal.printing import (
    INDENT,
    named_lines,
    named_pod,
    printed,
    section,
    wrapped,
)
from extender.core.model.objects import Pod
from extender.core.model.wording import age_of, plural, some
from extender.diagnosis.verbs.explanation import Explanation
from extender.diagnosis.verbs.notes import Note
from extender.diagnosis.verbs.telling import summary
from extender.diagnosis.verbs.waiting import cause_of, is_not_made, kind_of

MOST_KINDS: Final = 200
"""Kinds of pods that are explained; each takes some 50 ms with 5,000 nodes, and of those that may
evict others 0.6 s more."""
_WAIT: Final = "waits", "wait"
_MISSING: Final = "is not made yet by its controller", "are not made yet by their controllers"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods that are alike and wait, the oldest first."""

    pods: Sequence[Pod]
    explanation: Explanation | None
    """Of the first; None beyond MOST_KINDS kinds."""
    notes: Sequence[Note] = ()
    advice: Sequence[str] = ()
    """What to do, the likeliest first."""

    @property
    def cause(self) -> str:
        why = self.explanation
        return "not looked into" if why is None else cause_of(why)


def alike(pods: Iterable[Pod]) -> list[list[Pod]]:
    """Return the pods by kind, those of most pods first, and in each the oldest first."""
    kinds: dict[Hashable, list[Pod]] = {}
    for pod in sorted(pods, key=_by_age):
        kinds.setdefault((is_not_made(pod), kind_of(pod)), []).append(pod)
    return sorted(kinds.values(), key=lambda each: -len(each))


def _by_age(pod: Pod) -> tuple[float, str]:
    created = pod.status.created
    return inf if created is None else created, pod.key


def write(found: Sequence[Waiting], now: float, output: str) -> str:
    """Write which pods wait for what, in a format."""
    waiting, missing = _by_cause(found, made=True), _by_cause(found, made=False)

    def told() -> Survey:
        return {
            "waiting": [_told(cause, kinds) for cause, kinds in waiting.items()],
            "notMade": [_told(cause, kinds) for cause, kinds in missing.items()],
        }

    def text() -> str:
        return "\n\n".join((*_parts(waiting, _WAIT, now), *_parts(missing, _MISSING, now)))

    def names() -> str:
        pods = (pod for each in found for pod in each.pods)
        return named_lines(named_pod(pod.key) for pod in pods)

    return printed(output, told, text, names)


def _by_cause(found: Sequence[Waiting], *, made: bool) -> Mapping[str, Sequence[Waiting]]:
    causes: dict[str, list[Waiting]] = {}
    for each in found:
        if is_not_made(each.pods[0]) is not made:
            causes.setdefault(each.cause, []).append(each)
    return causes


def _parts(
    causes: Mapping[str, Sequence[Waiting]], do: tuple[str, str], now: float
) -> Iterator[str]:
    counts = [sum(len(each.pods) for each in kinds) for kinds in causes.values()]
    if total := sum(counts):
        yield f"{plural(total, 'pod')} {do[total > 1]}, for {plural(len(causes), 'cause')}."
    for count, (cause, kinds) in zip(counts, causes.items(), strict=True):
        yield section(f"{plural(count, 'pod')}: {cause}", _kinds(kinds, now))


def _kinds(kinds: Sequence[Waiting], now: float) -> Iterator[str]:
    """Tell of the pods; kinds of which the same is said, as they differ in a number, are one."""
    same: dict[tuple[str, ...], list[Pod]] = {}
    for each in kinds:
        said = [] if each.explanation is None else [summary(each.explanation)]
        said += [f"Note: {note.text}" for note in each.notes]
        said += [f"To do: {text}" for text in each.advice[:1]]
        same.setdefault(tuple(said), []).extend(each.pods)
    for told, pods in same.items():
        pods.sort(key=_by_age)
        since = pods[0].status.created
        age = (
            "" if since is None else f", {'the oldest ' * bool(pods[1:])}for {age_of(now - since)}"
        )
        names = [pod.key for pod in pods]
        yield wrapped(f"{some(names, len(names))}{age}", INDENT)
        yield from (wrapped(text, INDENT * 2) for text in told)


def _told(cause: str, kinds: Sequence[Waiting]) -> ToldCause:
    return {
        "cause": cause,
        "kinds": [
            {
                "pods": [
                    {"pod": pod.key, "created": _moment(pod.status.created)} for pod in each.pods
                ],
                "summary": None if each.explanation is None else summary(each.explanation),
                "notes": each.notes,
                "whatToDo": each.advice,
            }
            for each in kinds
        ],
    }


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
