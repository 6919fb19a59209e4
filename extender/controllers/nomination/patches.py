"""Sets and removes nominations at the API server, and counts how that ends."""

from __future__ import annotations

import logging

from extender.controllers.history import History, Kind
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

    def __init__(self, nominator: Nominator, metrics: Metrics, history: History) -> None:
        self._nominator = nominator
        self._metrics = metrics
        self._history = history
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
        result = {Patched.DONE: success, Patched.OVERTAKEN: overtaken}.get(patched)
        if result is not None:
            self.count(result, pod, node or before)
        return patched

    def count(self, result: str, pod: Pod, node: str | None) -> None:
        """Count what became of a hint, and remember whose it was."""
        self._metrics.count_hint(result)
        self._history.note(Kind.HINT, result, pod.key, node)

    async def restore(self, pod: Pod, node: str) -> bool:
        """Put back a nomination that was removed; False when it may still be missing.

        When somebody else has set the field meanwhile, that stands.
        """
        return await self._ask(pod, None, node) in {Patched.DONE, Patched.OVERTAKEN}

    async def _ask(self, pod: Pod, before: str | None, node: str | None) -> Patched:
        return await patch_nomination(
            self._nominator,
            pod,
            before,
            node,
            lambda error: self._note_failure(pod, node or before, error),
        )

    def _note_failure(self, pod: Pod, node: str | None, error: ExtenderError) -> None:
        """Count it, and warn once a minute of what is likely to be the same for every pod."""
        why = str(error)
        self._metrics.count_hint("failed")
        self._history.note(Kind.HINT, "failed", pod.key, node, why)
        kind = why.replace(name_of(pod.key), "")
        self._log.log(logging.WARNING, kind, "%s could not be pointed to a node: %s", pod.key, why)
