"""The exceptions of the project; expected refusals are values, not these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

MESSAGE_BYTES: Final = 4096
"""Bytes of a message, in UTF-8, whatever it quotes: a value of a request or a file may be as large
as the request or the file, and messages go on to logs, events and the scheduler."""


def one_line(text: str, most: int = MESSAGE_BYTES) -> str:
    """Return a text as one printable line of at most `most` bytes, blanks and line ends as one."""
    # No more is looked at than can be shown: the rest may be megabytes.
    head = " ".join(text[: most + 1].split())
    return _cut(printable(head), most, len(text))


def bounded(text: str, most: int = MESSAGE_BYTES) -> str:
    """Return a text in printable characters, cut when it is longer than `most` bytes."""
    return _cut(printable(text[: most + 1]), most, len(text))


def printable(text: str) -> str:
    """Escape line ends, lone surrogates and what else could forge a line or drive a terminal."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def encodable(text: str) -> bool:
    """Return whether a text can be written as UTF-8, which lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _cut(line: str, most: int, whole: int) -> str:
    encoded = line.encode()
    if len(encoded) <= most and whole <= most:
        return line
    mark = f"... ({whole} characters in all)"
    return encoded[: most - len(mark)].decode(errors="ignore") + mark


class ExtenderError(Exception):
    """Whatever this project raises on purpose; its text is one line of bounded length."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class UnreadableError(ExtenderError):
    """A file, or the cluster, that cannot be read at all: nothing can be said about its content."""


class InputError(ExtenderError):
    """Something that was read and is broken."""


class ObjectError(InputError):
    """A Kubernetes object that cannot be read; says which field and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class RequestError(InputError):
    """A callback's body that is not what kube-scheduler sends."""


class ConfigError(InputError):
    """A configuration value that cannot be used; says which field and why.

    `source` is the file that has the field, where there is one.
    """

    def __init__(self, path: str, message: str, source: str = "") -> None:
        super().__init__(": ".join(filter(None, (source, path, message))))
        self.path = path
        self.message = message
        self.source = source

    @property
    def block(self) -> str:
        """Return the field of the file that it is in."""
        return re.split(r"[.\[]", self.path, maxsplit=1)[0]


class ConfigFaultsError(ConfigError):
    """All that is wrong with one configuration, a line for each fault."""

    def __init__(self, faults: Sequence[ConfigError]) -> None:
        super().__init__("", "\n".join(map(str, faults)))
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))

    @staticmethod
    def of(faults: Sequence[ConfigError]) -> ConfigError:
        """Return what to raise for one fault or more; one alone keeps its class."""
        return faults[0] if len(faults) == 1 else ConfigFaultsError(faults)


class UnreadableFileError(ConfigError, UnreadableError):
    """A file that a setting names and that cannot be read."""


class ApiError(UnreadableError):
    """An answer of the API server that is not success."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def is_missing(self) -> bool:
        """Whether the API server says that there is no such object.

        A proxy says 404 as well where it knows no way to a server, without the reason.
        """
        return self.status == HTTPStatus.NOT_FOUND and self.reason == "NotFound"

    @property
    def lacks_right(self) -> bool:
        """Whether its authorization says no: to all requests of the kind.

        Admission says 403 as well, about one object, in words that a webhook may choose.
        """
        return self.status == HTTPStatus.FORBIDDEN and _NO_RIGHT.match(self.message) is not None


_NO_RIGHT: Final = re.compile(r'\S+ (?:"[^"]*" )?is forbidden: User "')
"""How the API server begins that, whichever authorizer it asks (responsewriters.Forbidden)."""
