"""Filter and preempt where the extender has no rule to refuse nodes by: everything passes.

The scheduler's file may ask all the same. Neither the pod is read nor the cluster looked at, so
these answers are right before the cluster is known, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from extender.core.callbacks.observing import fault_text
from extender.core.errors import ObjectError
from extender.core.wire.extender_args import read_envelope
from extender.core.wire.extender_results import NO_SCORES, write_all_fit, write_filter_error
from extender.core.wire.preempting import read_candidates, write_preemption_result

Pass: TypeAlias = Callable[[bytes], bytes]
"""Answers a call with what it asked about; ObjectError, and RequestError as callbacks do."""

_log = logging.getLogger(__name__)


class Passing:
    """Answers a verb and, where all calls pass, says once that it need not be called."""

    def __init__(
        self, verb: str, answer: Pass, fault: Callable[[str], bytes], *, warns: bool
    ) -> None:
        self._verb = verb
        self._answer = answer
        self._fault = fault
        self._warns = warns

    async def answer(self, body: bytes) -> bytes:
        if self._warns:
            self._warns = False
            _log.warning(
                "asked to %s, but there is no rule that the scheduler lacks, so every node passes: "
                "remove filterVerb and preemptVerb from the scheduler's file. If its "
                "own InterPodAffinity is off, nothing enforces required rules; see docs/modes.md",
                self._verb,
            )
        try:
            return self._answer(body)
        except ObjectError as error:
            return self.fault(error, 0.0)

    def fault(self, error: Exception, seconds: float) -> bytes:  # noqa: ARG002 - as all callbacks
        return self._fault(fault_text(error))


class NoScores:
    """Answers /prioritize where the scheduler scores by its own plugins alone."""

    async def answer(self, body: bytes) -> bytes:
        del body
        return NO_SCORES

    def fault(self, error: Exception, seconds: float) -> bytes:
        del error, seconds
        return NO_SCORES


def passing_filter(*, warns: bool = True) -> Passing:
    def all_fit(body: bytes) -> bytes:
        return write_all_fit(read_envelope(body))

    return Passing("filter", all_fit, write_filter_error, warns=warns)


def passing_preempt(*, may_be_empty: bool, warns: bool = True) -> Passing:
    """Answer /preempt with all candidates.

    With `may_be_empty` false, those without victims are left out: the scheduler takes none.
    """

    def unchanged(body: bytes) -> bytes:
        candidates = read_candidates(body)
        return write_preemption_result(
            {node: each for node, each in candidates.items() if each.uids or may_be_empty}
        )

    return Passing("preempt", unchanged, lambda _: write_preemption_result({}), warns=warns)
