"""The settings that also have a flag and an environment variable: one table for all three."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import os
import re
from collections.abc import Mapping

from msgspec import Struct

from extender.config.schema import API_VERSION, KIND, Config

PREFIX = "AFFINITY_EXTENDER_"

# A Service called affinity-extender makes the kubelet set AFFINITY_EXTENDER_PORT=tcp://10.0.0.1:80,
# AFFINITY_EXTENDER_SERVICE_HOST and more in the pods of its namespace: not meant for us.
_SERVICE_LINK_NAME = re.compile(r"(^|_)(SERVICE_(HOST|PORT.*)|PORT_\d+_(TCP|UDP|SCTP).*|PORT)$")
_SERVICE_LINK_VALUE = re.compile(r"^(tcp|udp|sctp)://")


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
    """One setting: `--flag`, AFFINITY_EXTENDER_FLAG, and where it lands in the file."""

    flag: str
    """Long name without dashes."""

    metavar: str
    """What `--help` shows for the value."""

    help: str
    """One line for `--help`; `%%` for a percent sign."""

    path: str = ""
    """Dotted place in the configuration file; empty for those that only steer loading."""

    many: bool = False
    """May be repeated; the environment variable separates values as PATH does."""

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
    def variable(self) -> str:
        """Environment variable."""
        return PREFIX + self.dest.upper()

    @property
    def default(self) -> str:
        """What counts where nobody sets it."""
        return self.unset or str(self.schema_default or "none")

    @property
    def schema_default(self) -> object:
        """What the file has where it says nothing; None for what is not in the file."""
        value: object = Config(api_version=API_VERSION, kind=KIND) if self.path else None
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

    def from_environment(self, environ: Mapping[str, str]) -> list[str]:
        """Return the values that the environment gives, none when unset or empty."""
        text = environ.get(self.variable, "")
        if not text or _SERVICE_LINK_VALUE.match(text):
            return []
        return [part for part in text.split(os.pathsep) if part] if self.many else [text]


OPTIONS = (
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
        "admission-control-config-file",
        "FILE",
        "kube-apiserver's file of that name; where it limits cross-namespace affinity by default, "
        "so does this program",
        "crossNamespacePodAffinity.admissionControlConfigFile",
    ),
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
BY_FLAG = {option.flag: option for option in OPTIONS}


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Say which variables look like settings of ours and are none, for a warning at the start.

    No error, unlike an unknown field in the file: others may set variables in our name, among
    them the kubelet.
    """
    known = {option.variable.removeprefix(PREFIX) for option in OPTIONS}
    given = {name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX)}
    unknown = sorted(name for name in given - known if not _SERVICE_LINK_NAME.search(name))
    return [f"{PREFIX}{name} is no setting{_suggestion(name, known)}" for name in unknown]


def _suggestion(name: str, known: set[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {PREFIX}{close[0]}?" if close else ""
