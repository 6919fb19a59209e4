"""How many members of a group have to be placed together, as the API server says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.errors import ApiError
from extender.core.kube.failures import NoAnswerError
from extender.features.groups.ledger import Members
from extender.features.groups.pod_groups import KNOWN_SECONDS, PodGroups

PATH = "/apis/scheduling.k8s.io/{}/namespaces/team/podgroups/gang"
GANG = {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}


class Client:
    """Answers each read with the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.paths: list[str] = []
        self.missing = ""
        """The path under which there is nothing."""

    async def get(self, path: str, params: Mapping[str, str], *, within: float) -> bytes:
        assert within > 0
        assert not params
        self.paths.append(path)
        if path == self.missing:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()


class Rig:
    def __init__(self, answer: Any) -> None:
        self.client, self.now = Client(answer), 0.0
        self.members = Members(ClusterState())
        self.groups = PodGroups(
            self.client,  # type: ignore[arg-type]
            lambda: self.now,
            self.members,
        )

    def needed(self, group: str = "team/gang") -> int | None:
        return asyncio.run(self.groups.needed(group))


@pytest.mark.parametrize(
    ("answer", "expected", "is_told"),
    [
        pytest.param(GANG, 3, False, id="a gang"),
        pytest.param({"spec": {"schedulingPolicy": {"basic": {}}}}, 0, False, id="basic"),
        pytest.param({"spec": {}}, 0, False, id="no policy"),
        pytest.param(ApiError(404, "NotFound", "no such group"), 0, False, id="there is none"),
        pytest.param(ApiError(404, "Not Found", "no body"), None, True, id="a proxy without a way"),
        pytest.param(ApiError(403, "Forbidden", "no right"), 0, True, id="no right to read it"),
        pytest.param(ApiError(429, "Too Many Requests", "later"), None, True, id="later"),
        pytest.param(ApiError(503, "Unavailable", "etcd"), None, True, id="a server in trouble"),
        pytest.param(NoAnswerError("timed out"), None, True, id="no answer"),
        pytest.param(b"{", None, True, id="no JSON"),
        pytest.param(
            {"spec": {"schedulingPolicy": {"gang": {"minCount": "3"}}}}, None, True, id="odd"
        ),
    ],
)
def test_how_many_have_to_be_placed_together(
    caplog: pytest.LogCaptureFixture, answer: Any, expected: int | None, *, is_told: bool
) -> None:
    rig = Rig(answer)
    assert rig.needed() == expected
    assert rig.client.paths[0] == PATH.format("v1beta1")
    assert ("team/gang cannot be read, so its gang may be bound in part" in caplog.text) is is_told


def test_a_server_of_1_36_is_asked_in_its_version() -> None:
    rig = Rig(GANG)
    rig.client.missing = PATH.format("v1beta1")
    assert rig.needed() == 3
    assert rig.client.paths == [PATH.format("v1beta1"), PATH.format("v1alpha2")]


def test_an_answer_is_good_for_a_moment() -> None:
    rig = Rig(GANG)
    rig.needed()
    rig.client.answer = {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    rig.now = KNOWN_SECONDS - 1
    assert rig.needed() == 3
    assert rig.needed("team/other") == 2
    rig.now = KNOWN_SECONDS
    assert rig.needed() == 2


def test_what_was_said_of_a_group_says_nothing_of_the_next_one_of_its_name() -> None:
    rig = Rig(GANG)
    rig.needed()
    rig.client.answer = {"spec": {"schedulingPolicy": {"gang": {"minCount": 8}}}}
    for tell in rig.members.ended:
        tell("team/gang")
    assert rig.needed() == 8


def test_no_answer_is_asked_for_again() -> None:
    rig = Rig(NoAnswerError("timed out"))
    assert rig.needed() is None
    rig.client.answer = GANG
    assert rig.needed() == 3


def test_a_name_that_leads_elsewhere_is_not_asked_for() -> None:
    rig = Rig(GANG)
    assert rig.needed("team/..") is None
    assert rig.client.paths == []
