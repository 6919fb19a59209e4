"""From the file of a test to a Config that is complete: filled in, modules put in, checked.

The rules that tie its fields together are those of clusterloader2's api/validation.go.
"""

from __future__ import annotations

import random
import re
import string
from typing import TYPE_CHECKING

import msgspec

from clusterload.decoding import decode
from clusterload.schema import (
    DELETE_NAMESPACE_TIMEOUT,
    BundledObject,
    Config,
    Measurement,
    Module,
    NamespaceRange,
    Namespaces,
    Phase,
    Step,
    TuningSet,
)
from clusterload.templates import Templates, below
from extender.core.config.faults import show
from extender.core.errors import ConfigError, ConfigFaultsError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from clusterload.templates import Values

_SUFFIX_LENGTH = 6
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", re.ASCII)
_LOADS = tuple(name for name in TuningSet.__struct_fields__ if name.endswith("_load"))


def compile_test(
    templates: Templates, name: str, values: Values, methods: Collection[str]
) -> Config:
    """Read a test from the file of this name; `methods` are the measurements that it may call."""
    source = str(below(templates.folder, name))
    config = decode(templates.render(name, values), source, Config)
    config = msgspec.structs.replace(
        config,
        steps=_flat(templates, values, config.steps, source),
        namespace=_defaulted(config, templates.chance),
    )
    wrong = [
        ConfigError(error.path, error.message, source)
        for error in _Checker(config, templates.folder, methods).errors()
    ]
    if wrong:
        raise ConfigFaultsError.of(wrong)
    return config


def _flat(templates: Templates, values: Values, steps: list[Step], source: str) -> list[Step]:
    """Replace each step that names a module by the steps of the module, and so on inside it."""
    flat: list[Step] = []
    for index, step in enumerate(steps):
        module = step.module
        if not module.path:
            flat.append(step)
            continue
        file = below(templates.folder, module.path)
        if not _is_file(file):
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


class _Checker:
    def __init__(self, config: Config, folder: Path, methods: Collection[str]) -> None:
        self._config = config
        self._folder = folder
        self._methods = methods
        self._tuning_sets = {each.name for each in config.tuning_sets}

    def errors(self) -> Iterator[ConfigError]:
        config = self._config
        if not config.name:
            yield ConfigError("name", "missing")
        if config.dependencies:
            yield ConfigError("dependencies", "not supported here")
        if config.chaos_monkey.node_failure:
            yield ConfigError("chaosMonkey.nodeFailure", "not supported here")
        for index, tuning_set in enumerate(config.tuning_sets):
            loads = sum(getattr(tuning_set, name) is not None for name in _LOADS)
            if loads != 1:
                yield ConfigError(f"tuningSets[{index}]", f"{loads} loads given instead of one")
        if not config.steps:
            yield ConfigError("steps", "missing")
        for index, step in enumerate(config.steps):
            yield from self._step(step, f"steps[{index}]")

    def _step(self, step: Step, path: str) -> Iterator[ConfigError]:
        if bool(step.phases) == bool(step.measurements):
            problem = (
                "phases and measurements" if step.phases else "neither phases nor measurements"
            )
            yield ConfigError(path, f"{problem} given instead of one of them")
        for index, phase in enumerate(step.phases):
            yield from self._phase(phase, f"{path}.phases[{index}]")
        for index, measurement in enumerate(step.measurements):
            yield from self._measurement(measurement, f"{path}.measurements[{index}]")

    def _phase(self, phase: Phase, path: str) -> Iterator[ConfigError]:
        if phase.namespace_list and phase.namespace_range is not None:
            yield ConfigError(f"{path}.namespaceList", "given as well as namespaceRange")
        if phase.namespace_range is not None:
            yield from _range(phase.namespace_range, f"{path}.namespaceRange")
        if phase.tuning_set not in self._tuning_sets:
            yield ConfigError(f"{path}.tuningSet", f"{show(phase.tuning_set)} is not declared")
        for index, each in enumerate(phase.object_bundle):
            yield from self._object(each, f"{path}.objectBundle[{index}]")

    def _object(self, each: BundledObject, path: str) -> Iterator[ConfigError]:
        if not _SUBDOMAIN.fullmatch(each.basename):
            yield ConfigError(f"{path}.basename", f"{show(each.basename)} is not a DNS subdomain")
        template = below(self._folder, each.object_template_path)
        if not _is_file(template):
            yield ConfigError(f"{path}.objectTemplatePath", f"no such file: {template}")
        if each.list_unknown_object_options:
            yield ConfigError(f"{path}.listUnknownObjectOptions", "not supported here")

    def _measurement(self, measurement: Measurement, path: str) -> Iterator[ConfigError]:
        if bool(measurement.identifier) == bool(measurement.instances):
            yield ConfigError(f"{path}.identifier", "either this or instances has to be given")
        if measurement.method not in self._methods:
            known = ", ".join(sorted(self._methods))
            yield ConfigError(
                f"{path}.method", f"{show(measurement.method)} is not known here; known: {known}"
            )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # its name is too long
        return False


def _range(numbers: NamespaceRange, path: str) -> Iterator[ConfigError]:
    if numbers.max < numbers.min:
        yield ConfigError(f"{path}.max", f"{numbers.max} is less than min, {numbers.min}")
