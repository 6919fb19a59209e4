"""YAML from outside as plain values, as Kubernetes reads it: bounded, and without dates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, ClassVar, Final

import yaml

from extender.core.errors import encodable

try:
    from yaml import CSafeDumper as _AnySafeDumper
    from yaml import CSafeLoader as _AnySafeLoader
except ImportError:  # PyYAML without libyaml: slower, the same answers
    from yaml import SafeDumper as _AnySafeDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _AnySafeLoader  # type: ignore[assignment]

MOST_DEPTH: Final = 100
"""Levels of nesting. What reads the values takes several frames for each of them."""
SPARE: Final = 1 << 20
"""Characters that aliases may add to any text, beside as many as ALIAS_FACTOR allows."""
ALIAS_FACTOR: Final = 10
"""How many times as long as it is written a text may become when its aliases are written out."""

_OPENING: Final = frozenset(("[", "{", b"[", b"{"))
_ROUGHLY: Final[dict[type, tuple[re.Pattern[Any], re.Pattern[Any]]]] = {
    str: (re.compile(r"[][{}]"), re.compile(r"^[-?: \t]{100}", re.MULTILINE)),
    bytes: (re.compile(rb"[][{}]"), re.compile(rb"^[-?: \t]{100}", re.MULTILINE)),
}

_BOOL, _INT, _FLOAT, _NULL = (
    f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "null")
)
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_INT_BITS: Final = 64
_NOT_JSON: Final = tuple(f"tag:yaml.org,2002:{name}" for name in ("binary", "omap", "pairs", "set"))


class PlainConstructor(yaml.constructor.SafeConstructor, yaml.resolver.BaseResolver):
    """Builds values that JSON knows; goes before a loader among the bases of a class.

    Aliases are one object wherever they stand, until the values are written out: nine lines of ten
    aliases each become a billion. So what they come to is reckoned first.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc] # of types-PyYAML

    def __init__(self, stream: str | bytes) -> None:
        self._most = SPARE + ALIAS_FACTOR * len(stream)
        super().__init__(stream)  # type: ignore[call-arg] # a loader's

    def construct_document(self, node: yaml.Node) -> Any:
        """Build one document; YAMLError whatever is wrong with it."""
        _Reckoning(self._most).of(node, 0)
        try:
            return super().construct_document(node)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            # A tag that does not fit its text: !!int x, !!bool 5 and so on.
            raise yaml.constructor.ConstructorError(
                None, None, f"a value that does not fit its tag: {error}", node.start_mark
            ) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the base class's signature
        """Build a mapping: the keys of JSON are texts."""
        made = super().construct_mapping(node, deep)
        if all(isinstance(key, str) for key in made):
            return made
        return {_as_text(key): value for key, value in made.items()}

    def construct_yaml_bool(self, node: yaml.ScalarNode) -> bool:
        word = node.value.lower()
        return word == "y" or (word != "n" and bool(super().construct_yaml_bool(node)))

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Build a whole number that fits 64 bits: others cannot even be shown."""
        plain = node.value.replace("_", "").lower()
        sign, digits = (plain[0], plain[1:]) if plain[0] in "+-" else ("", plain)
        octal = digits[:1] == "0" and digits[1:].isdecimal()
        number = int(f"{sign}0o{digits}" if octal else plain, 0)
        if number.bit_length() > _INT_BITS:
            problem = f"a whole number of more than {_INT_BITS} bits"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return number

    def construct_yaml_float(self, node: yaml.ScalarNode) -> Any:
        """Build a number: in JSON, a whole one has no point."""
        number = float(
            node.value.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan")
        )
        if not math.isfinite(number):
            if node.value[-1:].isalpha():
                raise _fault("a number that JSON does not have", node)
            return str(node.value)  # so large that Go takes it for a text
        return int(number) if number.is_integer() and abs(number) < 1 << _INT_BITS else number


PlainConstructor.yaml_constructors = {
    **yaml.constructor.SafeConstructor.yaml_constructors,
    **dict.fromkeys(_NOT_JSON, PlainConstructor.construct_undefined),
    _BOOL: PlainConstructor.construct_yaml_bool,
    _INT: PlainConstructor.construct_yaml_int,
    _FLOAT: PlainConstructor.construct_yaml_float,
    _TIMESTAMP: PlainConstructor.construct_yaml_str,
}
_DIGITS: Final = "0123456789"
for _tag, _written, _first in (
    (_BOOL, r"[yYnN]", "yYnN"),
    (_BOOL, r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF", "yYnNoO"),
    (_BOOL, r"true|True|TRUE|false|False|FALSE", "tTfF"),
    (_INT, r"[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0|[1-9][0-9_]*)", f"-+{_DIGITS}"),
    (
        _FLOAT,
        r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?",
        f"-+.{_DIGITS}",
    ),
    (_FLOAT, r"[-+]?\.(inf|Inf|INF)|\.nan|\.NaN|\.NAN", "-+."),
    (_NULL, r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:merge", r"<<", "<"),
):
    # As go.yaml.in/yaml/v2, which reads YAML for Kubernetes, takes what is not quoted. A date stays
    # the text that it is in the file, and there are no numbers of base 60.
    PlainConstructor.add_implicit_resolver(_tag, re.compile(rf"(?:{_written})\Z"), list(_first))


class FastLoader(PlainConstructor, _AnySafeLoader):
    """Reads five times as fast as one in Python."""


class ClusterLoader(FastLoader):
    """Takes y and n for the texts that an API server has: not all tools quote them.

    In a manifest they are what kubectl takes them for.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        first: [(tag, found) for tag, found in known if not (tag == _BOOL and found.match(first))]
        for first, known in PlainConstructor.yaml_implicit_resolvers.items()
    }


