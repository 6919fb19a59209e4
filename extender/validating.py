"""`serve --validate-only`: looks into every file that the configuration names."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from extender import files
from extender.cluster.state import ClusterState
from extender.config import Config, Serving, parse_yaml
from extender.errors import (
    ConfigError,
    ConfigFaultsError,
    ExtenderError,
    UnreadableError,
    UnreadableFileError,
)
from extender.offline import ClusterFiles
from extender.source import pod_reader
from extender.web.tls import ServerTLS, unreadable

_KUBECONFIG: Final = "clientConnection.kubeconfig"


def check_files(config: Config) -> None:
    """Raise ConfigError with all files that could not be used, and why.

    Nobody is contacted: an API server that is away is no fault of the configuration.
    """
    faults = [*_cluster(config), *_tls(config.serving)]
    if faults:
        raise ConfigFaultsError.of(faults)


def _cluster(config: Config) -> Iterator[ConfigError]:
    if config.cluster_files:
        yield from _cluster_files(config)
        return
    connection = config.client_connection
    if connection.kubeconfig is None:
        return  # a pod's service account, which is not there yet
    try:
        _check_kubeconfig(str(connection.kubeconfig), connection.context)
    except ConfigError as error:
        yield error


def _cluster_files(config: Config) -> Iterator[ConfigError]:
    cluster = ClusterFiles(ClusterState(), pod_reader(config))
    broken = False
    for index, path in enumerate(config.cluster_files):
        try:
            cluster.load(path)
        except ExtenderError as error:
            broken = True
            yield _about(f"clusterFiles[{index}]", error)
    if not broken:
        try:
            cluster.finish()
        except ExtenderError as error:
            yield _about("clusterFiles", error)


def _about(field: str, error: ExtenderError) -> ConfigError:
    kind = UnreadableFileError if isinstance(error, UnreadableError) else ConfigError
    return kind(field, str(error))


def _tls(serving: Serving) -> Iterator[ConfigError]:
    cert, key = serving.tls_cert_file, serving.tls_private_key_file
    if cert is None or key is None:
        return
    named = {
        "serving.tlsCertFile": cert,
        "serving.tlsPrivateKeyFile": key,
        "serving.clientCAFile": serving.client_ca_file,
    }
    faults = [*unreadable({field: path for field, path in named.items() if path})]
    yield from faults
    if not faults:
        try:
            ServerTLS(cert, key, serving.client_ca_file)
        except ConfigError as error:
            yield error


def _check_kubeconfig(path: str, context: str | None) -> None:
    """Raise ConfigError for a file, or files joined by colons, that could not be used.

    Where credentials come from a program, it is looked for but not run.
    """
    documents = list(_documents(path))
    if not documents:
        raise UnreadableFileError(_KUBECONFIG, f"no such file: {path}")
    chosen = context or next(filter(None, (each.get("current-context") for each in documents)), "")
    if not chosen:
        raise ConfigError(
            _KUBECONFIG, f"{path}: current-context: missing, and no context is configured"
        )
    used = _named(documents, "contexts", "context", chosen, path)
    _named(documents, "clusters", "cluster", used.get("cluster"), path)
    user = _named(documents, "users", "user", used.get("user"), path)
    plugin = user.get("exec")
    if isinstance(plugin, dict) and not _installed(str(plugin.get("command", "")), path):
        command = plugin.get("command")
        raise ConfigError(
            _KUBECONFIG, f"{path}: users[{used.get('user')}].user.exec: no {command!r}"
        )
    if not (user.get("exec") or user.get("auth-provider")):
        from extender.kube.credentials import kubeconfig_credentials  # noqa: PLC0415 - the API's client

        asyncio.run(kubeconfig_credentials(path, context))


def _documents(path: str) -> Iterator[dict[str, Any]]:
    for name in filter(None, path.split(os.pathsep)):
        try:
            text = files.read_text(Path(name).expanduser())
        except FileNotFoundError:
            continue  # as kubectl does, where there are several
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableFileError(_KUBECONFIG, f"cannot read {name}: {reason}") from error
        try:
            document = parse_yaml(text, name)
        except ConfigError as error:
            raise ConfigError(_KUBECONFIG, str(error)) from error
        if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
            kind = document.get("kind") if isinstance(document, dict) else None
            found = f"a {kind}" if isinstance(kind, str) else "no kind"
            raise ConfigError(
                _KUBECONFIG, f"{name}: found {found}, expected a kubeconfig (kind: Config)"
            )
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
    raise ConfigError(_KUBECONFIG, f"{path}: {listed}: no {member} is called {name!r}{known}")


def _installed(command: str, path: str) -> bool:
    """Return whether a plugin can be started; a relative path begins beside the kubeconfig file."""
    beside = Path(path.split(os.pathsep, maxsplit=1)[0]).expanduser().parent / command
    return bool(command) and (shutil.which(command) or shutil.which(str(beside))) is not None
