"""Keeps the cluster state tidy while the program runs: reservations expire, caches are emptied.

What events have put off is done, too, when no further event does it. How long a reservation lasts
is decided where places are reserved, in a feature: here it is only looked which are over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic
from typing import Final, NoReturn

from extender.core.cluster.state import ClusterState
from extender.core.timing import LogThrottle

TIDY_STEPS: Final = 256
"""Things that were put off and are done at a time: some 0.2 ms."""
TIDY_PAUSE_SECONDS: Final = 0.02
"""Between two such times while there are any: a hundredth of a core."""
TIDY_REST_SECONDS: Final = 1.0
"""While there are none."""

FORGET_SECONDS: Final = 300.0
"""What caches keep and was not used for that long is given up, at the latest after twice as long:
memory is taken by what is in use, however long the program runs."""

EXPIRY_PAUSE_SECONDS: Final = 1.0
EXPIRED_LOG_BURST: Final = 10
"""Lines about expired reservations in a minute: an outage of the API server can leave hundreds."""

_log = logging.getLogger(__name__)


async def keep_up_to_date(
    state: ClusterState, pause: float = TIDY_PAUSE_SECONDS, rest: float = TIDY_REST_SECONDS
) -> NoReturn:
    """Do what events have put off, for as long as the program runs.

    Every event of a pod does some of it. When few events follow, the memory would be kept.
    """
    while True:
        done = state.do_deferred(TIDY_STEPS)
        await asyncio.sleep(pause if done else rest)


async def keep_forgetting(
    state: ClusterState, rest: float = FORGET_SECONDS, pause: float = TIDY_PAUSE_SECONDS
) -> NoReturn:
    """Give up what caches keep for no use, for as long as the program runs."""
    while True:
        await asyncio.sleep(rest)
        for each in state.forgetful:
            for number, _ in enumerate(each(), 1):
                if number % TIDY_STEPS == 0:
                    await asyncio.sleep(pause)


async def keep_expiring(state: ClusterState, clock: Callable[[], float] = monotonic) -> NoReturn:
    """Release the reservations that nothing settled in time, for as long as the program runs."""
    throttle = LogThrottle(_log, burst=EXPIRED_LOG_BURST, clock=clock)
    while True:
        for pod in state.expire(clock()):
            says = "reservation of %s on %s expired: the watch never showed the pod there"
            throttle.log(logging.WARNING, says, says, pod.key, pod.node)
        await asyncio.sleep(EXPIRY_PAUSE_SECONDS)
