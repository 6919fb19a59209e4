"""The settings that also have a flag: one table for both."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from extender.core.config.features import defaults, features
from extender.core.errors import ConfigError, ConfigFaultsError

_PREFIX = "AFFINITY_EXTENDER_"

# A Service called affinity-extender makes the kubelet set AFFINITY_EXTENDER_PORT=tcp://10.0.0.1:80
# in the pods of its namespace: not meant for us.
_SERVICE_LINK = re.compile(r"^(tcp|udp|sctp)://")

GROUPS = {
    "": "configuration",
    "clientConnection": "cluster",
    "clusterFiles": "cluster",
    "serving": "serving",
    "logging": "logging",
}
"""Headings in `--help`, by the block of the file; all others are rules."""


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One setting: `--flag`, and where it lands in the file."""

    flag: str
    """Long name without dashes."""

    metavar: str
    """What `--help` shows for the value."""

    help: str
    """One line for `--help`; `%%` for a percent sign."""

    path: str = ""
    """Dotted place in the configuration file; empty for those that only steer loading."""

    many: bool = False
    """May be repeated."""

    unset: str = ""
    """What counts when the schema has no default value, if not none; one line for `--help`."""

    switch: bool = False
    """True or false; as a flag without a value, true."""

    @property
    def dest(self) -> str:
        """Attribute of the parsed flags."""
        return self.flag.replace("-", "_")

    @property
    def group(self) -> str:
        """Heading in `--help`."""
        return GROUPS.get(self.path.partition(".")[0], "rules")

    @property
    def spelled(self) -> str:
        """The flag with its dashes."""
        return ("-" if len(self.flag) == 1 else "--") + self.flag

    @property
    def instead_of_variable(self) -> str:
        """Say where to write what an environment variable said."""
        field = f", or {self.path} in the configuration file" if self.path else ""
        return f"this variable is no longer read; give {self.spelled}{field}"

    @property
    def default(self) -> str:
        """What counts if it is not set."""
        return self.unset or str(self.schema_default or "none")

    @property
    def schema_default(self) -> object:
        """What the file has where it says nothing; None for what is not in the file."""
        value: object = defaults() if self.path else None
        for name in self.path.split("."):
            if isinstance(value, Struct):
                fields = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
                value = getattr(value, dict(fields)[name])
        return value

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that the schema allows, where it lists them."""
        value = self.schema_default
        return tuple(map(str, type(value))) if isinstance(value, enum.Enum) else ()


_OF_CORE = (
    Option("config", "FILE", "configuration file (AffinityExtenderConfiguration)"),
    Option(
        "kubeconfig",
        "FILE",
        "kubeconfig file for the API server",
        "clientConnection.kubeconfig",
        unset="in a pod, its service account; else $KUBECONFIG or ~/.kube/config",
    ),
    Option(
        "context",
        "NAME",
        "context of the kubeconfig file",
        "clientConnection.context",
        unset="its current context",
    ),
    Option(
        "cluster",
        "FILE",
        "serve the objects in this file (JSON List or YAML, plain or gzip) instead of a live "
        "cluster; may be repeated",
        "clusterFiles",
        many=True,
    ),
    Option("mode", "MODE", "shadow, assist or replace; see below", "mode"),
    Option(
        "feature-gates",
        "NAME=BOOL,...",
        "MatchLabelKeysInPodAffinity, PodAffinityNamespaceSelector",
        "featureGates",
        unset="all true",
    ),
    Option(
        "bind-address",
        "IP",
        "address for the scheduler's callbacks; off loopback it needs all three TLS files",
        "serving.bindAddress",
    ),
    Option(
        "insecure-serving",
        "BOOL",
        "let callbacks leave loopback without TLS and client certificates: anybody is believed",
        "serving.insecureServing",
        switch=True,
        unset="false",
    ),
    Option("port", "N", "port for callbacks; 0 takes a free one", "serving.port"),
    Option(
        "ops-bind-address",
        "IP",
        "address for the operations port, which is plain HTTP; it does not follow --bind-address",
        "serving.opsBindAddress",
    ),
    Option(
        "ops-port",
        "N",
        "port for probes, metrics and the status page; 0 takes a free one",
        "serving.opsPort",
    ),
    Option(
        "tls-cert-file",
        "FILE",
        "PEM file with the certificate chain for callbacks",
        "serving.tlsCertFile",
        unset="none: plain HTTP",
    ),
    Option(
        "tls-private-key-file",
        "FILE",
        "PEM file with the private key of that certificate",
        "serving.tlsPrivateKeyFile",
    ),
    Option(
        "client-ca-file",
        "FILE",
        "PEM file with CAs; only clients with a certificate of one of them get an answer",
        "serving.clientCAFile",
        unset="none: every client",
    ),
    Option("logging-format", "FORMAT", "text or json", "logging.format"),
    Option(
        "v",
        "N",
        "verbosity: 0 little, 2 production, 3 watched changes, 4 debugging, 5 decisions, requests",
        "logging.verbosity",
    ),
)
BY_FLAG = {option.flag: option for option in _OF_CORE}


@cache
def all_options() -> tuple[Option, ...]:
    """Return the options of the core and of all features."""
    # Not when this module is imported: sections of features import its package.
    return (*_OF_CORE, *(Option(*flag) for each in features() for flag in each.flags))


def once_set_by(variable: str, value: str) -> Option | None:
    """Return the setting that an environment variable with a value was once; empty ones were none.

    Nor were those that the kubelet sets for a Service, or others that begin alike.
    """
    counted = value and not _SERVICE_LINK.match(value)
    names = {f"{_PREFIX}{option.dest.upper()}": option for option in all_options()}
    return names.get(variable) if counted else None


def refuse_variables(environ: Mapping[str, str]) -> None:
    """Raise ConfigError for variables that were settings once, as for an unknown field in the file.

    Without them the program would run in another mode, or serve without TLS.
    """
    faults = [
        ConfigError(name, option.instead_of_variable)
        for name, value in sorted(environ.items())
        if (option := once_set_by(name, value)) is not None
    ]
    if faults:
        raise ConfigFaultsError.of(faults)
