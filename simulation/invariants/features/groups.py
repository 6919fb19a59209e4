"""The members of pod groups, counted again from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from extender.core.cluster.state import ClusterState
from extender.features.groups.ledger import members_of
from simulation.apiserver.store import Store, key_of


def knows_all(state: ClusterState, store: Store) -> bool:
    """Groups themselves are not mirrored."""
    del state, store
    return True


def mismatches(state: ClusterState) -> Iterator[str]:
    """Yield the groups whose members are not those that the state's own pods say."""
    expected: dict[str, set[str]] = {}
    for pod in state.pods.values():
        if pod.spec.group is not None:
            expected.setdefault(pod.spec.group, set()).add(pod.key)
    try:
        members = members_of(state)
    except LookupError:
        return
    for group, keys in expected.items():
        if keys != set(members.of(group)):
            yield f"the members of {group}"


def differences(
    state: ClusterState, placed: Iterable[tuple[Mapping[str, Any], str]]
) -> Iterator[str]:
    """Yield the pods on nodes that are not among the members of their group."""
    for pod, _ in placed:
        name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
        if name and key_of(dict(pod)) not in members_of(state).of(
            f"{pod['metadata']['namespace']}/{name}"
        ):
            yield f"{key_of(dict(pod))} is no member of {name}"
