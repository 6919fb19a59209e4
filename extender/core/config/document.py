"""YAML text <-> plain mappings <-> Config; the only place that knows how the file is spelled."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import yaml

from extender.core import plain_yaml
from extender.core.config.faults import convert
from extender.core.config.features import whole
from extender.core.config.schema import API_VERSION, KIND, Config
from extender.core.errors import ConfigError, ConfigFaultsError
from extender.core.plain_yaml import FastDumper, FastLoader, PlainConstructor

Document = dict[str, Any]


class _StrictConstructor(PlainConstructor):
    """YAML as Kubernetes reads it strictly: keys are texts, and none comes twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the base class's signature
        self.flatten_mapping(node)
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} is not a string", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key!r} comes twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


class _StrictLoader(_StrictConstructor, yaml.SafeLoader):
    """Says best what is wrong."""


class _FastLoader(_StrictConstructor, FastLoader):
    """Reads five times as fast."""


def parse(text: str, source: str) -> Document:
    """Read one YAML document that is a mapping; `source` names it in errors."""
    document = parse_yaml(text, source)
    if not isinstance(document, dict):
        raise ConfigError(source, "not a mapping of fields; expected apiVersion, kind and so on")
    return document


def parse_yaml(text: str, source: str) -> Any:
    """Read one YAML document of any shape; None when there is nothing in it."""
    return _read(plain_yaml.document, text, source)


def parse_stream(text: str, source: str) -> list[Any]:
    """Read all YAML documents of a text, of which there may be thousands to read."""
    with suppress(yaml.YAMLError, ValueError, RecursionError):
        return _load_all(text, _FastLoader)
    documents: list[Any] = _read(_load_all, text, source)
    return documents


def _load_all(text: str, loader: Any) -> list[Any]:
    return list(plain_yaml.documents(text, loader))


def _read(load: Callable[..., Any], text: str, source: str) -> Any:
    try:
        # The loader is a SafeLoader: it builds plain values only.
        return load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        line, problem = plain_yaml.told(error)
        raise ConfigError(f"{source}, {line}" if line else source, problem) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(source, f"not YAML: {' '.join(str(error).split())}") from error


def decode(document: Document) -> Config:
    """Turn a document into a Config; the error names every field that is wrong."""
    config, faults = decode_all(document)
    if config is None or faults:
        raise ConfigFaultsError.of(faults)
    return config


def decode_all(document: Document) -> tuple[Config | None, list[ConfigError]]:
    """Turn a document into a Config, with all that is wrong; None when that is beyond repair.

    Where something is wrong in a block, the whole block has its defaults.
    """
    plain = _plain(document)
    config, faults = convert(plain, whole(), _file_name)
    if faults:
        broken = {fault.block for fault in faults}
        sound = {name: value for name, value in plain.items() if name not in broken}
        header = {"apiVersion": API_VERSION, "kind": KIND}
        config, _ = convert(sound | header, whole(), _file_name)
    return config, faults


def effective(config: Config) -> Document:
    """Spell the configuration out, defaults included, as the file would have it."""
    return dict(_plain(msgspec.to_builtins(config, enc_hook=str)))


def to_yaml(config: Config) -> str:
    """Write the effective configuration as a file that loads into an equal one."""
    return str(yaml.dump(effective(config), Dumper=FastDumper, sort_keys=False))


def _plain(value: Any) -> Any:
    """Drop names without a value at any depth, and have lists where msgspec has tuples.

    A null counts as unset: `serving:` with only comments below it is no error.
    """
    match value:
        case dict():
            return {key: _plain(one) for key, one in value.items() if one is not None}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value


def _file_name(_: type, value: object) -> Path:
    """Read the one type that msgspec does not know."""
    if isinstance(value, str) and value and "\0" not in value:
        return Path(value)
    raise ValueError("not the name of a file")
