"""The functions that clusterloader2 adds to templates; all raise TypeError or ValueError."""

from __future__ import annotations

import hashlib
import math
import os
import random
import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from clusterload.gotemplate.values import kind, to_text
from extender.core import files

Function = Callable[..., Any]

_ALPHABET = string.digits + string.ascii_letters


def functions(folder: Path, chance: random.Random) -> Mapping[str, Function]:
    """Return the functions by name; IncludeFile looks in `folder`, that of the test.

    clusterloader2 looks for IncludeFile's beside its own program instead, where we have none.
    """

    def include(name: Any) -> str:
        return files.read_text(folder / os.path.expandvars(_text(name)))

    def random_data(size: Any) -> str:
        return _random_text(chance, size)

    def random_below(most: Any) -> int:
        return chance.randint(0, _whole(most))

    def random_between(least: Any, most: Any) -> int:
        return chance.randint(_whole(least), max(_whole(least), _whole(most)))

    return _PURE | {
        "IncludeFile": include,
        "IncludeEmbedFile": include,
        "RandData": random_data,
        "RandInt": random_below,
        "RandIntRange": random_between,
    }


def _number(value: Any) -> float:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except ValueError:
            pass
    raise ValueError(f"cannot cast {to_text(value)} to float64")


def _whole(value: Any) -> int:
    return int(_number(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"incorrect argument type: got: {kind(value)} want: string")
    return value


def _all(combine: Callable[[list[float]], float], least: int) -> Callable[..., float]:
    def combined(*values: Any) -> float:
        if len(values) < least:
            raise ValueError("not defined without a number")
        return float(combine([_number(each) for each in values]))

    return combined


def _divide(one: Any, other: Any) -> float:
    if not _number(other):
        raise ValueError("division by zero")
    return _number(one) / _number(other)


def _subtract(one: Any, other: Any) -> float:
    return _number(one) - _number(other)


def _remainder(one: Any, other: Any) -> int:
    if not _whole(other):
        raise ValueError("division by zero")
    return int(math.fmod(_whole(one), _whole(other)))  # the sign of the first, as in Go


def _in_whole_numbers(function: Callable[..., float]) -> Callable[..., int]:
    return lambda *values: int(function(*values))


def _if_then_else(condition: Any, then: Any, otherwise: Any) -> Any:
    if not isinstance(condition, bool):
        raise TypeError(f"incorrect argument type: got: {kind(condition)} want: bool")
    return then if condition else otherwise


def _yaml_quote(text: Any, tabs: Any) -> str:
    if kind(tabs) != "int":
        raise TypeError(f"incorrect argument type: got: {kind(tabs)} want: int")
    quoted = yaml.safe_dump(
        _text(text), default_style='"' if "\n" in text else None, width=math.inf
    )
    return quoted.removesuffix("...\n").replace("\n", "\n" + "  " * tabs)


def _random_text(chance: random.Random, size: Any) -> str:
    return "".join(chance.choices(_ALPHABET, k=_whole(size)))


def _seeded_text(size: Any, seed: Any) -> str:
    # The same for the same seed, but not the text that Go's generator would make of it.
    number = int.from_bytes(hashlib.sha256(_text(seed).encode()).digest()[:8], "big")
    return _random_text(random.Random(number), size)  # noqa: S311 - filling, no secret


_FLOATS: dict[str, Callable[..., float]] = {
    "Add": _all(sum, 0),
    "Multiply": _all(math.prod, 0),
    "Max": _all(max, 1),
    "Min": _all(min, 1),
    "Subtract": _subtract,
    "Divide": _divide,
}

_PURE: dict[str, Function] = {
    **{f"{name}Float": function for name, function in _FLOATS.items()},
    **{f"{name}Int": _in_whole_numbers(function) for name, function in _FLOATS.items()},
    "Ceil": lambda value: float(math.ceil(_number(value))),
    "Concat": lambda *texts: "".join(map(_text, texts)),
    "DefaultParam": lambda value, default: default if value is None else value,
    "IfThenElse": _if_then_else,
    "Loop": lambda size: list(range(_whole(size))),
    "Lowercase": lambda text: _text(text).lower(),
    "Mod": _remainder,
    "RandDataWithSeed": _seeded_text,
    "Seq": lambda size: [0] * _whole(size),
    "SliceOfZeros": lambda size: [0] * _whole(size),
    "StringSplit": lambda text: _text(text).split(","),
    "YamlQuote": _yaml_quote,
}
