"""All pods that wait, by what keeps them waiting, with their age."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from affinityctl.printing import INDENT, printed, section, wrapped
from affinityctl.volumes.pod_volumes import WholePodReader
from affinityctl.whatif.outcome import bottleneck
from affinityctl.whatif.rooms import shape_of
from extender.model.keys import Key
from extender.model.objects import Pod
from extender.model.wording import plural, some
from extender.verbs.explaining.explanation import Explanation
from extender.verbs.explaining.telling import summary
from extender.wire.affinity import Gates
from extender.wire.decoding import Json, decode
from extender.wire.objects import GenerateName

MOST_KINDS: Final = 200
"""Kinds of pods that are explained; each takes some 50 ms with 5,000 nodes."""
_SPANS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


class _Created(msgspec.Struct, rename="camel"):
    creation_timestamp: datetime | None = None


class CreatedPod(msgspec.Struct):
    """When a pod was created."""

    metadata: _Created


_CREATED = msgspec.json.Decoder(CreatedPod)


class AgeReader(WholePodReader):
    """Reads pods with all that an explanation looks at, and when those that wait were created."""

    def __init__(self, gates: Gates) -> None:
        super().__init__(gates)
        self.created: dict[Key, datetime] = {}

    def read(self, raw: Json, generate: GenerateName | None = None) -> Pod:
        """Read a v1.Pod; ObjectError names the field that is broken."""
        pod = super().read(raw, generate)
        if pod.node is None and not pod.terminal:
            created = decode(_CREATED, raw).metadata.creation_timestamp
            if created is not None:
                self.created[pod.key] = created
        return pod


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods that are alike and wait, the oldest first."""

    pods: Sequence[Key]
    explanation: Explanation | None
    """Of the first; None beyond MOST_KINDS kinds."""

    @property
    def cause(self) -> str:
        """Return what keeps them waiting, in few words."""
        why = self.explanation
        if why is None:
            return "not looked into"
        if why.fits:
            told = "; ".join(each.text for each in why.unknown)
            return told or "nothing here: the scheduler has not come to them"
        limit = bottleneck(why)
        return "no node" if limit is None else limit.what


def alike(pods: Iterable[Pod], created: Mapping[Key, datetime]) -> list[list[Pod]]:
    """Return the pods by kind, those of most pods first, and in each the oldest first."""
    kinds: dict[Any, list[Pod]] = {}
    latest = datetime.max.replace(tzinfo=UTC)
    for pod in sorted(pods, key=lambda pod: (created.get(pod.key, latest), pod.key)):
        kinds.setdefault((pod.pod_class, shape_of(pod)), []).append(pod)
    return sorted(kinds.values(), key=lambda each: -len(each))


def write(
    found: Sequence[Waiting], created: Mapping[Key, datetime], now: datetime, output: str
) -> str:
    """Write which pods wait for what in a format: text, wide, json or yaml."""
    causes: dict[str, list[Waiting]] = {}
    for each in found:
        causes.setdefault(each.cause, []).append(each)

    def told() -> Mapping[str, Any]:
        return {"waiting": [_told(cause, kinds, created) for cause, kinds in causes.items()]}

    def text() -> str:
        total = sum(len(each.pods) for each in found)
        wait = "waits" if total == 1 else "wait"
        parts = [f"{plural(total, 'pod')} {wait}, for {plural(len(causes), 'cause')}."]
        for cause, kinds in causes.items():
            count = sum(len(each.pods) for each in kinds)
            parts.append(section(f"{plural(count, 'pod')}: {cause}", _kinds(kinds, created, now)))
        return "\n\n".join(parts)

    return printed(output, told, text)


def _kinds(
    kinds: Sequence[Waiting], created: Mapping[Key, datetime], now: datetime
) -> Iterator[str]:
    for each in kinds:
        since = created.get(each.pods[0])
        age = (
            ""
            if since is None
            else f", {'the oldest ' * bool(each.pods[1:])}for {_age(since, now)}"
        )
        yield wrapped(f"{some(each.pods, len(each.pods))}{age}", INDENT)
        if each.explanation is not None:
            yield wrapped(summary(each.explanation), INDENT * 2)


def _told(
    cause: str, kinds: Sequence[Waiting], created: Mapping[Key, datetime]
) -> Mapping[str, Any]:
    return {
        "cause": cause,
        "kinds": [
            {
                "pods": [{"pod": key, "created": created.get(key)} for key in each.pods],
                "summary": each.explanation and summary(each.explanation),
            }
            for each in kinds
        ],
    }


def _age(since: datetime, now: datetime) -> str:
    """Say how long it is, as kubectl does, in the two largest units."""
    left = max(0, int((now - since).total_seconds()))
    for number, (unit, seconds) in enumerate(_SPANS):
        if left >= seconds:
            said = f"{left // seconds}{unit}"
            following = _SPANS[number + 1 : number + 2]
            rest = [f"{left % seconds // each}{name}" for name, each in following]
            return said + "".join(each for each in rest if not each.startswith("0"))
    return "0s"
