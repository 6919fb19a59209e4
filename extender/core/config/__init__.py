"""The configuration: defaults, file and flags, decoded strictly into frozen values."""

from __future__ import annotations

from extender.core.config.connections import Serving
from extender.core.config.document import effective, parse_stream, parse_yaml, to_yaml
from extender.core.config.schema import API_VERSION, KIND, Config, LogFormat, Mode, Prioritize

__all__ = [
    "API_VERSION",
    "KIND",
    "Config",
    "LogFormat",
    "Mode",
    "Prioritize",
    "Serving",
    "effective",
    "parse_stream",
    "parse_yaml",
    "to_yaml",
]
