"""Log lines for people or for collectors, one line for each record, whatever it holds.

Verbosity is Kubernetes' `-v`, mapped to levels of the standard library, so that any logger will do:

| -v | level constant | for |
| --- | --- | --- |
| 0 | `logging.INFO` (and WARNING, ERROR) | faults and milestones: always shown |
| 2 | `PRODUCTION` | what is worth knowing in production |
| 3 | `CHANGES` | each change of what is watched; guard with `isEnabledFor` |
| 4 | `logging.DEBUG` | debugging |
| 5 | `TRACE` | each decision and each request; guard with `isEnabledFor` |

Fields go into `extra`: `log.info("Bound", extra={"pod": pod})`; anything with a `name` and a
`namespace` is written as a reference to an object.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from extender.core.errors import MESSAGE_BYTES, bounded

PRODUCTION: Final = 16
CHANGES: Final = 13
TRACE: Final = 5

_LEVELS: Final = (logging.INFO, 18, PRODUCTION, CHANGES, logging.DEBUG, TRACE, 4, 3, 2, 1)

STACK_BYTES: Final = 4 * MESSAGE_BYTES
"""Of a stack trace: its first third, where it began, and its last, where it broke."""

# What every record has; the rest of its attributes came through `extra`.
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def level(verbosity: int) -> int:
    """Return the lowest level that `-v` shows."""
    return _LEVELS[min(max(verbosity, 0), len(_LEVELS) - 1)]


def verbosity(levelno: int) -> int:
    """Return the lowest `-v` that shows a level."""
    return next((v for v, shown in enumerate(_LEVELS) if levelno >= shown), len(_LEVELS) - 1)


def configure(*, json_lines: bool, verbosity: int, stream: TextIO) -> None:
    """Send everything that is logged or warned about to `stream`, and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if json_lines else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level(verbosity))
    logging.captureWarnings(capture=True)


class JsonFormatter(logging.Formatter):
    """Lines with the keys of Kubernetes components: ts (epoch ms), caller, msg, v, err, logger.

    As there, `v` is on all but errors; `level` is ours, since warnings have no key upstream.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "caller": _caller(record),
            "msg": _shortened(record.getMessage()),
            "level": record.levelname.lower() if record.levelno >= logging.INFO else "info",
            "logger": record.name,
        }
        if record.levelno < logging.ERROR:
            line["v"] = verbosity(record.levelno)
        line.update(_faults(self, record))
        # A field never replaces a key of the line itself.
        line.update((key, value) for key, value in _fields(record).items() if key not in line)
        return json.dumps(line, separators=(",", ":"))


class TextFormatter(logging.Formatter):
    """Lines to be read: time (UTC), severity, logger, message, fields."""

    def format(self, record: logging.LogRecord) -> str:
        time = dt.datetime.fromtimestamp(record.created, dt.UTC)
        clock = time.isoformat(timespec="milliseconds").removesuffix("+00:00")
        head = f"{clock}Z {_severity(record)} {record.name}: "
        head += bounded(record.getMessage())
        fields = {key: (value, MESSAGE_BYTES) for key, value in _fields(record).items()}
        fields |= {key: (value, STACK_BYTES) for key, value in _faults(self, record).items()}
        shown = (bounded(f"{key}={_shown(one)}", most) for key, (one, most) in fields.items())
        return " ".join((head, *shown))


def _severity(record: logging.LogRecord) -> str:
    return (
        record.levelname[0] if record.levelno >= logging.INFO else f"V{verbosity(record.levelno)}"
    )


def _caller(record: logging.LogRecord) -> str:
    path = Path(record.pathname)
    return f"{path.parent.name}/{path.name}:{record.lineno}"


def _faults(formatter: logging.Formatter, record: logging.LogRecord) -> dict[str, str]:
    if not record.exc_info or record.exc_info[1] is None:
        return {}
    error = record.exc_info[1]
    return {
        "err": _shortened(_describe(error)),
        "stacktrace": _shortened_stack(formatter.formatException(record.exc_info)),
    }


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return what came through `extra`."""
    return {key: _plain(one) for key, one in vars(record).items() if key not in _STANDARD}


def _plain(value: object) -> Any:
    """Reduce a field to what JSON knows."""
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case None | bool() | int():
            return value
        case str():
            return _shortened(value)
        case Mapping():
            return {_shortened(str(key)): _plain(one) for key, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(one) for one in value]
        case _:
            return _reference(value) or _shortened(_describe(value))


def _reference(value: object) -> dict[str, str] | None:
    """Name a Kubernetes object as Kubernetes' own logs do."""
    name, namespace = getattr(value, "name", None), getattr(value, "namespace", None)
    if isinstance(name, str) and isinstance(namespace, str):
        return {"name": _shortened(name), "namespace": _shortened(namespace)}
    return None


def _describe(value: object) -> str:
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)


def _shown(value: object) -> str:
    """Write a field for people: ns/name for objects, quotes only where they help."""
    if isinstance(value, dict) and value.keys() == {"name", "namespace"}:
        return f"{value['namespace']}/{value['name']}"
    if isinstance(value, str) and value and not any(one.isspace() or one in '"=' for one in value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _shortened(text: str) -> str:
    """Cut a text that quotes more than a line should hold, and keep it fit for UTF-8."""
    encoded = text[: MESSAGE_BYTES + 1].encode(errors="backslashreplace")
    if len(encoded) <= MESSAGE_BYTES:
        return encoded.decode()
    head = encoded[:MESSAGE_BYTES].decode(errors="ignore")
    return f"{head}... ({len(text)} characters in all)"


def _shortened_stack(text: str) -> str:
    third = STACK_BYTES // 3  # the rest is for what escaping adds
    if len(text) > 2 * third:
        text = f"{text[:third]}\n...\n{text[-third:]}"
    return text.encode(errors="backslashreplace").decode()
