"""Classes of pods, which are compared often and may have thousands of terms."""

from __future__ import annotations

from extender.core.model.objects import PodClass
from tests.builders import HOST, model_pod, pod, selector, term


def read(app: str) -> PodClass:
    """Read a class anew, by a reader that knows no other."""
    terms = [term(HOST, selector(app=f"a{number}")) for number in range(3)]
    return model_pod(pod("p").labels(app=app).anti_affinity(*terms)).pod_class


def test_equal_classes_are_compared_in_depth_once() -> None:
    one, other = read("web"), read("web")
    assert one.affinity is not other.affinity
    assert one == other
    assert one.labels is other.labels
    assert one.affinity is other.affinity
    assert one.written is other.written


def test_classes_that_differ_share_nothing() -> None:
    one, other = read("web"), read("db")
    assert one != other
    assert one.labels is not other.labels
    assert one.affinity is not other.affinity


class Incomparable(dict[str, str]):
    """Labels that must not be gone through."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("labels were compared with themselves")

    __hash__ = None


def test_labels_that_are_shared_are_not_gone_through_again() -> None:
    one, other = read("web"), read("web")
    one.labels = other.labels = Incomparable(one.labels)
    assert one == other
