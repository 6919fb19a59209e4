"""What pods ask of their placing, and who would replace them, read once and shared."""

from __future__ import annotations

import msgspec
import pytest

from extender.model.workload import DeletionCost
from extender.wire.manifests import NULL, PodAnnotations
from extender.wire.placement import OwnerReader, cost_annotations, read_deletion_cost

CONTROLLER = b'[{"kind":"ReplicaSet","name":"web","uid":"u1","controller":true}]'


def test_pods_of_one_controller_share_it() -> None:
    reader = OwnerReader()
    first, second = (reader.read(msgspec.Raw(CONTROLLER)) for _ in range(2))
    assert first is second is not None


@pytest.mark.parametrize("references", [b"[]", b'[{"kind":"Node","name":"n1"}]'])
def test_references_without_a_controller_take_no_room(references: bytes) -> None:
    reader = OwnerReader()
    for _ in range(3):
        assert reader.read(msgspec.Raw(references)) is None
    assert (len(reader._known), reader._known.size) == (0, 0)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("-2147483648", -2147483648),
        ("2147483647", 2147483647),
        ("-007", -7),
        ("2147483648", 0),
        ("-2147483649", 0),
        ("+7", 0),
        ("007", 0),
        ("1_0", 0),
        ("seven", 0),
        ("", 0),
        ("9" * 5000, 0),
    ],
)
def test_a_deletion_cost_is_read_as_the_controller_does(written: str, value: int) -> None:
    cost = msgspec.Raw(msgspec.json.encode(written))
    for given_cost, given in ((cost, True), (msgspec.Raw(b'"other"'), False), (NULL, False)):
        found = PodAnnotations(cost=cost, given_cost=given_cost)
        assert read_deletion_cost(found) == DeletionCost(value, given)


def test_a_pod_without_the_annotation_has_no_cost() -> None:
    assert read_deletion_cost(None) is None
    assert read_deletion_cost(PodAnnotations(given_cost=msgspec.Raw(b'"1"'))) is None


def test_what_we_give_is_read_as_ours() -> None:
    written = msgspec.json.encode(cost_annotations(DeletionCost(-3002, given=True)))
    found = msgspec.json.decode(written, type=PodAnnotations)
    assert read_deletion_cost(found) == DeletionCost(-3002, given=True)
