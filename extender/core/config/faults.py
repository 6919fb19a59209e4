"""Says in one sentence each, with the field's path, why a document does not fit a schema."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, inspect, structs

from extender.core.errors import ConfigError

T = TypeVar("T")

MOST_FAULTS: Final = 50
"""Faults that are told at once."""


def convert(
    document: Any, root: type[T], dec_hook: Callable[[type, Any], Any] | None = None
) -> tuple[T | None, list[ConfigError]]:
    """Decode a document; return the value, or None with all that is wrong, in msgspec's order."""
    try:
        return msgspec.convert(document, root, dec_hook=dec_hook), []
    except msgspec.ValidationError:
        return None, [*islice(_faults(document, root, "", dec_hook), MOST_FAULTS)]


def _faults(
    value: Any, kind: Any, path: str, dec_hook: Callable[[type, Any], Any] | None
) -> Iterator[ConfigError]:
    """Yield what is wrong with a value of a field: msgspec itself ends at the first fault."""
    try:
        msgspec.convert(value, kind, dec_hook=dec_hook)
    except msgspec.ValidationError:
        inner = False
        for fault in _inside(value, _bare(kind), path, dec_hook):
            inner = True
            yield fault
        if not inner:
            yield ConfigError(path, f"{show(value)} is not {_described(kind, value)}")


def _inside(
    value: Any, kind: Any, path: str, dec_hook: Callable[[type, Any], Any] | None
) -> Iterator[ConfigError]:
    match value, get_origin(kind) or kind:
        case dict(), type() as block if issubclass(block, Struct):
            fields = {each.encode_name: each for each in structs.fields(block)}
            prefix = f"{path}." if path else ""
            for name, one in value.items():
                if name in fields:
                    yield from _faults(one, fields[name].type, f"{prefix}{name}", dec_hook)
                elif block.__struct_config__.forbid_unknown_fields:
                    yield ConfigError(f"{prefix}{name}", f"no such field{_suggest(name, fields)}")
            for name, field in fields.items():
                if field.required and name not in value:
                    expected = _described(field.type)
                    yield ConfigError(f"{prefix}{name}", f"missing; expected {expected}")
        case dict(), origin if origin is dict:
            yield ConfigError(path, "not a mapping of strings to strings")
        case list(), origin if origin in (list, tuple):
            for index, one in enumerate(value):
                yield from _faults(one, get_args(kind)[0], f"{path}[{index}]", dec_hook)


def _bare(kind: Any) -> Any:
    """Look through `X | None`, and through what is annotated of X."""
    members = [each for each in get_args(kind) if each is not NoneType]
    return _bare(members[0]) if get_origin(kind) in (Annotated, Union, UnionType) else kind


def show(value: object) -> str:
    """Quote a value from the file, in 60 characters at most."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if not text[60:] else f"{text[:57]}..."


def _suggest(name: str, known: Iterable[str]) -> str:
    # Ignoring case first: a wrong capital is the commonest slip in camelCase.
    folded = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f", did you mean {folded[close[0]]}?" if close else f"; known: {', '.join(known)}"


def unwrap(kind: inspect.Type) -> inspect.Type:
    """Look through `X | None`."""
    if isinstance(kind, inspect.UnionType):
        return next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    return kind


def _described(kind: Any, value: object = None) -> str:
    return describe(unwrap(inspect.type_info(kind)), value)


def describe(kind: inspect.Type, value: object = None) -> str:
    """Say what a type takes; with a `value`, no more than is needed to mend it."""
    match kind:
        case inspect.BoolType():
            expected = "true or false"
        case inspect.IntType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            expected = f"in {_range(kind)}" if whole else f"a whole number in {_range(kind)}"
        case inspect.FloatType():
            expected = f"a number {_range(kind)}"
        case inspect.EnumType():
            expected = f"one of {', '.join(member.value for member in kind.cls)}"
        case inspect.LiteralType():
            expected = " or ".join(map(str, kind.values))
        case inspect.StrType():
            expected = "a string"
        case inspect.CustomType():
            expected = getattr(kind.cls, "EXPECTED", "the name of a file")
        case inspect.VarTupleType() | inspect.ListType():
            expected = f"a list of {kind.min_length} or more" if kind.min_length else "a list"
        case _:
            expected = "a mapping of fields"
    return expected


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    if isinstance(kind, inspect.IntType):
        return f"{kind.ge}..{kind.le}"
    return f"in {kind.ge:g}..{kind.le:g}" if kind.gt is None else f"above 0 and up to {kind.le:g}"
