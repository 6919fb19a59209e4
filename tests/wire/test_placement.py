"""What pods ask of their placing, and who would replace them, read once and shared."""

from __future__ import annotations

import msgspec
import pytest

from extender.core.wire.placement import OwnerReader

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
    assert len(reader._known) == 0
