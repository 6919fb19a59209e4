"""The extender's answers to a case, in the shape of those that Kubernetes gives."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from extender.cluster.state import ClusterState
from extender.verbs.inter_pod_affinity import InterPodAffinity
from tests.answering import Answering
from tests.builders import model_namespace, model_node, model_pod
from tests.oracle import UNKNOWN_NODE

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

_CODES = {
    "FailedNodes": "Unschedulable",
    "FailedAndUnresolvableNodes": "UnschedulableAndUnresolvable",
}


class Ours:
    """The extender's callbacks over a cluster, from request bytes to answer bytes."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        """Objects arrive in an order of their own: any order has to give the same picture."""
        state = ClusterState()
        dice = random.Random(case["order"])
        for kind in dice.sample(["nodes", "namespaces", "pods"], 3):
            for raw in dice.sample(case["cluster"][kind], len(case["cluster"][kind])):
                match kind:
                    case "nodes":
                        state.upsert_node(model_node(raw))
                    case "namespaces":
                        state.upsert_namespace(model_namespace(raw))
                    case _:
                        state.upsert_pod(model_pod(raw))
        args = case["args"]
        plugin = InterPodAffinity(
            args["hardPodAffinityWeight"], args["ignorePreferredTermsOfExistingPods"]
        )
        self._answers = Answering(
            state,
            plugins=[plugin],
            scoring=[plugin],
            resolvable=True,
            max_score=100,
            defer=lambda work: work(),
        )

    def answer(self, pod: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Filter the named nodes; prioritize them all, and then those that fit."""
        body = _body(pod, json.dumps(names, separators=(",", ":")))
        result = json.loads(_done(self._answers.filter(body)))
        assert not result["Error"], result["Error"]
        refused = {
            name: {"code": code, "reason": reason}
            for field, code in _CODES.items()
            for name, reason in result[field].items()
        }
        assert result["NodeNames"] == [name for name in names if name not in refused]
        known = [n for n in names if refused.get(n, {}).get("reason") != UNKNOWN_NODE.reason]
        return {
            "refused": refused,
            "score": self._scores(pod, known),
            "scoreFeasible": self._scores(pod, result["NodeNames"]),
        }

    def _scores(self, pod: Mapping[str, Any], names: Sequence[str]) -> dict[str, int]:
        body = _body(pod, json.dumps(names, separators=(",", ":")))
        scores = json.loads(_done(self._answers.prioritize(body)))
        return {score["Host"]: score["Score"] for score in scores}


def _body(pod: Mapping[str, Any], names_json: str) -> bytes:
    return f'{{"Pod":{json.dumps(pod)},"Nodes":null,"NodeNames":{names_json}}}'.encode()


def _done(answer: Coroutine[None, None, bytes]) -> bytes:
    """Run a callback to its end; without pods in flight it waits for nothing on its way."""
    try:
        answer.send(None)
    except StopIteration as done:
        result: bytes = done.value
        return result
    raise AssertionError("a callback waited")
