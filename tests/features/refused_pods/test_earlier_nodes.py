"""Where victims were to make room for a pod before: nothing that is under way is forgotten."""

from __future__ import annotations

import pytest

from extender.core.cluster.state import ClusterState
from extender.features.refused_pods.record import Preemption, Record
from extender.features.refused_pods.search import REMEMBERED_SECONDS, earlier_nodes
from tests.builders import model_pod, pod, state_of
from tests.features.refused_pods.preempting import A, B
from tests.important_pods import HIGH, plain

NOW = 1000.0
WANTS = model_pod(pod("important").priority(HIGH))


def cluster(*, marked: str | None = None, leaving: str | None = None) -> ClusterState:
    """Build two nodes with a pod each, of which some is marked for the pod or on its way out."""
    state = state_of([A, B], [], [plain("on-a", "a"), plain("on-b", "b")])
    for name in ("a", "b"):
        known = state.pods[f"default/on-{name}"]
        victim_of = WANTS.uid if marked == name else None
        state.upsert_pod(known.with_status(victim_of=victim_of, deleting=leaving == name))
    return state


def remembering(node: str | None = None, since: float = NOW) -> Record[Preemption]:
    """Build what is known of the pod, with a node where victims were to go for it."""
    record: Record[Preemption] = Record(WANTS.uid)
    if node is not None:
        record.remember(node, since)
    return record


@pytest.mark.parametrize(
    ("state", "record", "nominated", "is_hint", "nodes"),
    [
        pytest.param(cluster(), remembering(), None, False, [], id="nothing"),
        pytest.param(cluster(), remembering(), "a", False, ["a"], id="a nomination"),
        pytest.param(cluster(), remembering(), "a", True, [], id="a hint"),
        pytest.param(
            cluster(marked="b"), remembering("a"), "a", False, ["b"], id="a mark, and no other node"
        ),
        pytest.param(
            cluster(), remembering("b", NOW - REMEMBERED_SECONDS + 1), None, False, ["b"],
            id="a node that is remembered",
        ),
        pytest.param(
            cluster(), remembering("b", NOW - REMEMBERED_SECONDS), None, False, [],
            id="a node that is remembered no more",
        ),
        pytest.param(
            cluster(leaving="b"), remembering("b", NOW - REMEMBERED_SECONDS), None, False, ["b"],
            id="a node that victims are still leaving",
        ),
        pytest.param(
            cluster(), remembering("b"), "a", False, ["a", "b"], id="a nomination before what was"
        ),
    ],
)  # fmt: skip
def test_earlier_nodes_are_those_of(
    state: ClusterState,
    record: Record[Preemption],
    nominated: str | None,
    nodes: list[str],
    *,
    is_hint: bool,
) -> None:
    wants = WANTS.with_status(nominated=nominated)
    assert [*earlier_nodes(state, record, wants, NOW, is_hint=is_hint)] == nodes
