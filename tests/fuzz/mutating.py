"""Changes to JSON, YAML and bytes that nobody who means well would make."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

LONG = 50_000
DEEP = 5_000
CHANGES = 4

ODD_BYTES = (
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"%s%n",
    b"\x1b[2J",
    b"\\",
)
ODD_TEXTS = (
    "", " ", "\0", "%s%d%n", "a\nb", "\x1b[2J", "\u202e", "\ud800", "é" * 300, "x" * LONG, "../..",
    "null", "true", "0", "-1", "1e400", "1e999", "9e18", "kubernetes.io/hostname",
    "In", "Exists", "default", "9" * 5_000, "٣", "5s", "1h0.5m", "100m", "1e3Gi", "1.37", "50%",
    "2026-01-01T00:00:00Z", "0001-01-01T00:00:00", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:60Z", "a/b", "/", "~", "[::1]",
)  # fmt: skip
ODD_NUMBERS = (
    *(0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, 1e308, -1e-300),
    *(float("nan"), float("inf")),
)

Pieces: TypeAlias = Mapping[str, list[Any]]


def pieces(documents: Iterable[Any]) -> Pieces:
    """Return the values that documents have, by their field: parts to combine others from."""
    found: dict[str, dict[str, Any]] = {}
    for key, value in _fields(documents):
        found.setdefault(key, {})[json.dumps(value)] = value
    return {key: [*values.values()] for key, values in found.items()}


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
        for each in value.values():
            yield from _fields(each)
    elif not isinstance(value, str) and isinstance(value, Iterable):
        for each in value:
            yield from _fields(each)


def mutated(dice: random.Random, document: Any, known: Pieces | None = None) -> bytes:
    """Change a document in a few places, then perhaps its bytes."""
    document = changed(dice, document, known)
    body = _spelled(dice, document)
    return broken(dice, body) if dice.random() < 0.3 else body


def changed(dice: random.Random, document: Any, known: Pieces | None = None) -> Any:
    """Return a copy that is changed in a few places."""
    document = _copied(document)
    for _ in range(dice.randint(0, CHANGES)):
        document = _changed(dice, document, known or {})
    return document


def broken(dice: random.Random, body: bytes) -> bytes:
    for _ in range(dice.randint(1, CHANGES)):
        at = dice.randint(0, len(body))
        to = min(len(body), at + dice.choice((1, 2, 10, 1000)))
        body = _torn(dice, body, at, to)
    return body


def _torn(dice: random.Random, body: bytes, at: int, to: int) -> bytes:
    """Cut, double or fill a place."""
    match dice.randrange(6):
        case 0:
            return body[:at]
        case 1:
            return body[:at] + body[to:]
        case 2:
            return body[:to] + body[at:]
        case 3:
            return body[:at] + dice.choice(ODD_BYTES) + body[at:]
        case 4:
            return body[:at] + dice.randbytes(3) + body[at + 3 :]
        case _:
            return body[:at] + dice.choice((b"[", b'{"a":')) * DEEP + body[at:]


def odd(dice: random.Random) -> Any:
    """Return a value that is seldom expected."""
    match dice.randrange(8):
        case 0 | 1:
            return dice.choice((None, False, True))
        case 2:
            return dice.choice(ODD_NUMBERS)
        case 3 | 4:
            return dice.choice(ODD_TEXTS)
        case 5:
            return [odd(dice) for _ in range(dice.randint(0, 3))]
        case 6:
            return _nested(dice.choice((2, 20, 200)))
        case _:
            return {dice.choice(ODD_TEXTS): odd(dice) for _ in range(dice.randint(0, 3))}


def _changed(dice: random.Random, value: Any, known: Pieces, key: str = "") -> Any:
    """Change one place, more likely a deep one."""
    if key in known and dice.random() < 0.1:
        return _copied(dice.choice(known[key]))
    if isinstance(value, dict) and value:
        _change_fields(dice, value, known)
        return value
    if isinstance(value, list) and value:
        _change_items(dice, value, known)
        return value
    match dice.randrange(6):
        case 0 if isinstance(value, str):
            return respelled(dice, value)
        case 1:
            # The right value of the wrong type.
            return dice.choice(([value], {"a": value}, str(value), {str(value): None}))
        case _:
            return odd(dice)


def _change_fields(dice: random.Random, value: dict[str, Any], known: Pieces) -> None:
    key = dice.choice(list(value))
    match dice.randrange(12):
        case 0:
            del value[key]
        case 1:
            value[dice.choice((key.upper(), key.lower(), *ODD_TEXTS))] = value.pop(key)
        case 2:
            value[dice.choice(ODD_TEXTS)] = odd(dice)
        case 3 if known:
            key = dice.choice(list(known))
            value[key] = _copied(dice.choice(known[key]))
        case _:
            value[key] = _changed(dice, value[key], known, key)


def _change_items(dice: random.Random, value: list[Any], known: Pieces) -> None:
    at = dice.randrange(len(value))
    match dice.randrange(10):
        case 0:
            value.insert(at, _copied(value[at]))
        case 1:
            value.extend(_copied(value * dice.choice((1, 20))))
        case 2:
            del value[at]
        case _:
            value[at] = _changed(dice, value[at], known)


def respelled(dice: random.Random, text: str) -> str:
    """Change some letters of a text."""
    for _ in range(dice.randint(1, CHANGES)):
        at = dice.randint(0, len(text))
        to = min(len(text), at + dice.choice((1, 1, 2, 10)))
        match dice.randrange(4):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to] + text[at:]
            case 2:
                text = text[:at] + text[at:to] * dice.choice((2, 20, 400)) + text[to:]
            case _:
                text = text[:at] + dice.choice(ODD_TEXTS)[: dice.choice((8, 8, None))] + text[at:]
    return text


def _nested(depth: int) -> Any:
    found: Any = 0
    for _ in range(depth):
        found = [found]
    return found


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _spelled(dice: random.Random, document: Any) -> bytes:
    text = json.dumps(document)
    if dice.random() < 0.1 and text.startswith("{") and isinstance(document, dict) and document:
        # A key that comes twice.
        key = dice.choice(list(document))
        text = f"{{{json.dumps(key)}:{json.dumps(odd(dice))},{text[1:]}"
    if dice.random() < 0.2:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return text.encode(errors="surrogatepass")
