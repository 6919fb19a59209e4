"""Changes to JSON, YAML and bytes that nobody who means well would make."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

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
    "null", "true", "0", "-1", "1e400", "kubernetes.io/hostname", "In", "Exists", "default",
)  # fmt: skip
ODD_NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, 1e308, float("nan"))


def mutated(dice: random.Random, document: Any) -> bytes:
    """Change a document in a few places, then perhaps its bytes."""
    document = copy.deepcopy(document)
    for _ in range(dice.randint(0, CHANGES)):
        document = _changed(dice, document)
    body = _spelled(dice, document)
    return broken(dice, body) if dice.random() < 0.3 else body


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
    match dice.randrange(7):
        case 0:
            return None
        case 1:
            return dice.random() < 0.5
        case 2:
            return dice.choice(ODD_NUMBERS)
        case 3 | 4:
            return dice.choice(ODD_TEXTS)
        case 5:
            return [odd(dice) for _ in range(dice.randint(0, 3))]
        case _:
            return {dice.choice(ODD_TEXTS): odd(dice) for _ in range(dice.randint(0, 3))}


def _changed(dice: random.Random, value: Any) -> Any:
    """Change one place, more likely a deep one."""
    if isinstance(value, dict) and value:
        key = dice.choice(list(value))
        match dice.randrange(10):
            case 0:
                del value[key]
            case 1:
                value[dice.choice((key.upper(), key.lower(), *ODD_TEXTS))] = value.pop(key)
            case 2:
                value[dice.choice(ODD_TEXTS)] = odd(dice)
            case _:
                value[key] = _changed(dice, value[key])
        return value
    if isinstance(value, list) and value:
        at = dice.randrange(len(value))
        match dice.randrange(10):
            case 0:
                value.insert(at, copy.deepcopy(value[at]))
            case 1:
                value.extend(value * dice.choice((1, 20)))
            case 2:
                del value[at]
            case _:
                value[at] = _changed(dice, value[at])
        return value
    return odd(dice)


def _spelled(dice: random.Random, document: Any) -> bytes:
    text = json.dumps(document)
    if dice.random() < 0.1 and text.startswith("{") and isinstance(document, dict) and document:
        # A key that comes twice.
        key = dice.choice(list(document))
        text = f"{{{json.dumps(key)}:{json.dumps(odd(dice))},{text[1:]}"
    if dice.random() < 0.2:
        text = json.dumps(json.loads(text), ensure_ascii=False)
    return text.encode(errors="surrogatepass")
