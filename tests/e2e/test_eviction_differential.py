"""Evictions and drains, simulated here and put to Kubernetes' own code, in every run others."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.asking import asking
from tests.conformance.drawing import look_at_each
from tests.e2e.controlplane.binaries import KUBERNETES
from tests.e2e.evicted import Simulated, clusters, drained_pods, preflight, theirs, with_status
from tests.e2e.original import WHOLE, original

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.asking import Ask
    from tests.e2e.controlplane.binaries import Binaries

CASES_PER_QUESTION = 0.5
"""`--questions` is 2,000 in a usual run: 1,000 cases."""


@pytest.fixture(scope="module")
def kubernetes(built: Callable[[Any], Binaries]) -> Iterator[Ask]:
    """Return what asks Kubernetes' own code, built on the first run."""
    what = "the eviction subresource of Kubernetes"
    with asking(original(built, "evictions", what, WHOLE)) as asked:
        yield asked


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--questions") * CASES_PER_QUESTION)


def test_drains_are_admitted_as_the_api_server_admits_them(
    kubernetes: Ask, start: int, examples: int, say: Callable[[str], None]
) -> None:
    tally: Counter[str] = Counter()
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"

    def look(case: dict[str, Any]) -> None:
        asking = {name: case[name] for name in ("pods", "replicaSets", "statefulSets")}
        (counted,) = kubernetes({**asking, "budgets": case["budgets"], "steps": [{"sync": True}]})
        case = case | {"now": now}
        budgets = list(with_status(case, counted.get("budgets", {})))
        simulated = Simulated(case | {"budgets": budgets})
        simulated.run()
        # Whoever is told to wait asks again once the disruption controller has looked.
        steps = [{"sync": True}] if case["status"] in {"missing", "outdated"} else []
        answers = kubernetes({**asking, "budgets": budgets, "steps": [*steps, *simulated.steps]})
        for step, answer, ours in zip(
            simulated.steps, answers[len(steps) :], simulated.answers, strict=True
        ):
            if ours is not None:
                tally[ours] += 1
                assert (step, ours) == (step, theirs(answer)), answer

    look_at_each(clusters(), look, start=start, examples=examples)
    say(f"evictions by kube-apiserver {KUBERNETES}: {dict(tally)}")
    assert all(tally[each] > examples / 100 for each in ("evicted", "refused", "several")), tally


FLAGS = {
    "force": "--force",
    "ignoreDaemonSets": "--ignore-daemonsets",
    "deleteEmptyDirData": "--delete-emptydir-data",
}


def test_kubectl_drain_needs_the_flags_that_are_told(
    kubernetes: Ask, start: int, examples: int
) -> None:
    found = set()

    def look(case: dict[str, Any]) -> None:
        needed, gone = preflight(case)
        answers = kubernetes(case)
        for answer in answers:
            given = {flag for field, flag in FLAGS.items() if answer[field]}
            assert (given, needed <= given) == (given, not answer["errors"]), answer["errors"]
        ended = {
            f"d/{each['metadata']['name']}"
            for each in case["pods"]
            if each["status"]["phase"] in {"Succeeded", "Failed"}
        }
        # What has ended is no pod here, whether it is removed or not.
        assert gone == {*(answers[-1]["pods"] or ())} - ended
        found.update(needed)

    look_at_each(drained_pods(), look, start=start, examples=examples)
    assert found == {*FLAGS.values()}
