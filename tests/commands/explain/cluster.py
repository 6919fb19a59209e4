"""The small cluster that explain is asked about, and what asks it."""

from __future__ import annotations

from collections.abc import Callable

from tests.builders import HOST, ZONE, node, node_term, requirement, selector

WEB, DB = selector(app="web"), selector(app="db")
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
SSD = node_term(requirement("disk", "Exists"))
SSD_NODES = {"nodeSelectorTerms": [SSD]}

Explain = Callable[..., tuple[int, str]]
"""Takes a line of arguments, objects and a manifest; returns the exit code and what was said."""
