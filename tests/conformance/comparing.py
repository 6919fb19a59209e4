"""One case put to the scheduler's plugins and to the extender, and how the answers differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.builders import HOST
from tests.conformance.asking import INTER_POD_AFFINITY, PLUGINS, InTree
from tests.conformance.cases import named
from tests.conformance.ours import Ours
from tests.conformance.programs import FAST_PATH
from tests.conformance.skipped import SKIPPED, without_rules_of_nominated
from tests.conformance.upstream_fault import as_meant
from tests.oracle import UNKNOWN_NODE, Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Case = dict[str, Any]
Answer = dict[str, Any]
"""By plugin."""
_STRANGER = {"code": UNKNOWN_NODE.code, "reason": UNKNOWN_NODE.reason}


@dataclass(frozen=True, slots=True)
class Difference:
    """A question that was not answered alike."""

    question: int
    """Its place in the case, from 0."""
    theirs: Answer
    ours: Answer


def differences(case: Case, in_tree: InTree) -> Iterator[Difference]:
    """Yield what the extender answers otherwise than Kubernetes.

    The fast path for rules by hostname looks at the pods of each node alone, so it is asked about
    nodes that have a hostname each.
    """
    if FAST_PATH in in_tree.release.gates:
        case = _with_a_hostname_each(case)
    ours, blind = Ours(case), Ours(without_rules_of_nominated(case))
    for number, (question, theirs) in enumerate(
        zip(case["questions"], expected(case, in_tree), strict=True)
    ):
        asked = blind if theirs.pop(SKIPPED) else ours
        answer = asked.answer(question["pod"], question["names"])
        wrong = theirs[INTER_POD_AFFINITY]["refused"]
        if not answer[INTER_POD_AFFINITY]["refused"] and _are_strangers(wrong):
            # To a pod that no rule is about, filter does not look at names.
            wrong.clear()
        if answer != theirs:
            yield Difference(number, theirs, answer)


def _are_strangers(refused: Mapping[str, object]) -> bool:
    return all(each == _STRANGER for each in refused.values())


def _with_a_hostname_each(case: Case) -> Case:
    nodes = []
    for node in case["cluster"]["nodes"]:
        metadata = node["metadata"]
        labels = (metadata.get("labels") or {}) | {HOST: metadata["name"]}
        nodes.append(node | {"metadata": metadata | {"labels": labels}})
    return case | {"cluster": case["cluster"] | {"nodes": nodes}}


def expected(case: Case, in_tree: InTree) -> list[Answer]:
    """Return what Kubernetes answers; a node that it could not be asked about is unknown.

    And whether it did not look at nominated pods.
    """
    cluster = Cluster.from_json(case["cluster"])
    known = {node["metadata"]["name"] for node in cluster.nodes}
    asked = [
        {
            "pod": as_meant(question["pod"], cluster, in_tree.release),
            "nodeNames": [name for name in question["names"] if name in known],
            "plugins": PLUGINS,
        }
        for question in case["questions"]
    ]
    sent = {key: case[key] for key in ("args", "cluster", "stored")} | {"questions": asked}
    answers = []
    for question, found in zip(case["questions"], in_tree.answers(sent), strict=True):
        strangers = dict.fromkeys((n for n in question["names"] if n not in known), _STRANGER)
        names = [name for name in question["names"] if name in known]
        refused = {name for plugin in PLUGINS for name in found[plugin]["refused"]}
        fits = [name for name in names if name not in refused]
        answer: Answer = {
            plugin: {
                "refused": found[plugin]["refused"],
                "score": named(found[plugin]["score"], names),
                "scoreFeasible": named(found[plugin]["scoreFeasible"], fits),
            }
            for plugin in PLUGINS
        }
        answer[INTER_POD_AFFINITY]["refused"] |= strangers
        # The other plugin does not look at pods, nominated or not.
        skipped = found[INTER_POD_AFFINITY].get(SKIPPED, False)
        answers.append({**answer, SKIPPED: skipped})
    return answers
