"""Templates, and the values that fill them in: from files, the environment and the cluster."""

from __future__ import annotations

import contextlib
import random
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clusterload.functions import functions
from clusterload.gotemplate import Template
from clusterload.gotemplate.values import as_json
from clusterload.objects import Kind
from extender.core import files
from extender.core.config import parse_stream, parse_yaml
from extender.core.errors import ConfigError, UnreadableFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Values = dict[str, Any]

ENVIRONMENT_PREFIX = "CL2_"

# Placeholders are no YAML, so a template that is not filled in cannot be read as such.
_KIND_FIELD = re.compile(r"^(apiVersion|kind): *[\"']?([\w./-]+)", re.MULTILINE)
_SEPARATOR = re.compile(r"^---", re.MULTILINE)

_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class Templates:
    """The templates below the folder of one test, each read once."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.chance = chance
        self._read: dict[str, Template] = {}
        self._kinds: dict[str, list[Kind]] = {}

    @cached_property
    def _functions(self) -> Mapping[str, Any]:
        return functions(self.folder, self.chance)

    def render(self, name: str, values: Values) -> str:
        """Return the text of a template with its values filled in."""
        if name not in self._read:
            path = below(self.folder, name)
            self._read[name] = Template(read(path), str(path), self._functions)
        return self._read[name].render(values)

    def objects(self, name: str, values: Values) -> list[dict[str, Any]]:
        """Return the objects of a template with its values filled in; none where it has no text."""
        source = str(below(self.folder, name))
        documents = [each for each in parse_stream(self.render(name, values), source) if each]
        for index, document in enumerate(documents):
            if not isinstance(document, dict) or not document.keys() >= {"apiVersion", "kind"}:
                raise ConfigError(f"{source}, document {index + 1}", "no apiVersion and kind")
        return documents

    def kinds(self, name: str) -> list[Kind]:
        """Return the kinds of the objects of a template, without filling it in."""
        path = below(self.folder, name)
        if name not in self._kinds:
            fields = (_KIND_FIELD.findall(each) for each in _SEPARATOR.split(read(path)))
            kinds = [dict(each) for each in fields if each]
            if not kinds or any(len(each) != len(Kind._fields) for each in kinds):
                raise ConfigError(
                    str(path), "apiVersion and kind have to stand in lines of their own"
                )
            self._kinds[name] = [Kind(each["apiVersion"], each["kind"]) for each in kinds]
        return self._kinds[name]


def mapping(
    overrides: Sequence[Path], environ: Mapping[str, str], *, nodes: int, image_registry: str
) -> Values:
    """Return the values for templates; of two override files the later one wins.

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


def below(folder: Path, name: str) -> Path:
    """Return the path of a file that a test names; a slash in front changes nothing."""
    return folder / name.lstrip("/")


def _typed(text: str) -> Any:
    readers: tuple[Callable[[str], Any], ...] = (int, float)
    for reader in readers:
        with contextlib.suppress(ValueError):
            return reader(text)
    return _BOOLS.get(text, text)
