"""Nodes, and pods; some are more important than those in their way."""

from __future__ import annotations

from tests.builders import HOST, ZONE, Pod, node, pod, selector, term

LOW, MIDDLE, HIGH = 10, 20, 30
ROOM = {"pods": "10", "cpu": "4"}
DB = selector(app="db")
Z1, Z2 = {ZONE: "z1"}, {ZONE: "z2"}


def server(name: str, zone: str = "z1", pods: str = "10") -> dict[str, object]:
    return node(name, {HOST: name, ZONE: zone}, {**ROOM, "pods": pods})


def db(name: str, on: str, priority: int = LOW) -> Pod:
    """Build a pod that the important ones avoid."""
    return pod(name).labels(app="db").priority(priority).on(on)


def plain(name: str, on: str, priority: int = LOW) -> Pod:
    """Build a pod that concerns no other."""
    return pod(name).priority(priority).on(on)


def important(name: str = "important", key: str = HOST, priority: int = HIGH) -> Pod:
    """Build a pod that wants no database near it."""
    return pod(name).priority(priority).anti_affinity(term(key, DB))
