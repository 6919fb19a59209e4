"""What features read of pods, beside what the core reads."""

from __future__ import annotations

import json

import pytest

from extender.core.model.facets import read_number
from extender.core.wire.objects import PodReader
from tests.builders import HOST, Pod, pod, selector, term
from tests.faceted import SIZE, SIZE_ANNOTATION

SIZED = pod("p").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
SIZED = SIZED.annotated("other", "x").annotated(SIZE_ANNOTATION, "7")


def read(raw: Pod, reader: PodReader) -> tuple[int | None, object]:
    """Read a pod; return the facet, and the rest."""
    found = reader.read(json.dumps(raw).encode())
    return found.facet(SIZE), found.with_status(facets=())


def test_a_facet_is_read_beside_all_else_and_only_where_it_is_asked_for() -> None:
    asked, plain = read(SIZED, PodReader(facets=(SIZE,))), read(SIZED, PodReader())
    assert asked[0] == 7
    assert plain[0] is None
    assert asked[1] == plain[1]


@pytest.mark.parametrize(
    "raw", [pod("p"), pod("p").annotated("other", "x"), pod("p").annotated(SIZE_ANNOTATION, "no")]
)
def test_a_pod_without_it_has_none(raw: Pod) -> None:
    assert PodReader(facets=(SIZE,)).read(json.dumps(raw).encode()).status.facets == ()


def test_a_facet_is_replaced_and_tells_pods_apart() -> None:
    found = PodReader(facets=(SIZE,)).read(json.dumps(SIZED).encode())
    other = found.with_facet(SIZE, 8)
    assert (found.facet(SIZE), other.facet(SIZE)) == (7, 8)
    assert found != other
    assert other.with_facet(SIZE, 7) == found


@pytest.mark.parametrize(
    ("raw", "value"), [(b'"-7"', -7), (b'"07"', 0), (b"7", 0), (b'"2147483648"', 0)]
)
def test_a_number_is_read_as_kubernetes_reads_it(raw: bytes, value: int) -> None:
    assert read_number(raw) == value
