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
from typing import Final, TypeVar

import msgspec

from extender.core import files
from extender.core.errors import ConfigError, UnreadableFileError
from extender.core.kube.kubeconfig_file import (
    FIELD,
    Cluster,
    Exec,
    KubeContext,
    NamedCluster,
    NamedContext,
    NamedUser,
    User,
    read_files,
)
from extender.core.kube.proxies import checked


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
        """Return what says so where there is no kubeconfig; ConfigError for groups of no user."""
        if self.groups and not self.user:
            raise ConfigError("", "--as-group has no use without --as")
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
    where, who = (
        f"{paths}: clusters[{chosen.cluster}].cluster",
        f"{paths}: users[{chosen.user}].user",
    )
    server = _server(cluster, where)
    _check_cluster(cluster, where)
    _check_user(user, who)
    _check_files(cluster, where, "certificate_authority")
    if user.client_certificate or user.client_certificate_data:
        _check_files(user, who, "client_certificate", "client_key")
    return Chosen(
        server, cluster, user, chosen.user or "", named is not None, chosen.namespace or None
    )


class _Merged:
    """All names of all files: a file's entries with its own folder before their paths."""

    def __init__(self, paths: str) -> None:
        self._paths = paths
        self.clusters: dict[str, Cluster] = {}
        self.users: dict[str, User] = {}
        self.contexts: dict[str, KubeContext] = {}
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
                self.contexts.setdefault(context.name, context.context or KubeContext())
            self.current = self.current or file.current_context or ""
        if not found:
            raise UnreadableFileError(FIELD, f"no such file: {paths}")

    def context(self, name: str | None) -> KubeContext:
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


_Named = TypeVar("_Named", NamedCluster, NamedUser, NamedContext)
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
        return bearer(token)
    if user.username:
        pair = f"{user.username}:{user.password or ''}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return None


def bearer(token: str) -> str:
    """Return the Authorization header of a token; ConfigError where it would be more than one."""
    token = token.strip()
    if re.search(r"[\r\n\0]", token):
        raise ConfigError(FIELD, "a line end in the token")
    return f"Bearer {token}"


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
