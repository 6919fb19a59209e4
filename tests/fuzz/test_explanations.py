"""Explanations beside the answers of filter and prioritize, for as many questions as one likes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from msgspec import structs

from extender.core.model.keys import Key
from tests.diagnosis.test_explaining import Case, agree, cases
from tests.fuzz.campaign import SEED, Campaign

pytestmark = pytest.mark.thorough

CLUSTERS = 10
"""In one round."""
MOST_GONE = 6
"""Pods that go one after the other, with the same questions after each."""


class Asking:
    """Asks about the pod of a case, and about each pod of its cluster as if it came again."""

    def __init__(self) -> None:
        self.questions = 0

    def ask(self, case: Case) -> None:
        """Ask all questions that a case gives."""
        state, pod, names, plugins, scoring = case
        placed = list(state.placed_pods)
        for gone in [None, *placed[:MOST_GONE]]:
            if gone is not None:
                state.remove_pod(gone.key, gone.uid)
            for each in [pod, *placed]:
                new = structs.replace(
                    each, key=Key(f"{each.key}-new"), uid=f"{each.uid}-new", node=None
                )
                agree((state, new, names, plugins, scoring))
                self.questions += 1


def test_no_explanation_says_other_than_filter_and_prioritize() -> None:
    campaign = Campaign("explanations", fewest=1)
    asking = Asking()
    for dice in campaign:
        bounds = settings(
            max_examples=CLUSTERS,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        asked = seed(dice.randrange(1 << 64))(bounds(given(case=cases())(asking.ask)))
        with campaign.telling(f"FUZZ_SEED={SEED}"):
            asked()
    campaign.say(f"{asking.questions} questions")
