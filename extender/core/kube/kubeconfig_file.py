"""A kubeconfig file as it is written, with the types that client-go insists on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
import yaml

from extender.core import files, plain_yaml
from extender.core.errors import ConfigError, UnreadableFileError

FIELD: Final = "clientConnection.kubeconfig"
"""The setting that names the files."""


class Cluster(msgspec.Struct, rename="kebab"):
    server: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    extensions: list[dict[str, Any]] | None = None


class Variable(msgspec.Struct):
    """One of the environment of a plugin."""

    name: str = ""
    value: str | None = None


class Exec(msgspec.Struct, rename="camel"):
    """A program that prints credentials."""

    command: str | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None
    api_version: str | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class User(msgspec.Struct, rename="kebab"):
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    act_as: str | None = msgspec.field(default=None, name="as")
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    username: str | None = None
    password: str | None = None
    auth_provider: dict[str, Any] | None = None
    exec: Exec | None = None

    def impersonation(self) -> tuple[tuple[str, str], ...]:
        if not self.act_as:
            return ()
        headers = [("Impersonate-User", self.act_as)]
        headers += [("Impersonate-Uid", self.as_uid)] if self.as_uid else []
        headers += [("Impersonate-Group", each) for each in self.as_groups or ()]
        for key, values in (self.as_user_extra or {}).items():
            name = f"Impersonate-Extra-{quote(key, safe=_IN_A_HEADER)}"
            headers += [(name, each) for each in values]
        return tuple(headers)


_IN_A_HEADER: Final = "!#$&'*+-.^_`|~"


class KubeContext(msgspec.Struct):
    """Which user of which cluster."""

    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class NamedCluster(msgspec.Struct):
    name: str = ""
    cluster: Cluster | None = None


class NamedUser(msgspec.Struct):
    name: str = ""
    user: User | None = None


class NamedContext(msgspec.Struct):
    name: str = ""
    context: KubeContext | None = None


class File(msgspec.Struct, rename="kebab"):
    kind: str | None = None
    api_version: str | None = msgspec.field(default=None, name="apiVersion")
    current_context: str | None = None
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


def files_of(paths: str) -> list[Path]:
    """Return the files that are joined as in $KUBECONFIG; ~ is the user's home, if there is one."""
    found = []
    for path in map(Path, filter(None, paths.split(os.pathsep))):
        try:
            found.append(path.expanduser())
        except RuntimeError:
            found.append(path)
    return found


def read_files(paths: str) -> Iterator[tuple[Path, File]]:
    """Read each file there is; ConfigError for one that is no kubeconfig file."""
    for path in files_of(paths):
        try:
            text = files.read_text(path)
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableFileError(FIELD, f"cannot read {path}: {reason}") from error
        try:
            document = next(plain_yaml.documents(text), None)
        except yaml.YAMLError as error:
            raise ConfigError(FIELD, f"{path}: not YAML: {error}") from error
        yield path, _kubeconfig({} if document is None else document, str(path))


def _kubeconfig(document: Any, name: str) -> File:
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(document, dict) or kind not in (None, "", "Config"):
        found = f"a {kind}" if isinstance(kind, str) else "no mapping of fields"
        raise ConfigError(FIELD, f"{name}: found {found}, expected a kubeconfig (kind: Config)")
    try:
        file = msgspec.convert(document, File)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.rstrip("`").lstrip(".")
        raise ConfigError(FIELD, f"{name}: {place}: {what}".replace(": : ", ": ")) from error
    if file.api_version not in (None, "", "v1"):
        raise ConfigError(FIELD, f"{name}: apiVersion: found {file.api_version}, expected v1")
    return file
