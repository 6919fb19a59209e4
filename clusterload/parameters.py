"""The parameters of a measurement, read with the same leniency as clusterloader2's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from clusterload.durations import Duration, parse_duration
from extender.core.config.faults import show
from extender.core.errors import ConfigError

if TYPE_CHECKING:
    from clusterload.schema import Params

T = TypeVar("T")

_BOOLS = {"true": True, "false": False}


class Parameters:
    """Values by name; a number or a flag may be written as a string."""

    def __init__(self, given: Params) -> None:
        self.given = given

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; without a default it is required."""
        return self._read(name, default, _text, "a string")

    def number(self, name: str, default: float | None = None) -> float:
        return self._read(name, default, _number, "a number")

    def whole(self, name: str, default: int | None = None) -> int:
        return self._read(name, default, lambda value: int(_number(value)), "a number")

    def flag(self, name: str, *, default: bool) -> bool:
        return self._read(name, default, _flag, "true or false")

    def seconds(self, name: str, default: float | None = None) -> float:
        """Return a length of time in seconds."""
        return self._read(name, default, _seconds, Duration.EXPECTED)

    def selection(self) -> tuple[str, Mapping[str, str]]:
        """Return the namespace, or "" for all, and the query that selects objects."""
        selectors = {name: self.text(name, "") for name in ("labelSelector", "fieldSelector")}
        query = {name: value for name, value in selectors.items() if value}
        return self.text("namespace", ""), query

    def pods(self) -> tuple[str, Mapping[str, str]]:
        """Return the path of the selected pods, and the query that selects them."""
        namespace, query = self.selection()
        return f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods", query

    def _read(self, name: str, default: T | None, convert: Callable[[Any], T], expected: str) -> T:
        value = self.given.get(name)
        if value is None:
            if default is None:
                raise ConfigError(f"params.{name}", f"missing; expected {expected}")
            return default
        try:
            return convert(value)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"params.{name}", f"{show(value)} is not {expected}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("not a number")
    return float(value)


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        value = _BOOLS.get(value.lower())
    if not isinstance(value, bool):
        raise TypeError("not a flag")
    return value


def _seconds(value: Any) -> float:
    return parse_duration(_text(value))
