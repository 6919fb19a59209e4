"""Sets and removes nominations at the API server, and counts how that ends."""

from __future__ import annotations

import logging

from extender.controllers.history import History, Kind
from extender.controllers.patching import NominationPatches, Patched
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.ports import Nominator

_log = logging.getLogger(__name__)


class Patches:
    """Counts requests for hints by how they end."""

    def __init__(self, nominator: Nominator, metrics: Metrics, history: History) -> None:
        self._patches = NominationPatches(nominator, _log, self._note_failure)
        self._metrics = metrics
        self._history = history

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

    async def wake(self, pod: Pod, node: str) -> None:
        """Have the scheduler try the node that it has nominated itself."""
        self.count("woken", pod, node)
        await self._patches.wake(pod)

    async def _ask(self, pod: Pod, before: str | None, node: str | None) -> Patched:
        return await self._patches.change(pod, before, node)

    def _note_failure(self, pod: Pod, node: str | None, why: str) -> None:
        self._metrics.count_hint("failed")
        self._history.note(Kind.HINT, "failed", pod.key, node, why)
