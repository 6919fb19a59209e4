"""Compares a manifest with the fields of its kind: what strict decoding and validation refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from affinityctl.commands.lint.fields import FIELDS, Type
from affinityctl.commands.lint.near import Names, hint
from affinityctl.commands.lint.scalars import SCALARS, fits
from affinityctl.commands.lint.together import CHECKS, label_key_faults
from extender.core.wire.decoding import whole_number

MISTYPED: Final = object()
"""Stands for a value that cannot be read as what it was to be."""
UNKNOWN: Final = "field-unknown"
REPEATED: Final = "field-repeated"
_RULES: Final = {"weight": "weight-out-of-range"}
"""Of the values of some fields."""
_TEXT: Final = SCALARS["str"].is_called
_WITH_LABEL_KEYS: Final = frozenset(("PodAffinityTerm", "TopologySpreadConstraint"))
_DEEPEST: Final = 4
"""Levels below an object in which a misplaced field is looked for."""
_OF_PATCHES: Final = "$"
"""Begins what tells kubectl and Kustomize how to merge a patch."""


class Fault(NamedTuple):
    """Something that the API server refuses, or drops."""

    path: str
    message: str
    rule: str = ""
    """The id of the rule that is about nothing else; "" where the path tells."""


class Checked(NamedTuple):
    """What is wrong with a manifest, and what is left of it."""

    faults: tuple[Fault, ...]
    manifest: dict[str, Any]
    """With each value of a wrong type read as what it was to be, or left out."""
    changed: bool
    """It is not what was written."""


def check(kind: str, manifest: dict[str, Any], *, whole: bool) -> Checked:
    """Look at all fields; one that is not `whole`, a patch, may lack any."""
    checker = _Checker(whole=whole)
    kept = checker.object(kind, manifest, "")
    return Checked(tuple(checker.faults), kept, checker.changed)


class _Level(NamedTuple):
    type: str
    path: str


class _Checker:
    def __init__(self, *, whole: bool) -> None:
        self.faults: list[Fault] = []
        self._whole = whole
        self.changed = False
        self._undecoded = 0
        self._levels: list[_Level] = []

    def object(self, kind: str, found: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return an object without what could not be read."""
        fields, before = FIELDS[kind], self._undecoded
        self._levels.append(_Level(kind, path))
        kept: dict[str, Any] = {}
        for name, value in found.items():
            here = f"{path}.{name}".lstrip(".")
            if name not in fields:
                if self._whole or not name.startswith(_OF_PATCHES):
                    self._end(here, self._unknown(name), UNKNOWN)
            else:
                read = self._value(fields[name], value, here)
                if read is not MISTYPED:
                    kept[name] = read
        if self._whole and self._undecoded == before:
            self._together(kind, kept, path)
        self._levels.pop()
        return kept

    def _together(self, kind: str, kept: dict[str, Any], path: str) -> None:
        for name, field in FIELDS[kind].items():
            if field.required and kept.get(name) in (None, []):
                self._fault(f"{path}.{name}".lstrip("."), "missing")
        for where, message in CHECKS[kind](kept) if kind in CHECKS else ():
            self._fault(f"{path}.{where}".lstrip("."), message)
        if kind in _WITH_LABEL_KEYS:
            for where, message, rule in label_key_faults(kept):
                self.faults.append(Fault(f"{path}.{where}", message, rule))

    def _value(self, field: Type, value: Any, path: str) -> Any:
        if not field.name or value is None:
            return value
        if field.within == "[":
            return self._list(field._replace(within=""), value, path)
        if field.within == "{":
            return self._mapping(field._replace(within=""), value, path)
        if field.name in FIELDS:
            if not isinstance(value, dict):
                return self._mistyped(value, "an object", path)
            return self.object(field.name, value, path)
        return self._scalar(field, value, path)

    def _list(self, item: Type, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            return self._mistyped(value, "a list", path)
        read = [
            self._value(item, self._or_zero(item, each), f"{path}[{index}]")
            for index, each in enumerate(value)
        ]
        return MISTYPED if MISTYPED in read else read

    def _mapping(self, item: Type, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return self._mistyped(value, "an object", path)
        kept = {}
        for key, each in value.items():
            here = f"{path}.{key}"
            if item.name == "label" and (fault := SCALARS["key"].fault(key)) is not None:
                self._fault(here, fault)
            read = self._value(item, self._or_zero(item, each), here)
            if read is not MISTYPED:
                kept[key] = read
        return kept

    def _scalar(self, field: Type, value: Any, path: str) -> Any:
        choices = field.choices
        kind = SCALARS["str" if choices else field.name]
        if not fits("str" if choices else field.name, value):
            self._mistyped(value, kind.is_called, path)
            return _meant(value, kind.takes)
        if choices:
            self._choice(choices, value, path)
        elif (fault := kind.fault(value)) is not None:
            self.faults.append(Fault(path, fault, _RULES.get(field.name, "")))
        return value

    def _choice(self, choices: tuple[str, ...], value: str, path: str) -> None:
        if value not in choices:
            words = [each for each in choices if each]
            near = hint(Names(words).near(value))
            self._fault(path, f"{value!r} is none of {', '.join(words)}{near}")

    def _mistyped(self, value: Any, wanted: str, path: str) -> Any:
        self.changed = True
        quote = ": quote it" if wanted == _TEXT and not isinstance(value, dict | list) else ""
        self._end(path, f"{_called(value)} instead of {wanted}{quote}")
        return MISTYPED

    def _end(self, path: str, message: str, rule: str = "") -> None:
        """Note what ends decoding: validation would never see the object."""
        self._undecoded += 1
        self.faults.append(Fault(path, message, rule))

    def _fault(self, path: str, message: str) -> None:
        self.faults.append(Fault(path, message))

    def _or_zero(self, item: Type, value: Any) -> Any:
        """Return what an element is read as: to the API server, null is an empty one."""
        if value is not None or not item.name:
            return value
        self.changed = True
        return {} if item.name in FIELDS else SCALARS.get(item.name, SCALARS["str"]).zero

    def _unknown(self, name: str) -> str:
        """Say of an unknown field what it was probably to be, or where its place is."""
        level = self._levels[-1]
        near = Names(FIELDS[level.type]).near(name)
        place = near is None and self._place(name)
        return f"{name} is no field of the API{f'; its place is {place}' if place else hint(near)}"

    def _place(self, name: str) -> str | None:
        """Return where a field belongs: in an object around this one, below it, or beside it."""
        for level in reversed(self._levels[:-1]):
            if name in FIELDS[level.type]:
                return f"{level.path}.{name}".lstrip(".")
        level = self._levels[-1]
        below = next(_below(name, level.type, level.path, _DEEPEST), None)
        return below or next(self._beside(name), None)

    def _beside(self, name: str) -> Iterator[str]:
        """Yield the lists that are beside this one, whose elements have such a field."""
        for level in self._levels[-2:-1]:
            for at, each in FIELDS[level.type].items():
                if each.within and name in FIELDS.get(each.name, ()):
                    yield f"{level.path}.{at}[].{name}"


def _below(name: str, kind: str, path: str, depth: int) -> Iterator[str]:
    inner = [(at, each.name) for at, each in FIELDS[kind].items() if not each.within]
    objects = [(f"{path}.{at}".lstrip("."), each) for at, each in inner if each in FIELDS]
    for here, each in objects:
        if name in FIELDS[each]:
            yield f"{here}.{name}"
    for here, each in objects if depth else ():
        yield from _below(name, each, here, depth - 1)


def _called(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() | float():
            return f"the number {value}"
        case _:
            return f"the string {value!r}"


def _meant(value: Any, takes: tuple[type, ...]) -> Any:
    """Return a scalar as what it was probably to be, so that the rest can be judged."""
    if isinstance(value, bool | int | float) and str in takes:
        return _called(value).removeprefix("the number ")
    if isinstance(value, str) and takes == (int,):
        number = whole_number(value, 9)
        return MISTYPED if number is None else number
    if isinstance(value, str) and takes == (bool,) and value in {"true", "false"}:
        return value == "true"
    return MISTYPED
