"""Hypothesis strategies for differential tests: cases that an API server could have stored."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests import strategies
from tests.builders import Pod
from tests.conformance.terms import PREFERRED, SIDES, terms_of, with_terms
from tests.oracle import Cluster, is_finished, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

QUESTIONS_PER_CASE = 8
_MOST_PODS = 14

_ARGUMENTS = {
    "hard_pod_affinity_weight": "hardPodAffinityWeight",
    "ignore_preferred_terms_of_existing_pods": "ignorePreferredTermsOfExistingPods",
}


class Drawn(dict[str, Any]):
    """A case that does not fill the screen; who wants to see it prints its JSON."""

    def __repr__(self) -> str:
        return f"<a case with {len(self['cluster']['pods'])} pods>"


@st.composite
def cases(draw: st.DrawFn) -> Drawn:
    """Draw a case in the shape that the Go program reads; `order` is ours alone.

    The pods are as written; those that are listed as stored are as the API server stored them.
    """
    cluster = draw(strategies.clusters(most_pods=_MOST_PODS))
    pods = [draw(_perhaps_nominated(admissible(pod))) for pod in cluster.pods]
    stored = []
    for index, pod in enumerate(pods):
        if any(_label_keys(term) for term in terms_of(pod)) and not draw(strategies.rarely(3)):
            pods[index] = draw(_relabelled(pod))
            stored.append(pods[index]["metadata"]["uid"])
    cluster = Cluster(cluster.nodes, cluster.namespaces, pods)
    args = asdict(draw(strategies.plugin_args()))
    return Drawn(
        args={api_name: args[name] for name, api_name in _ARGUMENTS.items()}
        | {"addedAffinity": draw(strategies.added_affinities())},
        cluster={"nodes": cluster.nodes, "namespaces": cluster.namespaces, "pods": pods},
        stored=stored,
        order=draw(st.integers(0, 1000)),
        questions=[draw(_questions(cluster)) for _ in range(QUESTIONS_PER_CASE)],
    )


@st.composite
def _perhaps_nominated(draw: st.DrawFn, pod: dict[str, Any]) -> dict[str, Any]:
    """Let a placed pod wait for its node now and then, more important than most."""
    spec = pod["spec"]
    if "nodeName" not in spec or is_finished(pod) or not draw(strategies.rarely(5)):
        return pod
    waiting = {name: value for name, value in spec.items() if name != "nodeName"}
    waiting["priority"] = draw(st.sampled_from([2, 1, 0, -1]))
    return pod | {"spec": waiting, "status": {"nominatedNodeName": spec["nodeName"]}}


@st.composite
def _questions(draw: st.DrawFn, cluster: Cluster) -> dict[str, Any]:
    # A scheduler does not ask about pods that are placed.
    pod = admissible(draw(strategies.incoming_pods(cluster, placed=False)))
    if draw(strategies.rarely(3)):
        # Such a pod is scored by what others prefer, or by nothing.
        for side in SIDES:
            pod["spec"].get("affinity", {}).get(side, {}).pop(PREFERRED, None)
    if not draw(strategies.rarely(4)):
        pod = draw(strategies.with_node_affinity(Pod(pod)))
    names = draw(strategies.asked_names(cluster))
    if draw(strategies.rarely(3)):
        names = names[: draw(st.integers(1, len(names) or 1))]
    return {"pod": pod, "names": names}


@st.composite
def _relabelled(draw: st.DrawFn, pod: Mapping[str, Any]) -> dict[str, Any]:
    """Draw what becomes of a stored pod when its labels change: its selectors stay."""
    relabelled = merged(pod)
    for kept, written in zip(terms_of(relabelled), terms_of(pod), strict=True):
        kept.update(_label_keys(written))
    metadata = relabelled["metadata"]
    labels: dict[str, str] = metadata["labels"]
    drawn = {}
    for key, values in sorted(strategies.POD_LABELS.items()):
        now = labels.get(key)
        others = sorted({*values} - {now})
        drawn[key] = draw(st.sampled_from([*others, *others, now, None]))
    metadata["labels"] = {key: value for key, value in drawn.items() if value}
    # Without one it would be a manifest, whose label keys are yet to be merged.
    metadata["resourceVersion"] = "1"
    return relabelled


def admissible(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod without what no API server would store beside its label keys."""
    return with_terms(pod, _make_admissible)


def _make_admissible(term: dict[str, Any]) -> None:
    keys = _label_keys(term)
    for field in keys:
        del term[field]
    selector = term.get("labelSelector")
    if selector is None:
        return
    match = keys.get("matchLabelKeys", [])
    mismatch = [key for key in keys.get("mismatchLabelKeys", ()) if key not in match]
    labels = selector.get("matchLabels", {})
    selector["matchLabels"] = {key: labels[key] for key in labels if key not in match}
    selector["matchExpressions"] = [
        each for each in selector.get("matchExpressions", ()) if each["key"] not in match
    ]
    if match:
        term["matchLabelKeys"] = match
    if mismatch:
        term["mismatchLabelKeys"] = mismatch


def _label_keys(term: Mapping[str, Any]) -> dict[str, Any]:
    return {name: term[name] for name in ("matchLabelKeys", "mismatchLabelKeys") if term.get(name)}
