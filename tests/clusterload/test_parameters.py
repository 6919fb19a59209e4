"""The parameters of a measurement: types, defaults, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from clusterload.parameters import Parameters
from extender.core.errors import ConfigError


@pytest.mark.parametrize(
    ("read", "value", "result"),
    [
        (Parameters.text, "a", "a"),
        (Parameters.number, 1.5, 1.5),
        (Parameters.number, "1.5", 1.5),
        (Parameters.whole, 3.0, 3),
        (Parameters.whole, "3", 3),
        (Parameters.seconds, "1m", 60),
    ],
)
def test_parameters(read: Any, value: Any, result: Any) -> None:
    assert read(Parameters({"p": value}), "p") == result


@pytest.mark.parametrize(
    ("read", "value", "error"),
    [
        (Parameters.text, 1.0, "params.p: 1.0 is not a string"),
        (Parameters.number, "x", "params.p: 'x' is not a number"),
        (Parameters.number, True, "params.p: true is not a number"),
        (Parameters.whole, [], "params.p: an empty list is not a number"),
        (Parameters.seconds, 5.0, "params.p: 5.0 is not a duration, such as 1m30s"),
        (Parameters.seconds, None, "params.p: missing; expected a duration, such as 1m30s"),
    ],
)
def test_parameters_that_are_wrong(read: Any, value: Any, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(Parameters({"p": value}), "p")

    assert str(caught.value) == error


def test_flags_may_be_texts() -> None:
    given = Parameters({"a": True, "b": "false", "c": "maybe"})

    assert given.flag("a", default=False) is True
    assert given.flag("b", default=True) is False
    assert given.flag("missing", default=True) is True
    with pytest.raises(ConfigError, match=r"params\.c: 'maybe' is not true or false"):
        given.flag("c", default=True)


@pytest.mark.parametrize(
    ("given", "path", "query"),
    [
        pytest.param({}, "/api/v1/pods", {}, id="all pods"),
        pytest.param(
            {"namespace": "a", "labelSelector": "app = x", "fieldSelector": ""},
            "/api/v1/namespaces/a/pods",
            {"labelSelector": "app = x"},
            id="some pods of a namespace",
        ),
    ],
)
def test_selected_pods(given: dict[str, Any], path: str, query: dict[str, str]) -> None:
    assert Parameters(given).pods() == (path, query)
