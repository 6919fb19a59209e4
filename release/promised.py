"""Which names releases promise, from the reference, and the list of those that were promised.

`python -m release.promised` adds to release/promised.txt what is new. A name is struck from it only
with a major release; docs/promises.md says what else is promised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from extender.core.config.features import Maturity, features
from extender.core.metrics import Metrics
from extender.core.parts import part_of
from release.chart import CHART

FILE = Path(__file__).with_name("promised.txt")
REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def named_today() -> set[str]:
    """Return a line for each name that is there, but for those of alpha features."""
    return {*_flags(), *_fields(), *_metrics(), *_rules(), *_answers(), *_values()}


def recorded() -> set[str]:
    return {*FILE.read_text().splitlines()}


def _page(name: str) -> str:
    return (REFERENCE / name).read_text()


def _flags() -> Iterator[str]:
    for program in _page("command-line.md").split("\n## ")[1:]:
        name = program.partition("\n")[0]
        for command, flags in re.findall(r"^\| `(\w+)`: .*? \| (.*?) \|", program, re.MULTILINE):
            yield f"command {name} {command}"
            yield from (f"flag {name} {command} {flag}" for flag in re.findall("`(.+?)`", flags))


def _fields() -> Iterator[str]:
    alpha = {name for each in features() if each.maturity is Maturity.ALPHA for name in each.fields}
    entries = re.findall(r"^### `(.+?)`\n\n.*\n\n- (.*)$", _page("configuration.md"), re.MULTILINE)
    for path, said in entries:
        if re.split(r"[.\[]", path)[0] not in alpha:
            kind = re.sub("; `-.*", "", said)
            # More values are no promise that is broken.
            yield f"field {path}: {re.sub('^one of [^;]*', 'word', kind)}"


def _metrics() -> Iterator[str]:
    made = Metrics()
    core = {each.name for each in made.families}
    for feature in features():
        if feature.maturity is Maturity.ALPHA:
            part_of(feature).metrics(made.make)
    alpha = {each.name for each in made.families} - core
    pattern = r"^## `(\w+)`\n\n.*\n\n- \w+(?: by (.*))?$"
    for name, labels in re.findall(pattern, _page("metrics.md"), re.MULTILINE):
        if name not in alpha:
            yield f"metric {name} {labels.replace('`', '')}".rstrip()


def _rules() -> Iterator[str]:
    yield from (f"rule {name}" for name in re.findall(r"(?m)^### (\S+)$", _page("lint-rules.md")))


def _answers() -> Iterator[str]:
    for path in (REFERENCE / "schemas").iterdir():
        for name, of in json.loads(path.read_text())["$defs"].items():
            yield from (f"json {path.stem} {name}.{each}" for each in of.get("properties", ()))


def _values() -> Iterator[str]:
    yield from _leaves("value", yaml.safe_load((CHART / "values.yaml").read_text()))


def _leaves(path: str, values: Any) -> Iterator[str]:
    if isinstance(values, dict) and values:
        for name, one in values.items():
            yield from _leaves(f"{path} {name}" if path == "value" else f"{path}.{name}", one)
    else:
        yield path


if __name__ == "__main__":
    FILE.write_text("\n".join(sorted(named_today() | recorded())) + "\n")
