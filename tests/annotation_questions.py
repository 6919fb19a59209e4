"""Random questions about rules that only annotations have, to the verbs and to the oracle.

Limits (`maxMatchingPods`) and revisions that are told apart.

`python -m tests.annotation_questions 1000000` asks so many, and says how many differ.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.plugins import Plugins
from extender.core.wire.manifests import REVISIONS_ANNOTATION
from simulation.invariants.recount import mismatches
from tests.annotating import moved
from tests.beside import LIMITS as PLUGIN
from tests.builders import HOST, ZONE, Json, Pod, namespace, node, pod, selector, state_of, term
from tests.oracle import Args, Cluster
from tests.verbs.judging import (
    actual_refusals,
    actual_scores,
    expected_refusals,
    expected_scores,
)

LIMITS: Plugins = (InterPodAffinity(), *PLUGIN)
NAMES = ("a", "b", "c", "d")
SPACES = ("alpha", "beta")
APPS = ("web", "db")
QUESTIONS_A_CLUSTER = 8
PROGRESS = 20_000


def differences(seed: int) -> Iterator[str]:
    """Ask about one cluster; yield what the two do not say alike, or "" for each question."""
    dice = random.Random(seed)
    cluster = _cluster(dice)
    state = state_of(cluster.nodes, cluster.namespaces, map(_written, cluster.pods))
    args = Args(dice.choice((0, 1, 5)), dice.random() < 0.2)
    for number in range(QUESTIONS_A_CLUSTER):
        asking = _asking(dice, cluster, number)
        names = dice.sample(NAMES, dice.choice((1, 4, 4)))
        found = (
            actual_refusals(state, _written(asking), names, plugins=LIMITS),
            actual_scores(state, _written(asking), names, args),
        )
        expected = (
            expected_refusals(cluster, asking, names, args),
            expected_scores(cluster, asking, names, args),
        )
        yield "" if found == expected else f"{asking}: {found}, not {expected}"
    if mismatches(state):
        yield "the counters are not those of a recount"


def _written(made: Json) -> Json:
    """Move the rules of a pod into its annotation, where a limit needs that or its name says so."""
    needed = "maxMatchingPods" in str(made["spec"])
    return moved(made) if needed or made["metadata"]["name"][-1] in "02468" else made


def _cluster(dice: random.Random) -> Cluster:
    nodes = [node(name, _places(dice, name)) for name in NAMES]
    spaces = [_space(dice, name) for name in SPACES]
    pods = [_pod(dice, f"pod-{number}") for number in range(dice.choice((0, 2, 5, 9)))]
    return Cluster(nodes, spaces, [_fate(dice, each) for each in pods])


def _space(dice: random.Random, name: str) -> Json:
    space = namespace(name, {"team": dice.choice(("red", "blue"))})
    if dice.random() < 0.15:
        space["metadata"]["annotations"] = {REVISIONS_ANNOTATION: "Own"}
    return space


def _places(dice: random.Random, name: str) -> dict[str, str]:
    labels = {HOST: name, ZONE: dice.choice("xy"), "rack": dice.choice("xrs")}
    return {key: value for key, value in labels.items() if dice.random() < 0.9}


def _fate(dice: random.Random, made: Pod) -> Pod:
    drawn = dice.random()
    if drawn < 0.8:
        return made.on(dice.choice(NAMES))
    return made.nominated(dice.choice(NAMES)).priority(5) if drawn < 0.9 else made


def _asking(dice: random.Random, cluster: Cluster, number: int) -> Json:
    if cluster.pods and dice.random() < 0.5:
        # A pod that is there already, or one more replica.
        like: Any = dice.choice(cluster.pods)
        if dice.random() < 0.5:
            return dict(like)
        made = _pod(dice, f"asking-{number}", like["metadata"]["namespace"])
        return Pod({**made, "spec": {"affinity": like["spec"].get("affinity", {})}})
    return _pod(dice, f"asking-{number}")


def _replica(dice: random.Random, made: Pod) -> Pod:
    """Make it a replica of one of two workloads, in one of two revisions."""
    name, revision = dice.choice(("web", "db")), dice.choice(("5d", "7f"))
    made = made.labels({"pod-template-hash": revision}).owned_by(f"ReplicaSet/{name}-{revision}")
    return made.annotated(REVISIONS_ANNOTATION, "Own") if dice.random() < 0.4 else made


def _pod(dice: random.Random, name: str, space: str = "") -> Pod:
    made = pod(name, space or dice.choice(SPACES)).labels(app=dice.choice(APPS))
    if dice.random() < 0.5:
        made = made.labels(tier=dice.choice("ab"))
    if dice.random() < 0.6:
        made = _replica(dice, made)
    for _ in range(dice.choice((0, 0, 1, 1, 2))):
        made = made.anti_affinity(_term(dice, 0.8))
    for _ in range(dice.choice((0, 0, 0, 1, 2))):
        made = made.avoids(dice.choice((1, 50, 100)), _term(dice, 0.0))
    if dice.random() < 0.1:
        made = made.affinity(_term(dice, 0.0))
    return made


def _term(dice: random.Random, limited: float) -> Json:
    fields: dict[str, Any] = {}
    if dice.random() < 0.3:
        fields["namespaces"] = dice.sample(SPACES, dice.choice((1, 2)))
    if dice.random() < 0.3:
        fields["namespaceSelector"] = dice.choice(({}, selector(team="red")))
    if dice.random() < 0.2:
        fields[dice.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
    if dice.random() < limited:
        fields["maxMatchingPods"] = dice.choice((0, 1, 1, 2, 3))
    about = dice.choice((selector(), selector(app="web"), selector(app="db")))
    if "maxMatchingPods" in fields and "namespaceSelector" in fields:
        about = selector(app=dice.choice(APPS))
    return term(dice.choice((HOST, ZONE, ZONE, "rack", "nowhere")), about, **fields)


def main(most: int) -> int:
    """Ask so many questions, with lines of progress."""
    asked = wrong = seed = told = 0
    while asked < most:
        for found in differences(seed):
            asked += 1
            if found:
                wrong += 1
                _say(f"seed {seed}: {found}")
        seed += 1
        if asked >= told + PROGRESS:
            told = asked
            _say(f"{asked:,} of {most:,} questions, {wrong} differences")
    _say(f"{asked:,} questions about {seed:,} clusters, {wrong} differences")
    return int(wrong > 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
