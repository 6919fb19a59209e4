"""Files as their authors see them: in which line a field is, and which fields are there twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import yaml

from affinityctl.commands.lint.finding import Finding
from affinityctl.commands.lint.patching import STEP
from extender.core import files
from extender.core.plain_yaml import FastLoader, documents

MOST_BYTES: Final = 1 << 20
"""Of a file that people write; people do not look for lines in a dump."""


def line_of(found: Finding) -> int | None:
    """Return the line, from 1, where a finding's field is, or where the closest of its parents is.

    None for a file that is no longer readable, or too large to look for lines in it.
    """
    objects = _objects(found.place.file)
    if found.place.number >= len(objects):
        return None
    node = objects[found.place.number]
    for step in STEP.findall(found.path):
        inner = _inner(node, step)
        if inner is None:
            break
        node = inner
    return int(node.start_mark.line) + 1


def _inner(node: yaml.Node, step: str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and step.startswith("["):
        index = int(step[1:-1])
        return node.value[index] if index < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None


@lru_cache(maxsize=64)
def _objects(name: str) -> tuple[yaml.Node, ...]:
    """Return the nodes of a file's objects, lists taken apart."""
    path = Path(name)
    if not name or not path.is_file():
        return ()
    try:
        text = files.read_text(path, MOST_BYTES)
        list(documents(text))  # refuses what is nested too deeply, or far too long
        return tuple(_apart(yaml.compose_all(text, FastLoader)))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ()


def _apart(nodes: Iterator[yaml.Node]) -> Iterator[yaml.Node]:
    for node in nodes:
        kind, items = _inner(node, "kind"), _inner(node, "items")
        listed = isinstance(kind, yaml.ScalarNode) and str(kind.value).endswith("List")
        if listed and isinstance(items, yaml.SequenceNode):
            yield from items.value
        elif isinstance(node, yaml.MappingNode):
            yield node


def repeated(file: str, number: int) -> Iterator[str]:
    """Yield the paths of the fields that an object of a file has twice, as far as it is looked at.

    What reads JSON or YAML takes the last of them.
    """
    objects = _objects(file)
    if number < len(objects):
        yield from _repeated(objects[number], "")


def _repeated(node: yaml.Node, path: str) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            here = f"{path}.{key.value}".lstrip(".")
            if key.value in seen:
                yield here
            seen.add(key.value)
            yield from _repeated(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, each in enumerate(node.value):
            yield from _repeated(each, f"{path}[{index}]")
