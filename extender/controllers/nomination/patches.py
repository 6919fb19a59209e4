"""Sets and removes nominations at the API server, and counts how that ends."""

from __future__ import annotations

import logging

from extender.controllers.patching import Patched, patch_nomination
from extender.errors import ExtenderError
from extender.metrics import Metrics
from extender.model.keys import name_of
from extender.model.objects import Pod
from extender.ports import Nominator
from extender.timing import LogThrottle

LOG_SECONDS = 60.0
"""Between two lines about failures of the same kind."""

_log = logging.getLogger(__name__)


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
        patched = await self._ask(pod, before, node)
        if patched is Patched.DONE:
            self._metrics.count_hint(success)
        elif patched is Patched.OVERTAKEN:
            self._metrics.count_hint(overtaken)
        return patched

    async def restore(self, pod: Pod, node: str) -> bool:
        """Put back a nomination that was removed; False when it may still be missing.

        When somebody else has set the field meanwhile, that stands.
        """
        return await self._ask(pod, None, node) in {Patched.DONE, Patched.OVERTAKEN}

    async def _ask(self, pod: Pod, before: str | None, node: str | None) -> Patched:
        return await patch_nomination(
            self._nominator, pod, before, node, lambda error: self._note_failure(pod, error)
        )

    def _note_failure(self, pod: Pod, error: ExtenderError) -> None:
        """Count it, and warn once a minute of what is likely to be the same for every pod."""
        self._metrics.count_hint("failed")
        why = str(error)
        kind = why.replace(name_of(pod.key), "")
        self._log.log(logging.WARNING, kind, "%s could not be pointed to a node: %s", pod.key, why)
