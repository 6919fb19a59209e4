"""What the command config does."""

from __future__ import annotations

import argparse
from typing import Any

import yaml

from extender.core.command_line import DONE, say
from extender.core.config.document import decode_all, parse
from extender.core.config.schema import API_VERSION, OLD_API_VERSION
from extender.core.errors import ConfigError, ConfigFaultsError, UnreadableError
from extender.core.files import read_text

_FIELD = "apiVersion"


def run(flags: argparse.Namespace) -> int:
    name = str(flags.file)
    try:
        text = converted(read_text(flags.file), name)
        if flags.write:
            # Over the old text, which is longer: emptied before, it would be lost on a full disk.
            with flags.file.open("r+b") as file:
                file.write(text.encode())
                file.truncate()
    except UnicodeDecodeError as error:
        raise UnreadableError(f"cannot read {name}: {error.reason}") from error
    except OSError as error:
        raise UnreadableError(f"{name}: {error.strerror}") from error
    if not flags.write:
        # A file from Windows; a control character would be spelled out.
        say(text.replace("\r\n", "\n").rstrip("\n"))
    return DONE


def converted(text: str, name: str) -> str:
    """Return a configuration file in the version of today; ConfigError says what is wrong in it.

    Whether its fields fit together depends on the flags that `serve` has beside it.
    """
    document = parse(text, name)
    if document.get(_FIELD) == OLD_API_VERSION:
        document[_FIELD] = API_VERSION
        text = _with_version(text, name)
    _, found = decode_all(document)
    if found:
        raise ConfigFaultsError.of([ConfigError(each.path, each.message, name) for each in found])
    return text


def _with_version(text: str, name: str) -> str:
    """Put today's version where the text has its own; how the rest is written is the user's."""
    whole: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    where = next((value for key, value in whole.value if key.value == _FIELD), None)
    if where is None:
        raise ConfigError(_FIELD, "comes by a merge key; write it out", name)
    old = text[where.start_mark.index : where.end_mark.index]
    new = old.replace(OLD_API_VERSION, API_VERSION)
    if new == old:  # with an escape in it, as JSON may have the slash
        new = f'"{API_VERSION}"'
    return text[: where.start_mark.index] + new + text[where.end_mark.index :]
