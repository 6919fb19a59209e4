"""Random streams of events with questions in between, held against a recount and the oracle.

The same machine as in the tests of the state, from another seed, and for as long as one likes.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.cluster.test_events_equal_recount import EventStream
from tests.fuzz.campaign import SEED, Campaign

pytestmark = pytest.mark.thorough

STREAMS = 10
"""At least; each is a round."""
STEPS = 40


def test_no_stream_of_events_misleads_the_counters() -> None:
    campaign = Campaign("event streams", fewest=STREAMS)
    for dice in campaign:
        bounds = settings(
            max_examples=1,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        machine = seed(dice.randrange(1 << 64))(EventStream)
        with campaign.telling(f"FUZZ_SEED={SEED}"):
            run_state_machine_as_test(machine, settings=bounds)
