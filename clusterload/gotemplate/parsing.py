"""Parses tokens into the syntax tree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from clusterload.gotemplate.lexing import Action, Kind, TemplateError, Token, pieces
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

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCKS: dict[str, type[If | With | Range]] = {"if": If, "with": With, "range": Range}
_NOT_HERE = frozenset(("define", "template", "block", "break", "continue"))
_WORDS = {"true": True, "false": False, "nil": None}


def parse(template: str, source: str) -> tuple[Node, ...]:
    """Parse a template; `source` names it in errors."""
    parser = _Parser(pieces(template, source), source)
    nodes, end = parser.nodes()
    if end is not None:
        raise parser.error(
            end.line, f"{{{{{end.tokens[0].text}}}}} without a block that it belongs to"
        )
    return nodes


class _Parser:
    def __init__(self, stream: Iterator[str | Action], source: str) -> None:
        self._stream = stream
        self._source = source

    def error(self, line: int, message: str) -> TemplateError:
        return TemplateError(self._source, line, message)

    def nodes(self) -> tuple[tuple[Node, ...], Action | None]:
        """Read up to {{else}}, {{end}} or the end of the text; returns what it met."""
        found: list[Node] = []
        for piece in self._stream:
            if isinstance(piece, str):
                if piece:
                    found.append(Text(piece))
                continue
            if not piece.tokens:
                raise self.error(piece.line, "an action with nothing in it")
            match piece.tokens[0]:
                case Token(Kind.WORD, "else" | "end"):
                    return tuple(found), piece
                case Token(Kind.WORD, word) if word in _BLOCKS:
                    found.append(self._block(piece))
                case Token(Kind.WORD, word) if word in _NOT_HERE:
                    raise self.error(piece.line, f"{word!r} is not supported")
                case _:
                    found.append(Output(self._pipeline(piece)))
        return tuple(found), None

    def _block(self, action: Action) -> Node:
        word = action.tokens[0].text
        pipeline = self._pipeline(Action(action.line, action.tokens[1:]), of=word)
        body, end = self.nodes()
        otherwise: tuple[Node, ...] = ()
        if end is not None and end.tokens[0].text == "else":
            otherwise, end = self._else(end, word)
        if end is None:
            raise self.error(action.line, f"{{{{{word}}}}} without {{{{end}}}}")
        if end.tokens[0].text != "end" or len(end.tokens) > 1:
            raise self.error(end.line, f"expected {{{{end}}}} of the {word} in line {action.line}")
        return _BLOCKS[word](pipeline, body, otherwise)

    def _else(self, action: Action, word: str) -> tuple[tuple[Node, ...], Action | None]:
        if len(action.tokens) == 1:
            return self.nodes()
        if action.tokens[1].text != word or word == "range":
            raise self.error(
                action.line, f"'else {action.tokens[1].text}' does not belong to a {word}"
            )
        # {{else if}} is an if of its own that ends where the outer one does.
        return (self._block(Action(action.line, action.tokens[1:])),), _end(action.line)

    def _pipeline(self, action: Action, *, of: str = "") -> Pipeline:
        pipeline = _PipelineParser(action, self).whole()
        if len(pipeline.variables) > (2 if of == "range" else 1):
            raise self.error(action.line, "too many variables")
        return pipeline


def _end(line: int) -> Action:
    return Action(line, (Token(Kind.WORD, "end", spaced=False),))


class _PipelineParser:
    def __init__(self, action: Action, parser: _Parser) -> None:
        self._tokens = action.tokens
        self._line = action.line
        self._parser = parser
        self._next = 0

    def whole(self) -> Pipeline:
        """Read a pipeline that takes up the whole action."""
        variables, declares = self._variables()
        pipeline = Pipeline(self._line, self._commands(), variables, declares)
        if self._next < len(self._tokens):
            raise self._error(f"unexpected {self._tokens[self._next].text!r}")
        return pipeline

    def _variables(self) -> tuple[tuple[str, ...], bool]:
        names: list[str] = []
        for index, token in enumerate(self._tokens):
            if token.kind is Kind.VARIABLE and "." not in token.text:
                names.append(token.text)
            elif token.kind in {Kind.DECLARE, Kind.ASSIGN} and names:
                self._next = index + 1
                return tuple(names), token.kind is Kind.DECLARE
            elif token.kind is not Kind.COMMA:
                break
        return (), True

    def _commands(self) -> tuple[Operand, ...]:
        commands = [self._command()]
        while self._peek() is Kind.PIPE:
            self._next += 1
            command = self._command()
            if not isinstance(command, Call):
                raise self._error("only a function can stand after '|'")
            commands.append(command)
        return tuple(commands)

    def _command(self) -> Operand:
        operands: list[Operand] = []
        while self._peek() not in {None, Kind.PIPE, Kind.CLOSE}:
            operands.append(self._operand())
        if not operands:
            raise self._error("a value is missing")
        head, *arguments = operands
        if isinstance(head, Call):
            return Call(head.name, tuple(arguments))
        if arguments:
            raise self._error("only a function takes arguments")
        if head == Literal(None):
            raise self._error("nil is not a command")
        return head

    def _operand(self) -> Operand:
        token = self._tokens[self._next]
        self._next += 1
        if token.kind is Kind.OPEN:
            return self._group()
        read = _OPERANDS.get(token.kind)
        if read is None:
            raise self._error(f"unexpected {token.text!r}")
        return read(token)

    def _group(self) -> Group:
        pipeline = Pipeline(self._line, self._commands())
        if self._peek() is not Kind.CLOSE:
            raise self._error("'(' without ')'")
        self._next += 1
        path: tuple[str, ...] = ()
        if self._peek() is Kind.FIELD and not self._tokens[self._next].spaced:
            path = _path(self._tokens[self._next])
            self._next += 1
        return Group(pipeline, path)

    def _peek(self) -> Kind | None:
        return self._tokens[self._next].kind if self._next < len(self._tokens) else None

    def _error(self, message: str) -> TemplateError:
        return self._parser.error(self._line, message)


def _variable(token: Token) -> Operand:
    name, *path = token.text.split(".")
    return Variable(name, tuple(path))


def _path(token: Token) -> tuple[str, ...]:
    return tuple(name for name in token.text.split(".") if name)


def _word(token: Token) -> Operand:
    return Literal(_WORDS[token.text]) if token.text in _WORDS else Call(token.text, ())


def _number(text: str) -> int | float:
    if re.fullmatch("[+-]?0[0-7]+", text):
        return int(text, 8)
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


_OPERANDS: dict[Kind, Callable[[Token], Operand]] = {
    # Go's escapes that YAML files need are JSON's.
    Kind.STRING: lambda token: Literal(json.loads(token.text)),
    Kind.RAW: lambda token: Literal(token.text[1:-1]),
    Kind.NUMBER: lambda token: Literal(_number(token.text)),
    Kind.VARIABLE: _variable,
    Kind.FIELD: lambda token: Field(_path(token)),
    Kind.WORD: _word,
}
