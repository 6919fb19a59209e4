"""Flags over file over defaults; some things as kube-apiserver's and kube-scheduler's files say."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from extender.core.command_line import PROGRAM, complain
from extender.core.config.checks import faults
from extender.core.config.document import Document, decode_all, parse
from extender.core.config.faults import show
from extender.core.config.features import Completion, features
from extender.core.config.options import BY_FLAG, Option, all_options
from extender.core.config.schema import API_VERSION, KIND, OLD_API_VERSION, Config
from extender.core.errors import (
    ConfigError,
    ConfigFaultsError,
    ObjectError,
    UnreadableFileError,
    encodable,
)

_BOOLS = {"true": True, "false": False}

_T = TypeVar("_T")


def load(
    flags: argparse.Namespace,
    read_file: Callable[[Path], str],
    warn: Callable[[str], None] = complain,
) -> Config:
    """Put the layers together and check the whole; ConfigError names all faults and their sources.

    `flags` has, for each Option's `dest`, a text (a list of them for a repeated one) or None.
    `warn` is told what works now and will not for ever.
    """
    names = _texts(BY_FLAG["config"], flags)
    document = _file(names, read_file)
    if document.get("apiVersion") == OLD_API_VERSION:
        document["apiVersion"] = API_VERSION
        warn(
            f"{names[0]}: apiVersion {OLD_API_VERSION} is read until release 2.0; "
            f"write it as {API_VERSION}: {PROGRAM} config convert {names[0]}"
        )
    found: list[ConfigError] = []
    origins: dict[str, str] = {}
    for option in all_options():
        texts = _texts(option, flags)
        if texts and option.path:
            try:
                _overlay(document, option, texts)
            except ConfigError as error:
                found.append(error)
            origins[option.path] = option.spelled
    config, wrong = decode_all(document)
    if config is not None:
        # Where blocks are broken, defaults stand in for them, and say nothing of what was written.
        broken = {error.block for error in wrong}
        wrong += [error for error in faults(config, broken) if error.block not in broken]
        broken = {error.block for error in wrong}
        for each in (one.completion for one in features()):
            if each is not None and ConfigError(each.field, "").block not in broken:
                try:
                    config = _completed(config, each, read_file)
                except ConfigError as error:
                    wrong.append(error)
    found += [_with_source(error, origins, *names) for error in wrong]
    if config is None or found:
        raise ConfigFaultsError.of(found)
    return config


def _texts(option: Option, flags: argparse.Namespace) -> list[str]:
    flag = getattr(flags, option.dest, None)
    if flag is None:
        return []
    return list(flag) if option.many else [flag]


def _file(names: list[str], read_file: Callable[[Path], str]) -> Document:
    if not names:
        return {"apiVersion": API_VERSION, "kind": KIND}
    text = _text(Path(names[0]), read_file, names[0], "the configuration file")
    return parse(text, names[0])


def _overlay(document: Document, option: Option, texts: list[str]) -> None:
    for text in texts:
        if not encodable(text):
            # The bytes of a flag are not decoded before they reach Python.
            raise ConfigError(option.spelled, f"{show(text)} is not UTF-8")
    *blocks, last = option.path.split(".")
    inner: Any = document
    for name in blocks:
        if inner.get(name) is None:
            inner[name] = {}
        inner = inner[name]
        if not isinstance(inner, dict):
            return  # the file is wrong here; decoding says so
    if option is BY_FLAG["feature-gates"]:
        gates = inner.get(last)
        written = gates if isinstance(gates, dict) else {}
        inner[last] = {**written, **_gates(texts[0], option.spelled)}
    else:
        inner[last] = texts if option.many else _typed(texts[0], option.schema_default)


def _typed(text: str, default: object) -> object:
    """Read a number, true or false where the schema has one; others are left for its complaint."""
    if isinstance(default, bool):
        return _BOOLS.get(text.lower(), text)
    with suppress(ValueError):
        return int(text) if isinstance(default, int) else text
    return text


def _gates(text: str, source: str) -> dict[str, bool]:
    gates = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = pair.partition("=")
        if value.lower() not in _BOOLS:
            raise ConfigError(source, f"{show(pair)} is not NAME=true or NAME=false")
        gates[name] = _BOOLS[value.lower()]
    return gates


def _with_source(error: ConfigError, origins: Mapping[str, str], file: str = "") -> ConfigError:
    kind = UnreadableFileError if isinstance(error, UnreadableFileError) else ConfigError
    for path, source in origins.items():
        if error.path == path or error.path.startswith((f"{path}.", f"{path}[")):
            return kind(error.path, f"{error.message} (from {source})")
    return kind(error.path, error.message, file)


def _completed(config: Config, completion: Completion, read_file: Callable[[Path], str]) -> Config:
    """Return the configuration with what a file of Kubernetes says, if one is named."""
    path = completion.file(config)
    if path is None:
        return config

    def read(file: Path) -> Document:
        return parse(_text(file, read_file), str(file))

    return _from(path, completion.field, lambda: completion.complete(config, path, read))


def _from(path: Path, field: str, read: Callable[[], _T]) -> _T:
    """Read what a field names; ConfigError names the field."""
    try:
        return read()
    except ObjectError as error:
        raise ConfigError(field, f"{path}: {error}") from error
    except UnreadableFileError as error:
        raise UnreadableFileError(field, str(error)) from error
    except ConfigError as error:
        raise ConfigError(field, str(error)) from error


def _text(
    path: Path, read_file: Callable[[Path], str], field: str = "", what: str | None = None
) -> str:
    try:
        return read_file(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFileError(field, f"cannot read {what or path}: {reason}") from error
