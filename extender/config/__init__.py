"""The configuration: defaults, file, environment and flags, decoded strictly into frozen values."""

from __future__ import annotations

from extender.config.connections import ClientConnection, Serving
from extender.config.document import effective, parse_stream, parse_yaml, to_yaml
from extender.config.layers import load
from extender.config.options import OPTIONS, Option, unknown_variables
from extender.config.schema import (
    API_VERSION,
    KIND,
    Config,
    Filter,
    Hints,
    InterPodAffinity,
    LogFormat,
    Logging,
    Mode,
    Preemption,
    Prioritize,
)
from extender.model.verdict import Plugin

__all__ = [
    "API_VERSION",
    "KIND",
    "OPTIONS",
    "ClientConnection",
    "Config",
    "Filter",
    "Hints",
    "InterPodAffinity",
    "LogFormat",
    "Logging",
    "Mode",
    "Option",
    "Plugin",
    "Preemption",
    "Prioritize",
    "Serving",
    "effective",
    "load",
    "parse_stream",
    "parse_yaml",
    "to_yaml",
    "unknown_variables",
]
