"""What is wrong with a template, and where."""

from __future__ import annotations

from extender.errors import ConfigError


class TemplateError(ConfigError):
    """A template that cannot be read or filled in; names the file and the line."""

    def __init__(self, source: str, line: int, message: str) -> None:
        super().__init__(f"{source}, line {line}", message)
