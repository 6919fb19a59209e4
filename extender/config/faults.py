"""Says in one sentence, with the field's path, why a document does not fit the schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from extender.config.schema import Config
from extender.errors import ConfigError

_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_FIELD = re.compile(
    r"^Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`$", re.DOTALL
)
STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")

_ANY_KEY = "[...]"
"""How msgspec names the place of a value in a mapping with keys of any kind."""

_LISTS = (inspect.VarTupleType, inspect.ListType)

_LONGEST_SHOWN = 60


def explain(error: msgspec.ValidationError, document: object, root: type) -> ConfigError:
    """Turn msgspec's account of how a document does not fit the root's schema into ours."""
    match = _WHERE.match(str(error))
    what, path = (match["what"], match["path"] or "") if match else (str(error), "")
    if path.endswith(_ANY_KEY):
        inner = path.removesuffix(_ANY_KEY).removeprefix(".")
        return ConfigError(inner, "not a mapping of strings to strings")
    value, expected = _follow(path, document, root)
    path = path.removeprefix(".")
    if missing := _FIELD.match(what):
        name = missing["name"]
        inner = f"{path}.{name}" if path else name
        if missing["what"] == "missing required":
            return ConfigError(inner, f"missing; expected {describe(_child(expected, name))}")
        return ConfigError(inner, f"no such field{_suggest(name, field_names(expected))}")
    return ConfigError(path, f"{show(value)} is not {describe(expected, value)}")


def show(value: object) -> str:
    """Quote a value from the file, shortened."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def expected_at(path: str) -> inspect.Type:
    """Find what the schema expects at a dotted path without list indices."""
    return _follow("." + path, {}, Config)[1]


def field_names(kind: inspect.Type) -> list[str]:
    """List a block's fields in the file's spelling."""
    return (
        [field.encode_name for field in kind.fields] if isinstance(kind, inspect.StructType) else []
    )


def _suggest(name: str, known: Iterable[str]) -> str:
    known = list(known)
    # Ignoring case first: a wrong capital is the commonest slip in camelCase.
    folded = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f", did you mean {folded[close[0]]}?" if close else f"; known: {', '.join(known)}"


def _follow(path: str, document: object, root: type) -> tuple[Any, inspect.Type]:
    """Walk value and schema together down a path such as `.serving.port` or `.plugins[1]`."""
    value, kind = document, inspect.type_info(root)
    for found in STEP.finditer(path):
        if name := found["name"]:
            value = value.get(name) if isinstance(value, dict) else None
        else:
            value = value[int(found["index"])] if isinstance(value, list) else None
        kind = _child(kind, name or int(found["index"]))
    return value, unwrap(kind)


def _child(kind: inspect.Type, step: str | int) -> inspect.Type:
    kind = unwrap(kind)
    if isinstance(step, int):
        return kind.item_type if isinstance(kind, _LISTS) else kind
    fields = kind.fields if isinstance(kind, inspect.StructType) else ()
    return {field.encode_name: field.type for field in fields}[step]


def unwrap(kind: inspect.Type) -> inspect.Type:
    """Look through `X | None`."""
    if isinstance(kind, inspect.UnionType):
        return next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    return kind


def describe(kind: inspect.Type, value: object = None) -> str:
    """Say what a type takes; to somebody who gave `value`, no more than is needed."""
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
    """Take away what is wrong, or put in what is allowed; return whether that was possible."""
    steps = [*STEP.finditer(f".{path}")]
    if not steps:
        return False  # the document as a whole, or a field without a name
    last = steps[-1]
    with suppress(LookupError, TypeError, ValueError):
        value, kind = _follow(f".{path}"[: last.start()], document, root)
        name = last["name"] or int(last["index"])
        if isinstance(kind, inspect.StructType) and not _required(kind, str(name)):
            del value[name]
        else:
            value[name] = _allowed(_child(kind, name))
        return True
    return False


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
