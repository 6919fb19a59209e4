"""The exceptions of the project; expected refusals are values, not these."""

from __future__ import annotations


class ExtenderError(Exception):
    """Whatever this project raises on purpose."""


class ObjectError(ExtenderError):
    """A Kubernetes object that cannot be read; says which field and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class RequestError(ExtenderError):
    """A callback's body that is not what kube-scheduler sends."""


class ConfigError(ExtenderError):
    """A configuration value that cannot be used; says which field and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class ApiError(ExtenderError):
    """An answer of the API server that is not success."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
