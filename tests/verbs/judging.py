"""One question to the verbs and to the oracle, in terms that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Victims
from extender.core.model.objects import Pod
from extender.core.verbs.filtering import judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.preempting import choose_victims
from extender.core.verbs.prioritizing import prioritize
from extender.core.wire.affinity import EVERY_GATE_ON, Gates
from tests import oracle
from tests.builders import Json, model_pod

MAX_SCORE = 100
AFFINITY: Plugins = (InterPodAffinity(),)


def actual_refusals(
    state: ClusterState,
    pod: Json,
    names: Sequence[str],
    gates: Gates = EVERY_GATE_ON,
    plugins: Plugins = AFFINITY,
) -> dict[str, str]:
    """Ask the extender which nodes are refused and why."""
    asked, incoming = state.nodes.asked(names), model_pod(pod, gates)
    verdicts = judge(state, incoming, asked, plugins)
    refused = {name: reason.value for reason, some in verdicts.refused for name in some}
    assert list(verdicts.fits.names) == [name for name in names if name not in refused]
    assert sum(len(some) for _, some in verdicts.refused) == len(refused)
    return refused


def expected_refusals(
    cluster: oracle.Cluster, pod: Json, names: Sequence[str], args: oracle.Args
) -> dict[str, str]:
    """Ask the oracle the same."""
    refused = oracle.refusals(cluster, pod, names, args)
    return {name: refusal.reason for name, refusal in refused.items()}


def actual_scores(
    state: ClusterState,
    pod: Json,
    names: Sequence[str],
    args: oracle.Args,
    gates: Gates = EVERY_GATE_ON,
) -> dict[str, int]:
    """Ask the extender for the scores that are not 0."""
    incoming = model_pod(pod, gates)
    plugin = InterPodAffinity(
        hard_pod_affinity_weight=args.hard_pod_affinity_weight,
        ignore_preferred_terms_of_existing_pods=args.ignore_preferred_terms_of_existing_pods,
    )
    scored = prioritize(state, incoming, lambda: state.nodes.asked(names), [plugin], MAX_SCORE)
    named = list(scored.names)
    assert not named or named == [name for name in names if name in state.nodes]
    final = {name: scored.final[raw] for name, raw in zip(named, scored.raw, strict=True)}
    return {name: score for name, score in final.items() if score}


def expected_scores(
    cluster: oracle.Cluster, pod: Json, names: Sequence[str], args: oracle.Args
) -> dict[str, int]:
    """Ask the oracle the same; a node that nobody knows takes no part in the scale."""
    known = [name for name in names if cluster.node_labels(name) is not None]
    scores = oracle.normalised(oracle.raw_scores(cluster, pod, known, args))
    return {name: score for name, score in scores.items() if score}


def chosen_of(
    state: ClusterState,
    pod: Pod,
    candidates: Mapping[str, Victims],
    plugins: Plugins,
    *,
    may_be_empty: bool,
) -> dict[str, Victims]:
    """Return the candidates of a preemption that are left, and their victims."""
    chosen = choose_victims(state, pod, candidates, plugins, may_be_empty=may_be_empty)
    return {node: victims for node, victims in chosen if victims is not None}
