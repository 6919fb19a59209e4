"""One context of kubeconfig files, merged and checked as client-go's clientcmd does it.

docs/kubeconfig.md says where the two differ; tests/e2e/test_kubeconfig_differential.py compares
them.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
import yaml

from extender import files, plain_yaml
from extender.errors import ConfigError, UnreadableFileError
from extender.kube.proxies import checked

FIELD: Final = "clientConnection.kubeconfig"
"""The setting that names the files."""


class Cluster(msgspec.Struct, rename="kebab"):
    """Where an API server is, and what to trust there."""

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
    """Who we are."""

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
        """Return the headers that make the API server take us for somebody else."""
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


class _Context(msgspec.Struct):
    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class _NamedCluster(msgspec.Struct):
    name: str = ""
    cluster: Cluster | None = None


class _NamedUser(msgspec.Struct):
    name: str = ""
    user: User | None = None


class _NamedContext(msgspec.Struct):
    name: str = ""
    context: _Context | None = None


class File(msgspec.Struct, rename="kebab"):
    """A kubeconfig file, as it is written."""

    kind: str | None = None
    api_version: str | None = msgspec.field(default=None, name="apiVersion")
    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one context names; paths in it are absolute."""

    server: str
    cluster: Cluster
    user: User
    user_name: str
    knows_user: bool
    """Whether the files have the user; without one, requests are anonymous."""
    namespace: str | None


@dataclass(frozen=True, slots=True)
class Acting:
    """On whose behalf a command asks: goes before what the kubeconfig says."""

    user: str | None = None
    groups: Sequence[str] = ()

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return what says so where there is no kubeconfig."""
        return User(act_as=self.user, as_groups=[*self.groups]).impersonation()


def choose(paths: str, context: str | None = None, acting: Acting | None = None) -> Chosen:
    """Read files that are joined as in $KUBECONFIG; ConfigError names file and field.

    The first to have a name, or a current context, wins; one that is not there is left out.
    """
    merged = _Merged(paths)
    chosen = merged.context(context)
    cluster = merged.cluster(chosen.cluster or "")
    named = merged.users.get(chosen.user or "")
    user = named or User()
    if acting is not None:
        user = msgspec.structs.replace(
            user,
            act_as=acting.user or user.act_as,
            as_groups=[*acting.groups] or user.as_groups,
        )
    server = _server(cluster, f"{paths}: clusters[{chosen.cluster}].cluster")
    _check_cluster(cluster, f"{paths}: clusters[{chosen.cluster}].cluster")
    _check_user(user, f"{paths}: users[{chosen.user}].user")
    _check_files(cluster, f"{paths}: clusters[{chosen.cluster}].cluster", "certificate_authority")
    if user.client_certificate or user.client_certificate_data:
        place = f"{paths}: users[{chosen.user}].user"
        _check_files(user, place, "client_certificate", "client_key")
    return Chosen(
        server, cluster, user, chosen.user or "", named is not None, chosen.namespace or None
    )


class _Merged:
    """All names of all files: a file's entries with its own folder before their paths."""

    def __init__(self, paths: str) -> None:
        self._paths = paths
        self.clusters: dict[str, Cluster] = {}
        self.users: dict[str, User] = {}
        self.contexts: dict[str, _Context] = {}
        self.current = ""
        found = False
        for path, file in read_files(paths):
            found = True
            folder = path.parent.absolute()
            for cluster in _unique(file.clusters, path, "clusters"):
                entry = _absolute(cluster.cluster or Cluster(), folder, "certificate_authority")
                self.clusters.setdefault(cluster.name, entry)
            for user in _unique(file.users, path, "users"):
                self.users.setdefault(user.name, _user(user.user or User(), folder))
            for context in _unique(file.contexts, path, "contexts"):
                self.contexts.setdefault(context.name, context.context or _Context())
            self.current = self.current or file.current_context or ""
        if not found:
            raise UnreadableFileError(FIELD, f"no such file: {paths}")

    def context(self, name: str | None) -> _Context:
        name = name or self.current
        if name and name in self.contexts:
            return self.contexts[name]
        names = ", ".join(self.contexts)
        advice = f"name one with --context: {names}" if names else "there is none in it"
        if not name:
            missing = f"current-context: missing in {self._paths}: no context is the current one"
            raise ConfigError(FIELD, f"{missing}; {advice}")
        missing = f"{self._paths}: contexts: no context is called {name!r}"
        known = f"; known: {names}" if names else ""
        raise ConfigError(FIELD, f"{missing}{known}; {advice}")

    def cluster(self, name: str) -> Cluster:
        if name in self.clusters:
            return self.clusters[name]
        known = f"; known: {', '.join(self.clusters)}" if self.clusters else ""
        raise ConfigError(FIELD, f"{self._paths}: clusters: no cluster is called {name!r}{known}")


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


