"""The callback's JSON: ExtenderBindingArgs and ExtenderBindingResult."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from extender.core.errors import RequestError
from extender.core.model.keys import Key, key_of
from extender.core.wire.extender_args import error_text, folded


class _BindingArgs(msgspec.Struct, rename=str.lower):
    """ExtenderBindingArgs, its keys folded to lower case."""

    PodName: str
    PodNamespace: str
    PodUID: str
    Node: str


_FIELDS = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class BindingArgs:
    key: Key
    uid: str
    node: str


def read_binding_args(body: bytes) -> BindingArgs:
    """Read ExtenderBindingArgs; RequestError when the body is no such object."""
    try:
        args = msgspec.convert(folded(body, _FIELDS), _BindingArgs)
    except msgspec.ValidationError as error:
        raise RequestError(f"the body is not an ExtenderBindingArgs object: {error}") from error
    return BindingArgs(key_of(args.PodNamespace, args.PodName), args.PodUID, args.Node)


def write_binding_result(error: str = "") -> bytes:
    """Write an ExtenderBindingResult; an empty error is success."""
    return msgspec.json.encode({"Error": error_text(error)})
