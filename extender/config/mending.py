"""Finds all faults of a document and not just the first: each is mended, and the rest read on."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import inspect

from extender.config.faults import STEP, explain, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from extender.errors import ConfigError

T = TypeVar("T")

MOST_FAULTS: Final = 50
"""Told at once: whoever has more begins with these."""


def convert(
    document: Any, root: type[T], dec_hook: Callable[[type, Any], Any]
) -> tuple[T | None, list[ConfigError]]:
    """Decode a document and return the value with all faults, in msgspec's order.

    With faults the value has defaults, or just anything that the schema allows, in their places;
    it is None where that was not possible. The document is changed.
    """
    faults: list[ConfigError] = []
    while len(faults) < MOST_FAULTS:
        try:
            return msgspec.convert(document, root, dec_hook=dec_hook), faults
        except msgspec.ValidationError as error:
            fault = explain(error, document, root)
        if faults and fault.path == faults[-1].path:
            break  # what was put there is no better
        faults.append(fault)
        if not _mend(document, fault.path, root):
            break
    return None, faults


def _mend(document: Any, path: str, root: type) -> bool:
    """Take away what is wrong, or put in what is allowed; tell whether that was possible."""
    steps = [step["name"] or int(step["index"]) for step in STEP.finditer(f".{path}")]
    if not steps:
        return False  # the document as a whole, or a field without a name
    last = steps[-1]
    value, kind = document, inspect.type_info(root)
    with suppress(LookupError, TypeError, ValueError):
        for step in steps[:-1]:
            kind = _inner(kind, step)
            value = value[step]
        kind = unwrap(kind)
        if isinstance(kind, inspect.StructType) and not _required(kind, str(last)):
            del value[last]
        else:
            value[last] = _allowed(_inner(kind, last))
        return True
    return False


def _inner(kind: inspect.Type, step: str | int) -> inspect.Type:
    match unwrap(kind), step:
        case inspect.StructType(fields=fields), str():
            return next((each.type for each in fields if each.encode_name == step), None) or _no()
        case ((inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item)), int()):
            return item
    return _no()


def _no() -> inspect.Type:
    raise LookupError


def _required(kind: inspect.StructType, name: str) -> bool:
    return any(each.encode_name == name and each.required for each in kind.fields)


def _allowed(kind: inspect.Type) -> Any:
    """Return some value that the schema allows."""
    allowed: Any = "x"
    match unwrap(kind):
        case inspect.BoolType():
            allowed = False
        case inspect.IntType(ge=least) | inspect.FloatType(le=least):
            allowed = least or 0
        case inspect.EnumType(cls=cls):
            allowed = next(iter(cls)).value
        case inspect.LiteralType(values=values):
            allowed = values[0]
        case (
            inspect.VarTupleType(item_type=item, min_length=least)
            | inspect.ListType(item_type=item, min_length=least)
        ):
            allowed = [_allowed(item)] * (least or 0)
        case inspect.StructType(fields=fields):
            allowed = {each.encode_name: _allowed(each.type) for each in fields if each.required}
    return allowed