_Named = TypeVar("_Named", _NamedCluster, _NamedUser, _NamedContext)
_Entry = TypeVar("_Entry", Cluster, User)


def _unique(entries: list[_Named] | None, path: Path, listed: str) -> list[_Named]:
    names = [entry.name for entry in entries or ()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(FIELD, f"{path}: {listed}: {twice!r} is there twice")
    return entries or []


def _absolute(entry: _Entry, folder: Path, *fields: str) -> _Entry:
    named = {name: value for name in fields if (value := getattr(entry, name))}
    # Not resolved: a folder that is a symbolic link may be swapped, as a kubelet does it.
    found = {name: os.path.normpath(folder / value) for name, value in named.items()}
    return msgspec.structs.replace(entry, **found)


def _user(user: User, folder: Path) -> User:
    user = _absolute(user, folder, "client_certificate", "client_key", "token_file")
    plugin = user.exec
    if plugin is not None and plugin.command and os.sep in plugin.command:
        command = os.path.normpath(folder / plugin.command)
        user.exec = msgspec.structs.replace(plugin, command=command)
    return user


def _server(cluster: Cluster, where: str) -> str:
    server = cluster.server or ""
    if not re.match("https?://[^/]", server):
        found = f"{server!r} is no http:// or https:// address" if server else "missing"
        raise ConfigError(FIELD, f"{where}.server: {found}")
    return server.rstrip("/")


def _check_cluster(cluster: Cluster, where: str) -> None:
    if cluster.proxy_url:
        checked(cluster.proxy_url, FIELD, f"{where}.proxy-url: ")
    authority = cluster.certificate_authority or cluster.certificate_authority_data
    if cluster.insecure_skip_tls_verify and authority:
        raise ConfigError(FIELD, f"{where}.insecure-skip-tls-verify: true beside a CA to verify by")


_MODES: Final = ("Never", "IfAvailable", "Always")
_APIS: Final = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))


def _check_files(entry: Cluster | User, where: str, *fields: str) -> None:
    for name in fields:
        file = getattr(entry, name)
        if file and not getattr(entry, f"{name}_data") and not Path(file).is_file():
            place = f"{where}.{name.replace('_', '-')}"
            raise UnreadableFileError(FIELD, f"{place}: no such file: {file}")


def _check_user(user: User, where: str) -> None:
    for fault in _user_faults(user):
        raise ConfigError(FIELD, f"{where}{fault}")


def _user_faults(user: User) -> Iterator[str]:
    basic = user.username or user.password
    if basic and (user.token or (user.username and user.token_file)):
        yield ": both a token and a password"
    certificate = user.client_certificate or user.client_certificate_data
    if certificate and not (user.client_key or user.client_key_data):
        yield ".client-key: missing beside client-certificate"
    if not user.act_as and (user.as_uid or user.as_groups or user.as_user_extra):
        yield ".as: missing beside as-uid, as-groups or as-user-extra"
    if any(re.search(r"[\r\n\0]", value) for _, value in user.impersonation()):
        yield ".as: a line end in it, or beside it"
    provider = user.auth_provider
    if provider is not None and provider.get("name") not in ("oidc", "gcp"):
        yield f".auth-provider.name: {provider.get('name')!r}; supported are oidc and gcp"
    if user.exec is not None:
        yield from _plugin_faults(user.exec)
        if provider is not None:
            yield ".exec: beside auth-provider"


def _plugin_faults(plugin: Exec) -> Iterator[str]:
    if not plugin.command:
        yield ".exec.command: missing"
    if plugin.api_version not in _APIS:
        yield f".exec.apiVersion: {plugin.api_version!r}; supported are {', '.join(_APIS)}"
    if plugin.interactive_mode not in (None, "", *_MODES):
        yield f".exec.interactiveMode: {plugin.interactive_mode!r}; expected {', '.join(_MODES)}"
    if any(not each.name for each in plugin.env or ()):
        yield ".exec.env: a variable without a name"


def header(user: User) -> str | None:
    """Return the Authorization header that needs no plugin; None without one.

    A token file goes before a token, which counts while the file is empty or cannot be read.
    ConfigError or OSError when there is no other.
    """
    token = user.token or ""
    if user.token_file:
        token = _read_token(Path(user.token_file), token)
    if token:
        return f"Bearer {token}"
    if user.username:
        pair = f"{user.username}:{user.password or ''}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return None


def _read_token(file: Path, other: str) -> str:
    try:
        token = files.read_text(file).strip()
    except OSError:
        if not other:
            raise
        return other
    if not (token or other):
        raise ConfigError(FIELD, f"the token file {file} is empty")
    return token or other
