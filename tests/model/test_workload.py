"""Workloads that names tell of."""

from __future__ import annotations

import pytest

from extender.core.model.workload import Identity, controller_by_name


@pytest.mark.parametrize(
    ("identity", "template_hash", "expected"),
    [
        pytest.param(
            Identity("own", "ReplicaSet", "web-5d4f"),
            "5d4f",
            Identity("own", "Deployment", "web"),
            id="a ReplicaSet of a Deployment",
        ),
        pytest.param(
            Identity("own", "ReplicaSet", "web-5d4f"), "7c8b", None, id="another template's"
        ),
        pytest.param(Identity("own", "ReplicaSet", "web-"), "", None, id="one without a hash"),
        pytest.param(Identity("own", "StatefulSet", "web-5d4f"), "5d4f", None, id="no ReplicaSet"),
        pytest.param(
            Identity("own", "Job", "night-29012345"),
            "",
            Identity("own", "CronJob", "night"),
            id="a run of a CronJob",
        ),
        pytest.param(Identity("own", "Job", "night"), "", None, id="a Job alone"),
        pytest.param(
            Identity("own", "ReplicaSet", "night-29012345"), "", None, id="no Job with such a name"
        ),
    ],
)
def test_the_controller_of_a_controller_by_its_name(
    identity: Identity, template_hash: str, expected: Identity | None
) -> None:
    assert controller_by_name(identity, template_hash) == expected
