"""The settings that also have a flag and an environment variable: one table for all three."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "AFFINITY_EXTENDER_"

# A Service called affinity-extender makes the kubelet set AFFINITY_EXTENDER_PORT=tcp://10.0.0.1:80,
# AFFINITY_EXTENDER_SERVICE_HOST and more in the pods of its namespace: not meant for us.
_SERVICE_LINK_NAME = re.compile(r"(^|_)(SERVICE_(HOST|PORT.*)|PORT_\d+_(TCP|UDP|SCTP).*|PORT)$")
_SERVICE_LINK_VALUE = re.compile(r"^(tcp|udp|sctp)://")


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

    @property
    def dest(self) -> str:
        """Attribute of the parsed flags."""
        return self.flag.replace("-", "_")

    @property
    def variable(self) -> str:
        """Environment variable."""
        return PREFIX + self.dest.upper()

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
        "how to reach the API server; without it, the pod's service account",
        "clientConnection.kubeconfig",
    ),
    Option("context", "NAME", "context of the kubeconfig file", "clientConnection.context"),
    Option(
        "cluster",
        "FILE",
        "serve the objects of this file (JSON List or YAML, plain or gzip) instead of a live "
        "cluster; may be repeated",
        "clusterFiles",
        many=True,
    ),
    Option("mode", "MODE", "shadow, assist or replace (default assist); see below", "mode"),
    Option(
        "bind-address",
        "IP",
        "address for the scheduler's callbacks (default 127.0.0.1)",
        "serving.bindAddress",
    ),
    Option("port", "N", "port for callbacks (default 10280; 0: a free one)", "serving.port"),
    Option(
        "ops-bind-address",
        "IP",
        "address for the operations port (default: as --bind-address)",
        "serving.opsBindAddress",
    ),
    Option(
        "ops-port",
        "N",
        "port for probes, metrics and the page (default 10281; 0: a free one)",
        "serving.opsPort",
    ),
    Option("tls-cert-file", "FILE", "certificate chain for callbacks, PEM", "serving.tlsCertFile"),
    Option("tls-private-key-file", "FILE", "its private key, PEM", "serving.tlsPrivateKeyFile"),
    Option(
        "client-ca-file",
        "FILE",
        "only take callbacks from clients with a certificate of these CAs, PEM",
        "serving.clientCAFile",
    ),
    Option("logging-format", "FORMAT", "text or json (default text)", "logging.format"),
    Option(
        "v",
        "N",
        "verbosity: 0 little, 2 production (default), 3 changes, 4 debug, 5 every decision",
        "logging.verbosity",
    ),
    Option(
        "admission-control-config-file",
        "FILE",
        "kube-apiserver's file of that name: does it limit cross-namespace affinity by default?",
        "crossNamespacePodAffinity.admissionControlConfigFile",
    ),
    Option(
        "feature-gates",
        "NAME=BOOL,...",
        "MatchLabelKeysInPodAffinity, PodAffinityNamespaceSelector (default true)",
        "featureGates",
    ),
)
BY_FLAG = {option.flag: option for option in OPTIONS}


def strangers(environ: Mapping[str, str]) -> list[str]:
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
