"""Sets and removes nominations at the API server, and counts how that ends."""

from __future__ import annotations

import logging
from enum import Enum

from extender.errors import ApiError, ExtenderError
from extender.metrics import Metrics
from extender.model.keys import name_of
from extender.model.objects import Pod
from extender.ports import Nominator
from extender.timing import LogThrottle

LOG_SECONDS = 60.0
"""Between two lines about failures of the same kind."""

FIRST_UNCLEAR_STATUS = 500

_log = logging.getLogger(__name__)


class Patched(Enum):
    """What became of a request to change the field."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    """The field was not, or the pod is not any more, what it was taken for."""
    REFUSED = "refused"
    """Certainly not done: the field is as it was."""
    UNCLEAR = "unclear"
    """Perhaps it was done, perhaps not; it may be done yet."""


class Patches:
    """Talks to a nominator that may fail."""

    def __init__(self, nominator: Nominator, metrics: Metrics) -> None:
        self._nominator = nominator
        self._metrics = metrics
        self._log = LogThrottle(_log, seconds=LOG_SECONDS)

    async def change(
        self,
        pod: Pod,
        before: str | None,
        node: str | None,
        *,
        success: str,
        overtaken: str = "skipped",
    ) -> Patched:
        """Change the field and count the result: `overtaken` if it was not what `before` says."""
        try:
            done = await self._nominator.nominate(pod, before, node)
        except ExtenderError as error:
            self._metrics.count_hint("failed")
            self._complain(pod, str(error))
            # An API server that has trouble of its own may have done it, or do it yet.
            clear = isinstance(error, ApiError) and error.status < FIRST_UNCLEAR_STATUS
            return Patched.REFUSED if clear else Patched.UNCLEAR
        self._metrics.count_hint(success if done else overtaken)
        return Patched.DONE if done else Patched.OVERTAKEN

    async def restore(self, pod: Pod, node: str) -> bool:
        """Put back a nomination that was removed; False when it may still be missing.

        When somebody else has set the field meanwhile, that stands.
        """
        try:
            await self._nominator.nominate(pod, None, node)
        except ExtenderError as error:
            self._metrics.count_hint("failed")
            self._complain(pod, str(error))
            return False
        return True

    def _complain(self, pod: Pod, why: str) -> None:
        """Warn once a minute of what is likely to be the same for every pod."""
        kind = why.replace(name_of(pod.key), "")
        self._log.log(logging.WARNING, kind, "%s could not be pointed to a node: %s", pod.key, why)
