"""Nominates nodes at the API server, and says what became of it."""

from __future__ import annotations

import logging
from enum import Enum

from extender.errors import ApiError, ExtenderError
from extender.model.objects import Pod
from extender.ports import Nominator
from extender.timing import LogThrottle

FIRST_UNCLEAR_STATUS = 500
LOG_SECONDS = 60.0
"""Between two lines about failures of the same kind."""

_log = logging.getLogger(__name__)


class Outcome(Enum):
    """What became of a request to change a nomination."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    """The field, or the pod, is not what it was."""
    REFUSED = "refused"
    UNCLEAR = "unclear"
    """It may have been done, or be done yet."""


class Patches:
    """Talks to a nominator that may fail."""

    def __init__(self, nominator: Nominator) -> None:
        self._nominator = nominator
        self._log = LogThrottle(_log, seconds=LOG_SECONDS)

    async def change(self, pod: Pod, before: str | None, node: str | None) -> Outcome:
        """Change the field from `before`."""
        try:
            done = await self._nominator.nominate(pod, before, node)
        except ExtenderError as error:
            what = "%s could not be nominated to %s: %s"
            self._log.log(logging.WARNING, type(error).__name__, what, pod.key, node, error)
            clear = isinstance(error, ApiError) and error.status < FIRST_UNCLEAR_STATUS
            return Outcome.REFUSED if clear else Outcome.UNCLEAR
        return Outcome.DONE if done else Outcome.OVERTAKEN
