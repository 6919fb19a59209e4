"""Evaluates a template with values."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clusterload.gotemplate.lexing import TemplateError
from clusterload.gotemplate.nodes import (
    Call,
    Field,
    Group,
    If,
    Literal,
    Node,
    Operand,
    Output,
    Pipeline,
    Range,
    Text,
    Variable,
    With,
)
from clusterload.gotemplate.parsing import parse
from clusterload.gotemplate.values import BUILTINS, Function, kind, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_Scope = dict[str, Any]

_LAZY = {"and": False, "or": True}
"""Functions that return the first argument with this truth, and evaluate no other after it."""


class Template:
    """A template that has been parsed, and can be rendered many times."""

    def __init__(self, text: str, source: str, functions: Mapping[str, Function]) -> None:
        with _nesting(source):
            self._nodes = parse(text, source)
        self._source = source
        self._functions = {**BUILTINS, **functions}

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text with these values; a missing value is printed as Go prints nil."""
        execution = _Execution(self._source, self._functions, dict(values))
        with _nesting(self._source):
            return "".join(execution.body(self._nodes))


@contextmanager
def _nesting(source: str) -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise TemplateError(source, 1, "nested too deeply") from error


class _Execution:
    """The state of one rendering: the dot, and the variables of each open block."""

    def __init__(self, source: str, functions: Mapping[str, Function], root: Any) -> None:
        self._source = source
        self._functions = functions
        self._dot = root
        self._scopes: list[_Scope] = [{"$": root}]

    def body(self, nodes: Sequence[Node]) -> Iterator[str]:
        for node in nodes:
            match node:
                case Text(text):
                    yield text
                case Output(pipeline):
                    value = self._pipeline(pipeline)
                    if not pipeline.variables:
                        yield to_text(value)
                case If(pipeline, body, otherwise):
                    with self._scope():
                        yield from self.body(body if self._pipeline(pipeline) else otherwise)
                case With(pipeline, body, otherwise):
                    with self._scope():
                        value = self._pipeline(pipeline)
                        with self._scope(dot=value or self._dot):
                            yield from self.body(body if value else otherwise)
                case Range():
                    yield from self._range(node)

    def _range(self, node: Range) -> Iterator[str]:
        value = self._evaluate(node.pipeline)
        names = node.pipeline.variables
        elements = list(self._elements(value, node.pipeline.line))
        for element in elements:
            # One variable is the element; of two, the first is its index or key.
            bound = zip(names, element[2 - len(names) :] if names else (), strict=True)
            with self._scope(dot=element[1], variables=dict(bound)):
                yield from self.body(node.body)
        if not elements:
            with self._scope():
                yield from self.body(node.otherwise)

    def _elements(self, value: Any, line: int) -> Iterable[tuple[Any, Any]]:
        match kind(value):
            case "nil":
                return ()
            case "slice":
                return enumerate(value)
            case "map":
                return sorted(value.items())
            case "int":
                return enumerate(range(value))
            case other:
                raise self._error(line, f"range can't iterate over {to_text(value)} ({other})")

    @contextmanager
    def _scope(self, *, variables: dict[str, Any] | None = None, **changed: Any) -> Iterator[None]:
        outer = self._dot
        self._dot = changed.get("dot", outer)
        self._scopes.append(variables or {})
        yield
        self._scopes.pop()
        self._dot = outer

    def _pipeline(self, pipeline: Pipeline) -> Any:
        value = self._evaluate(pipeline)
        for name in pipeline.variables:
            if pipeline.declares:
                self._scopes[-1][name] = value
            else:
                self._scope_of(name, pipeline.line)[name] = value
        return value

    def _evaluate(self, pipeline: Pipeline) -> Any:
        first, *calls = pipeline.commands
        value = self._operand(first, pipeline.line)
        for call in calls:
            value = self._operand(call, pipeline.line, Literal(value))
        return value

    def _operand(self, operand: Operand, line: int, *piped: Literal) -> Any:
        match operand:
            case Literal(value):
                return value
            case Field(path):
                return self._follow(self._dot, path, line)
            case Variable(name, path):
                return self._follow(self._scope_of(name, line)[name], path, line)
            case Group(pipeline, path):
                return self._follow(self._evaluate(pipeline), path, line)
            case Call(name, arguments):
                return self._call(name, (*arguments, *piped), line)

    def _call(self, name: str, arguments: Sequence[Operand], line: int) -> Any:
        if name in _LAZY:
            return self._lazy(name, arguments, line)
        if name not in self._functions:
            raise self._error(line, f"function {name!r} is not known here")
        function = self._functions[name]
        values = [self._operand(each, line) for each in arguments]
        try:
            inspect.signature(function).bind(*values)
        except TypeError:
            message = f"{name} does not take {len(values)} arguments"
            raise self._error(line, message) from None
        try:
            return function(*values)
        except (TypeError, ValueError, ArithmeticError, OSError) as error:
            raise self._error(line, f"{name}: {error}") from error

    def _lazy(self, name: str, arguments: Sequence[Operand], line: int) -> Any:
        if not arguments:
            raise self._error(line, f"{name} does not take 0 arguments")
        value = None
        for each in arguments:
            value = self._operand(each, line)
            if bool(value) is _LAZY[name]:
                break
        return value

    def _follow(self, value: Any, path: Sequence[str], line: int) -> Any:
        for name in path:
            if value is None:  # what is missing has missing fields
                return None
            if not isinstance(value, dict):
                raise self._error(line, f"can't evaluate field {name} in {kind(value)}")
            value = value.get(name)
        return value

    def _scope_of(self, name: str, line: int) -> _Scope:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope
        raise self._error(line, f"undefined variable {name!r}")

    def _error(self, line: int, message: str) -> TemplateError:
        return TemplateError(self._source, line, message)
