"""The bind callback's JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.errors import RequestError
from extender.core.model.keys import key_of
from extender.features.binding.protocol import (
    BindingArgs,
    read_binding_args,
    write_binding_result,
)

ODD_UID = b'{"PodName":"x","PodNamespace":"ns","PodUID":1,"Node":"n"}'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            {"PodName": "x", "PodNamespace": "ns", "PodUID": "u", "Node": "n"}, id="as Go writes it"
        ),
        pytest.param(
            {"podname": "x", "PODNAMESPACE": "ns", "podUID": "u", "node": "n"}, id="in any case"
        ),
        pytest.param(
            {
                "PodName": "x",
                "PodNamespace": "ns",
                "PodUID": "u",
                "Node": "n",
                "Attempt": 2,
                "Labels": {"a": "b"},
                "More": None,
            },
            id="and more, of any type",
        ),
    ],
)
def test_binding_arguments(body: Any) -> None:
    assert read_binding_args(json.dumps(body).encode()) == BindingArgs(key_of("ns", "x"), "u", "n")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"PodName":1}', b'{"PodName":"x"}', ODD_UID])
def test_what_is_no_binding(body: bytes) -> None:
    with pytest.raises(RequestError):
        read_binding_args(body)


def test_binding_results() -> None:
    assert write_binding_result() == b'{"Error":""}'
    assert write_binding_result("100%\nfull") == b'{"Error":"100 percent full"}'
