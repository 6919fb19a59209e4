"""Fresh questions in every run, answered by the extender and by the scheduler's own plugins.

`make e2e` asks the plugins of one release; `make e2e-all` also those with its fast path for rules
by hostname; `make conformance` asks those of every release, and far more often.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import namespace, node, pod, requirement, selector, term
from tests.conformance.asking import INTER_POD_AFFINITY, InTree, Release, in_tree
from tests.conformance.cases import Case, load_cases
from tests.conformance.comparing import differences
from tests.conformance.drawing import file_for, keep, look_until
from tests.conformance.ours import Ours
from tests.conformance.programs import ANSWER, answering
from tests.conformance.questions import QUESTIONS_PER_CASE, cases
from tests.conformance.rules import Reached
from tests.conformance.upstream_fault import as_meant, meets_fault, misreads
from tests.oracle import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.controlplane.binaries import Binaries

    Build = Callable[[Callable[[str], None]], Binaries]

KEPT = Path(__file__).parent.parent / "conformance" / "mismatches"
"""Where a case stays that was answered differently, to be asked in each run from then on."""


@pytest.fixture(scope="module")
def plugins(release: str, built: Callable[[Build], Binaries]) -> Iterator[InTree]:
    """Return the plugins of one release, built on the first run."""
    asked_of = Release.parse(release)
    with in_tree(asked_of, built(partial(answering, asked_of.version))[ANSWER]) as asked:
        yield asked


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in load_cases()])
def test_the_recorded_answers_are_given_again(case: Case, plugins: InTree) -> None:
    cluster = Cluster.from_json(case.cluster)
    questions = [
        {"id": q.id, "pod": as_meant(q.pod, cluster, plugins.release)} for q in case.questions
    ]
    asked = {"args": case.args, "cluster": case.cluster, "questions": questions}
    assert plugins.answers(asked) == [question.expected for question in case.questions]


def test_answers_equal_the_schedulers(
    plugins: InTree, start: int, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    reached = Reached()
    file = file_for(KEPT, plugins.release, start)
    examples = request.config.getoption("--questions") // QUESTIONS_PER_CASE

    def ask(case: dict[str, Any]) -> None:
        reached.add(case)
        check(case, plugins, file)

    def enough() -> bool:
        say(f"{plugins.release}: {reached}")
        # One of the rarest may be missed; with the fewest questions it is more now and then.
        return len(reached.unreached) <= 1

    look_until(enough, cases(), ask, start=start, examples=examples)
    assert len(reached.unreached) <= 1, reached.unreached


def test_what_was_answered_differently_once_is_not_again(plugins: InTree) -> None:
    for file in sorted(KEPT.glob("*.json")):
        check(json.loads(file.read_text()), plugins, file)


def check(case: dict[str, Any], plugins: InTree, file: Path) -> None:
    """Compare the answers to a case."""
    first = next(differences(case, plugins), None)
    if first is not None:
        alone = {**case, "questions": [case["questions"][first.question]]}
        keep(alone, file, plugins.release, first)


NOT_BLUE = selector(requirement("team", "NotIn", "blue"))
TOWARDS_WEB = term("zone", selector(app="web"), namespaceSelector=NOT_BLUE)


@pytest.mark.parametrize(
    ("incoming", "misread", "documented"),
    [
        pytest.param(
            pod("new", "red").anti_affinity(TOWARDS_WEB),
            {"refused": {"a": "Unschedulable"}, "score": {}},
            {"refused": {}, "score": {}},
            id="required anti-affinity",
        ),
        pytest.param(
            pod("new", "red").affinity(TOWARDS_WEB),
            {"refused": {"b": "UnschedulableAndUnresolvable"}, "score": {}},
            {"refused": dict.fromkeys("ab", "UnschedulableAndUnresolvable"), "score": {}},
            id="required affinity",
        ),
        pytest.param(
            pod("new", "red").prefers(1, TOWARDS_WEB),
            {"refused": {}, "score": {"a": 100}},
            {"refused": {}, "score": {}},
            id="preferred affinity",
        ),
    ],
)
def test_schedulers_from_1_34_to_1_36_misread_a_purely_negative_namespace_selector(
    incoming: dict[str, Any], misread: object, documented: object, plugins: InTree
) -> None:
    """Only terms of the incoming pod: docs/development/releases.md."""
    cluster = {
        "nodes": [node("a", {"zone": "a"}), node("b", {"zone": "b"})],
        "namespaces": [namespace("red", {"team": "red"}), namespace("blue", {"team": "blue"})],
        "pods": [pod("web", "blue").labels(app="web").on("a")],
    }
    assert meets_fault(incoming)
    args = {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False}
    case = {"args": args, "cluster": cluster, "stored": [], "order": 0}
    case["questions"] = [{"pod": incoming, "nodeNames": ["a", "b"]}]

    theirs = plugins.answers(case)[0][INTER_POD_AFFINITY]
    ours = Ours(case).answer(incoming, ["a", "b"])[INTER_POD_AFFINITY]

    assert _in_short(theirs) == (misread if misreads(plugins.release) else documented)
    assert _in_short(ours) == documented


def test_the_plugin_does_not_see_the_rules_of_nominated_pods_where_it_has_nothing_else_to_look_at(
    plugins: InTree,
) -> None:
    """It skips the cycle: tests/conformance/README.md."""
    away_from_web = term("zone", selector(app="web"))
    held = pod("held", "red").priority(1).anti_affinity(away_from_web).nominated("a")
    cluster = {"nodes": [node("a", {"zone": "a"})], "namespaces": [namespace("red")]}
    incoming = pod("new", "red").labels(app="web")
    refused = {"refused": {"a": "Unschedulable"}, "score": {}}
    allowed: dict[str, Any] = {"refused": {}, "score": {}}
    args = {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False}
    case = {"args": args, "cluster": {**cluster, "pods": [held]}, "stored": [], "order": 0}
    case["questions"] = [{"pod": incoming, "nodeNames": ["a"]}]
    assert _in_short(plugins.answers(case)[0][INTER_POD_AFFINITY]) == allowed
    ours = Ours(case).answer(incoming, ["a"])[INTER_POD_AFFINITY]
    assert _in_short(ours) == refused


def _in_short(answer: dict[str, Any]) -> dict[str, Any]:
    codes = {name: refusal["code"] for name, refusal in answer["refused"].items()}
    return {"refused": codes, "score": answer["score"]}
