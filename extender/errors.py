"""The exceptions of the project; expected refusals are values, not these."""

from __future__ import annotations

from collections.abc import Sequence


class ExtenderError(Exception):
    """Whatever this project raises on purpose."""


class UnreadableError(ExtenderError):
    """A file, or the cluster, that cannot be read at all: nothing can be said about its content."""


class InputError(ExtenderError):
    """Something that was read and is broken."""


class ObjectError(InputError):
    """A Kubernetes object that cannot be read; says which field and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class RequestError(InputError):
    """A callback's body that is not what kube-scheduler sends."""


class ConfigError(InputError):
    """A configuration value that cannot be used; says which field and why.

    `source` is the file that has the field, where there is one.
    """

    def __init__(self, path: str, message: str, source: str = "") -> None:
        super().__init__(": ".join(filter(None, (source, path, message))))
        self.path = path
        self.message = message
        self.source = source


class ConfigFaultsError(ConfigError):
    """All that is wrong with one configuration, a line for each fault."""

    def __init__(self, faults: Sequence[ConfigError]) -> None:
        super().__init__("", "\n".join(map(str, faults)))
        self.faults = tuple(faults)

    @staticmethod
    def of(faults: Sequence[ConfigError]) -> ConfigError:
        """Return what to raise for one fault or more; one alone keeps its class."""
        return faults[0] if len(faults) == 1 else ConfigFaultsError(faults)


class UnreadableFileError(ConfigError, UnreadableError):
    """A file that a setting names and that cannot be read."""


class ApiError(UnreadableError):
    """An answer of the API server that is not success."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
