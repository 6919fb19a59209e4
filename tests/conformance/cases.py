"""The conformance cases: clusters, pods, and what a real scheduler's plugins said of them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FILE = Path(__file__).with_name("cases.jsonl.gz")


@dataclass(frozen=True, slots=True)
class Question:
    """A pod, and for each plugin the answer of Kubernetes itself."""

    id: str
    pod: Mapping[str, Any]
    expected: Mapping[str, Mapping[str, Any]]

    def feasible(self, names: Sequence[str]) -> list[str]:
        """Pick the nodes that no plugin refused."""
        refused = {name for answer in self.expected.values() for name in answer["refused"]}
        return [name for name in names if name not in refused]


def named(scores: Mapping[str, int], names: Sequence[str]) -> Mapping[str, int]:
    """Return the scores that the extender names: none where all nodes have the same."""
    return scores if len({scores.get(name, 0) for name in names}) > 1 else {}


@dataclass(frozen=True, slots=True)
class Case:
    """A cluster and the plugins' arguments, with the questions asked of it."""

    id: str
    args: Mapping[str, Any]
    cluster: Mapping[str, Any]
    questions: tuple[Question, ...]

    @property
    def node_names(self) -> list[str]:
        """The names of all nodes, in the order of the cluster."""
        return [node["metadata"]["name"] for node in self.cluster["nodes"]]


@cache
def load_cases() -> tuple[Case, ...]:
    """Read all cases; each test session does so once."""
    with gzip.open(_FILE, "rt", encoding="utf-8") as lines:
        return tuple(_case(json.loads(line)) for line in lines)


def _case(raw: Mapping[str, Any]) -> Case:
    questions = tuple(Question(q["id"], q["pod"], q["expected"]) for q in raw["questions"])
    return Case(raw["id"], raw["args"], raw["cluster"], questions)
