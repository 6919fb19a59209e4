"""`serve --validate-only`: looks into every file that the configuration names."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator

from extender.core.config import Config, Serving
from extender.core.errors import (
    ConfigError,
    ConfigFaultsError,
    ExtenderError,
    UnreadableError,
    UnreadableFileError,
)
from extender.core.source import cluster_files, empty_state
from extender.core.web.tls import ServerTLS, unreadable


def check_files(config: Config) -> None:
    """Raise ConfigError with all files that could not be used, and why.

    No server is contacted: an API server that is away is no fault of the configuration.
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
    cluster = cluster_files(config, empty_state(config))
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
    from extender.core.kube.clientcmd import choose  # noqa: PLC0415 - the API's client
    from extender.core.kube.credentials import kubeconfig_credentials  # noqa: PLC0415
    from extender.core.kube.kubeconfig_file import FIELD  # noqa: PLC0415

    chosen = choose(path, context)
    user = chosen.user
    if chosen.user_name and not chosen.knows_user:
        message = f"{path}: users: no user is called {chosen.user_name!r}"
        raise ConfigError(FIELD, message)
    if user.exec and not shutil.which(user.exec.command or ""):
        place = f"{path}: users[{chosen.user_name}].user.exec"
        raise ConfigError(FIELD, f"{place}: no {user.exec.command!r}")
    if not (user.exec or user.auth_provider):
        asyncio.run(kubeconfig_credentials(path, context))
