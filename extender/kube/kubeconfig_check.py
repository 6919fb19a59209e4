"""Checks a kubeconfig file without contacting anybody: no server, and no program that it names."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extender.config import parse_yaml
from extender.errors import ConfigError, UnreadableFileError
from extender.kube.credentials import kubeconfig_credentials

FIELD = "clientConnection.kubeconfig"
_PROGRAMS = ("exec", "auth-provider")


def check_kubeconfig(path: str, context: str | None) -> None:
    """Raise ConfigError for a file, or files joined by colons, that could not be used.

    Where credentials come from a program, it is looked for but not run.
    """
    documents = list(_documents(path))
    if not documents:
        raise UnreadableFileError(FIELD, f"no such file: {path}")
    chosen = context or next(filter(None, (each.get("current-context") for each in documents)), "")
    if not chosen:
        raise ConfigError(FIELD, f"{path}: current-context: missing, and no context is configured")
    used = _named(documents, "contexts", "context", chosen, path)
    _named(documents, "clusters", "cluster", used.get("cluster"), path)
    user = _named(documents, "users", "user", used.get("user"), path)
    plugin = user.get("exec")
    if isinstance(plugin, dict) and not _installed(str(plugin.get("command", "")), path):
        command = plugin.get("command")
        raise ConfigError(FIELD, f"{path}: users[{used.get('user')}].user.exec: no {command!r}")
    if not any(user.get(name) for name in _PROGRAMS):
        asyncio.run(kubeconfig_credentials(path, context))


def _documents(path: str) -> Iterator[dict[str, Any]]:
    for name in filter(None, path.split(os.pathsep)):
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8")
        except FileNotFoundError:
            continue  # as kubectl does, where there are several
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableFileError(FIELD, f"cannot read {name}: {reason}") from error
        try:
            document = parse_yaml(text, name)
        except ConfigError as error:
            raise ConfigError(FIELD, str(error)) from error
        if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
            kind = document.get("kind") if isinstance(document, dict) else None
            found = f"a {kind}" if isinstance(kind, str) else "no kind"
            raise ConfigError(FIELD, f"{name}: found {found}, expected a kubeconfig (kind: Config)")
        yield document


def _named(
    documents: list[dict[str, Any]], listed: str, member: str, name: object, path: str
) -> dict[str, Any]:
    """Return an entry of one of a kubeconfig's lists; the first file that has it wins."""
    names = []
    for document in documents:
        for entry in document.get(listed) or ():
            if isinstance(entry, dict):
                if entry.get("name") == name and isinstance(entry.get(member), dict):
                    return dict(entry[member])
                names.append(str(entry.get("name")))
    known = f"; known: {', '.join(names)}" if names else ""
    raise ConfigError(FIELD, f"{path}: {listed}: no {member} is called {name!r}{known}")


def _installed(command: str, path: str) -> bool:
    """Return whether a plugin can be started; a relative path begins beside the kubeconfig file."""
    beside = Path(path.split(os.pathsep, maxsplit=1)[0]).expanduser().parent / command
    return bool(command) and (shutil.which(command) or shutil.which(str(beside))) is not None