class FastDumper(_AnySafeDumper):
    """Quotes each text that would be none without, to Kubernetes or to YAML 1.1."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        first: [
            *yaml.resolver.Resolver.yaml_implicit_resolvers.get(first, ()),
            *PlainConstructor.yaml_implicit_resolvers.get(first, ()),
        ]
        for first in {
            *yaml.resolver.Resolver.yaml_implicit_resolvers,
            *PlainConstructor.yaml_implicit_resolvers,
        }
    }


def documents(content: str | bytes, loader: Any = FastLoader) -> Iterator[Any]:
    """Yield the documents of a stream; YAMLError whatever is wrong with it."""
    with _reader(content, loader) as reader:
        while reader.check_data():
            yield reader.get_data()


def document(content: str | bytes, loader: Any) -> Any:
    """Return the only document, None when there is none; YAMLError whatever is wrong with it."""
    with _reader(content, loader) as reader:
        return reader.get_single_data()


@contextmanager
def _reader(content: str | bytes, loader: Any) -> Iterator[Any]:
    _check_depth(content, loader)
    reader = loader(content)
    try:
        yield reader
    except RecursionError as error:
        raise yaml.YAMLError(f"nested deeper than {MOST_DEPTH} levels") from error
    finally:
        reader.dispose()


def _check_depth(content: str | bytes, loader: Any) -> None:
    """Refuse what is nested so deeply that libyaml would run out of stack, which ends the process.

    Each level of nesting takes a bracket, or a column at the beginning of a line. Only where there
    are many of either the text is read twice.
    """
    brackets, indents = _ROUGHLY[type(content)]
    if not indents.search(content):
        steps = (1 if each in _OPENING else -1 for each in brackets.findall(content))
        if max(accumulate(steps), default=0) <= MOST_DEPTH:
            return
    reader, depth = loader(content), 0
    try:
        while reader.check_event():
            event = reader.get_event()
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_DEPTH:
                raise yaml.MarkedYAMLError(
                    problem=f"nested deeper than {MOST_DEPTH} levels", problem_mark=event.start_mark
                )
    finally:
        reader.dispose()


def _as_text(key: Any) -> Any:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key) if isinstance(key, int | float) else key


class _Reckoning:
    """How long a document is with its aliases written out; each node is looked at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[int, int] = {}

    def of(self, node: yaml.Node, depth: int) -> int:
        known = self._known.get(id(node), 0)
        if known < 0:
            raise _fault("an alias stands for something that it is part of", node)
        if known:
            return known
        if depth > MOST_DEPTH:
            raise _fault(f"nested deeper than {MOST_DEPTH} levels", node)
        self._known[id(node)] = -1
        if isinstance(node, yaml.ScalarNode):
            if not encodable(node.value):
                raise _fault("half a character (a lone surrogate)", node)
            length = len(node.value) + 1
        else:
            length = 1 + sum(self.of(each, depth + 1) for each in _children(node))
        if length > self._most:
            raise _fault("far longer than it is written when its aliases are written out", node)
        self._known[id(node)] = length
        return length


def told(error: yaml.MarkedYAMLError) -> tuple[str, str]:
    """Return the line in which something is wrong, as far as it is known, and what it is."""
    mark = error.problem_mark or error.context_mark
    return f"line {mark.line + 1}" if mark else "", error.problem or "not YAML"


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    for child in node.value:
        if isinstance(child, tuple):
            yield from child
        else:
            yield child


def _fault(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
