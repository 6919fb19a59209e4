"""The values that templates are filled in with: override files, the environment, the cluster."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from clusterload.gotemplate.values import as_json
from extender import files
from extender.config import parse_yaml
from extender.errors import ConfigError, UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Values = dict[str, Any]

ENVIRONMENT_PREFIX = "CL2_"

_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def mapping(
    overrides: Sequence[Path], environ: Mapping[str, str], *, nodes: int, image_registry: str
) -> Values:
    """Put the values together; of two override files the later one wins.

    A variable CL2_X is the value CL2_X; one that an override file gives differently is an error.
    """
    values: Values = {}
    for path in overrides:
        values |= _override(path)
    values |= {"Nodes": nodes, "ImageRegistry": image_registry}
    for name, text in environ.items():
        if not name.startswith(ENVIRONMENT_PREFIX):
            continue
        value = _typed(text)
        known = values.setdefault(name, value)
        if type(known) is not type(value) or known != value:
            raise ConfigError(
                name,
                f"{value!r} in the environment, {known!r} in an override file "
                "(where whole numbers are floats); leave one of them out",
            )
    return values


def _override(path: Path) -> Values:
    document = parse_yaml(read(path), str(path))
    if not isinstance(document, dict):
        raise ConfigError(str(path), "not a mapping of names to values")
    return {name: as_json(value) for name, value in document.items()}


def read(path: Path) -> str:
    """Return the text of a file; what is wrong with it is a ConfigError."""
    try:
        return files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFileError(str(path), f"cannot read: {reason}") from error


def _typed(text: str) -> Any:
    readers: tuple[Callable[[str], Any], ...] = (int, float)
    for reader in readers:
        with contextlib.suppress(ValueError):
            return reader(text)
    return _BOOLS.get(text, text)
