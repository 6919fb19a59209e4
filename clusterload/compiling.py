"""From the file of a test to a Config that is complete: filled in, modules put in, checked."""

from __future__ import annotations

import random
import re
import string
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from clusterload.checks import below, faults
from clusterload.decoding import decode
from clusterload.functions import functions
from clusterload.gotemplate import Template
from clusterload.mapping import read
from clusterload.objects import Kind
from clusterload.schema import DELETE_NAMESPACE_TIMEOUT, Config, Module, Namespaces, Step
from extender.config import parse_stream
from extender.errors import ConfigError, ConfigFaultsError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from clusterload.mapping import Values

_SUFFIX_LENGTH = 6

# Placeholders are no YAML, so a template that is not filled in cannot be read as such.
_KIND_FIELD = re.compile(r"^(apiVersion|kind): *[\"']?([\w./-]+)", re.MULTILINE)
_SEPARATOR = re.compile(r"^---", re.MULTILINE)


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
        """Fill one in."""
        if name not in self._read:
            path = below(self.folder, name)
            self._read[name] = Template(read(path), str(path), self._functions)
        return self._read[name].render(values)

    def objects(self, name: str, values: Values) -> list[dict[str, Any]]:
        """Fill in a template of Kubernetes objects; one without any text stands for none."""
        source = str(below(self.folder, name))
        documents = [each for each in parse_stream(self.render(name, values), source) if each]
        for index, document in enumerate(documents):
            if not isinstance(document, dict) or not document.keys() >= {"apiVersion", "kind"}:
                raise ConfigError(f"{source}, document {index + 1}", "no apiVersion and kind")
        return documents

    def kinds(self, name: str) -> list[Kind]:
        """Say what a template makes, without filling it in."""
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


def compile_test(
    templates: Templates, name: str, values: Values, methods: Collection[str]
) -> Config:
    """Read the test of this file name; `methods` are the measurements that there are."""
    source = str(below(templates.folder, name))
    config = decode(templates.render(name, values), source, Config)
    config = msgspec.structs.replace(
        config,
        steps=_flat(templates, values, config.steps, source),
        namespace=_defaulted(config, templates.chance),
    )
    wrong = [
        ConfigError(error.path, error.message, source)
        for error in faults(config, templates.folder, methods)
    ]
    if wrong:
        raise ConfigFaultsError.of(wrong)
    return config


def _flat(templates: Templates, values: Values, steps: list[Step], source: str) -> list[Step]:
    """Put the steps of modules, and of theirs, in the place of those that name them."""
    flat: list[Step] = []
    for index, step in enumerate(steps):
        module = step.module
        if not module.path:
            flat.append(step)
            continue
        file = below(templates.folder, module.path)
        if not file.is_file():
            raise ConfigError(f"{source}: steps[{index}].module.path", f"no such file: {file}")
        inner = values | module.params
        text = templates.render(module.path, inner)
        if text.strip():
            flat += _flat(templates, inner, decode(text, str(file), Module).steps, str(file))
    return flat


def _defaulted(config: Config, chance: random.Random) -> Namespaces:
    given = config.namespace
    suffix = "".join(chance.choices(string.ascii_lowercase + string.digits, k=_SUFFIX_LENGTH))
    return Namespaces(
        number=given.number or config.automanaged_namespaces or 1,
        prefix=given.prefix or f"test-{suffix}",
        delete_stale_namespaces=bool(given.delete_stale_namespaces),
        delete_automanaged_namespaces=given.delete_automanaged_namespaces is not False,
        enable_existing_namespaces=bool(given.enable_existing_namespaces),
        delete_namespace_timeout=given.delete_namespace_timeout or DELETE_NAMESPACE_TIMEOUT,
    )
