"""The extender's answers to a case, in the shape of those that Kubernetes gives."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

from extender.core.cluster.state import ClusterState
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.wire.node_selection import read_node_selection
from tests.answering import Answering
from tests.beside import COVERS_ALL
from tests.builders import model_namespace, model_node, model_pod
from tests.conformance.asking import INTER_POD_AFFINITY, NODE_AFFINITY
from tests.oracle import UNKNOWN_NODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CODES = {
    "FailedNodes": "Unschedulable",
    "FailedAndUnresolvableNodes": "UnschedulableAndUnresolvable",
}


class Ours:
    """The extender's callbacks over a cluster, from request bytes to answer bytes."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        """Objects arrive in an order of their own: any order has to give the same picture."""
        state = ClusterState(scope=COVERS_ALL)
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
        inter_pod_affinity = InterPodAffinity(
            args["hardPodAffinityWeight"], args["ignorePreferredTermsOfExistingPods"]
        )
        added, faults = read_node_selection(json.dumps(args.get("addedAffinity") or {}).encode())
        assert faults == []
        node_selection = NodeSelectionPlugin(added)
        self._each = {
            INTER_POD_AFFINITY: _answering(state, inter_pod_affinity),
            NODE_AFFINITY: _answering(state, node_selection),
        }
        self._together = _answering(state, inter_pod_affinity, node_selection)

    def answer(self, pod: Mapping[str, Any], names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return what each plugin says if it is alone.

        Filter the named nodes; prioritize them all, and then those that fit under every plugin.
        """
        refused = {name: _refused(each, pod, names) for name, each in self._each.items()}
        # By itself, NodeAffinity looks at nodes only where a rule is about them.
        about_nodes = refused[NODE_AFFINITY].items()
        refused[NODE_AFFINITY] = {
            name: each for name, each in about_nodes if each["reason"] != UNKNOWN_NODE.reason
        }
        together = refused[NODE_AFFINITY] | refused[INTER_POD_AFFINITY]
        # Which reason is told hangs on the pass, with nominated pods or without them.
        # And a name that nobody knows is looked at where any of them is about the pod.
        found = _refused(self._together, pod, names)
        assert together.keys() <= found.keys()
        assert all(found[name]["reason"] == UNKNOWN_NODE.reason for name in found.keys() - together)
        known = [n for n in names if together.get(n, {}).get("reason") != UNKNOWN_NODE.reason]
        feasible = [name for name in names if name not in together]
        return {
            name: {
                "refused": refused[name],
                "score": _scores(each, pod, known),
                "scoreFeasible": _scores(each, pod, feasible),
            }
            for name, each in self._each.items()
        }


def _answering(state: ClusterState, *plugins: InterPodAffinity | NodeSelectionPlugin) -> Answering:
    return Answering(
        state,
        plugins=plugins,
        scoring=plugins,
        resolvable=True,
        max_score=100,
        defer=lambda work: work(),
    )


def _refused(
    answers: Answering, pod: Mapping[str, Any], names: Sequence[str]
) -> dict[str, dict[str, str]]:
    body = _body(pod, json.dumps(names, separators=(",", ":")))
    result = json.loads(asyncio.run(answers.filter(body)))
    assert not result["Error"], result["Error"]
    refused = {
        name: {"code": code, "reason": reason}
        for field, code in _CODES.items()
        for name, reason in result[field].items()
    }
    assert result["NodeNames"] == [name for name in names if name not in refused]
    return refused


def _scores(answers: Answering, pod: Mapping[str, Any], names: Sequence[str]) -> dict[str, int]:
    body = _body(pod, json.dumps(names, separators=(",", ":")))
    scores = json.loads(asyncio.run(answers.prioritize(body)))
    return {score["Host"]: score["Score"] for score in scores}


def _body(pod: Mapping[str, Any], names_json: str) -> bytes:
    return f'{{"Pod":{json.dumps(pod)},"Nodes":null,"NodeNames":{names_json}}}'.encode()
