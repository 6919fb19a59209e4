"""Requests to change a pod's nomination, and what became of them."""

from __future__ import annotations

import logging
from enum import Enum

from extender.controllers.refused_pods.controller import Results
from extender.errors import ApiError, ExtenderError
from extender.model.keys import name_of
from extender.model.objects import Pod
from extender.ports import Nominator
from extender.timing import LogThrottle

FIRST_UNCLEAR_STATUS = 500
"""An API server that has trouble of its own may have done it, or do it yet."""


class Patched(Enum):
    """What became of a request to change the field."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    """The field was not, or the pod is not any more, what it was taken for."""
    REFUSED = "refused"
    """Certainly not done: the field is as it was."""
    INDETERMINATE = "unclear"
    """Perhaps it was done, perhaps not; it may be done yet."""


class Patches:
    """Talks to a nominator that may fail, and warns of it."""

    def __init__(
        self, nominator: Nominator, logger: logging.Logger, failures: Results | None = None
    ) -> None:
        """Have failures counted, where that is wanted."""
        self._nominator = nominator
        self._failures = failures
        self._log = LogThrottle(logger)

    async def change(self, pod: Pod, before: str | None, node: str | None) -> Patched:
        """Change the field from `before`."""
        try:
            done = await self._nominator.nominate(pod, before, node)
        except ExtenderError as error:
            self._note_failure(pod, node or before, "pointed to a node", str(error))
            clear = isinstance(error, ApiError) and error.status < FIRST_UNCLEAR_STATUS
            return Patched.REFUSED if clear else Patched.INDETERMINATE
        return Patched.DONE if done else Patched.OVERTAKEN

    async def wake(self, pod: Pod) -> bool:
        """Make the scheduler try a pod again that an extender refused; False if that failed."""
        try:
            return await self._nominator.wake(pod)
        except ExtenderError as error:
            self._note_failure(pod, pod.nominated, "woken", str(error))
            return False

    def _note_failure(self, pod: Pod, node: str | None, what: str, why: str) -> None:
        if self._failures is not None:
            self._failures.count("failed", pod, node, why)
        kind = why.replace(name_of(pod.key), "")
        self._log.log(logging.WARNING, kind, "%s could not be %s: %s", pod.key, what, why)
