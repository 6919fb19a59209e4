"""What else a pod to be placed asks of its node, read only when we are about to propose one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from extender.model.node_resources import Requests, Requirements, Toleration
from extender.wire.class_cache import decoded_size
from extender.wire.decoding import Json, decode

_EXISTS = "Exists"
_EQUAL = "Equal"


class _Toleration(msgspec.Struct, gc=False):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _Spec(msgspec.Struct):
    tolerations: list[_Toleration] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_POD = msgspec.json.Decoder(_Pod)
_TOLERATIONS: msgspec.json.Decoder[list[_Toleration] | None] = msgspec.json.Decoder(
    list[_Toleration] | None
)


def read_tolerations(raw: Json) -> tuple[Toleration, ...]:
    """Read the taints that a pod does not mind; ObjectError when they are broken."""
    found: list[_Toleration] | None = decode(_TOLERATIONS, raw, "spec.tolerations")
    return tuple(_tolerations(found or ()))


def read_requirements(raw: Json, requests: Requests) -> Requirements:
    """Read what a pod asks of its node."""
    spec = decode(_POD, raw, "Pod").spec
    return Requirements(
        requests,
        tuple(_tolerations(spec.tolerations or ())),
        # The decoded part in JSON again: of the pod's, most is about other things.
        decoded_size(msgspec.json.encode(spec)),
    )


def _tolerations(found: Iterable[_Toleration]) -> Iterable[Toleration]:
    for each in found:
        operator = each.operator or _EQUAL
        # Comparing taints as numbers is alpha in the scheduler: such a one tolerates nothing here.
        if operator in {_EXISTS, _EQUAL}:
            value = None if operator == _EXISTS else each.value or ""
            yield Toleration(each.key or "", value, each.effect or "")
