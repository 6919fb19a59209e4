"""`serve --validate-only`: looks into every file that the configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extender.cluster.state import ClusterState
from extender.errors import (
    ConfigError,
    ConfigFaultsError,
    ExtenderError,
    UnreadableError,
    UnreadableFileError,
)
from extender.offline import ClusterFiles
from extender.source import pod_reader
from extender.web.tls import ServerTLS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from extender.config import Config, Serving


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
    from extender.kube.kubeconfig_check import check_kubeconfig  # noqa: PLC0415 - brings the API's client

    try:
        check_kubeconfig(str(connection.kubeconfig), connection.context)
    except ConfigError as error:
        yield error


def _cluster_files(config: Config) -> Iterator[ConfigError]:
    files = ClusterFiles(ClusterState(), pod_reader(config))
    broken = False
    for index, path in enumerate(config.cluster_files):
        try:
            files.load(path)
        except ExtenderError as error:
            broken = True
            yield _about(f"clusterFiles[{index}]", error)
    if not broken:
        try:
            files.finish()
        except ExtenderError as error:
            yield _about("clusterFiles", error)


def _about(field: str, error: ExtenderError) -> ConfigError:
    kind = UnreadableFileError if isinstance(error, UnreadableError) else ConfigError
    return kind(field, str(error))


def _tls(serving: Serving) -> Iterator[ConfigError]:
    cert, key = serving.tls_cert_file, serving.tls_private_key_file
    if cert is None or key is None:
        return
    named: dict[str, Path | None] = {
        "serving.tlsCertFile": cert,
        "serving.tlsPrivateKeyFile": key,
        "serving.clientCAFile": serving.client_ca_file,
    }
    unreadable = [
        fault for field, path in named.items() if path and (fault := _unreadable(field, path))
    ]
    if unreadable:
        yield from unreadable
        return
    try:
        ServerTLS(cert, key, serving.client_ca_file)
    except ConfigError as error:
        yield error


def _unreadable(field: str, path: Path) -> ConfigError | None:
    try:
        path.open("rb").close()
    except OSError as error:
        return UnreadableFileError(field, f"cannot read {path}: {error.strerror}")
    return None
