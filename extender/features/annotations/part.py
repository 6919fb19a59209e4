"""What the program gets while rules in annotations count somewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import islice
from typing import Final, NoReturn

from extender.core.cluster.state import ClusterState
from extender.core.config import Mode
from extender.core.metrics.series import Collectors, GaugeRow
from extender.core.model.wording import plural
from extender.core.parts import Context, Part, Task
from extender.features.annotations.record_first import RecordFirst
from extender.features.annotations.recording import Recorder

PAUSE_SECONDS: Final = 5.0

_log = logging.getLogger(__name__)


class Annotated(Part):
    """Tells of rules that are ignored, and puts on record by which ones pods were placed."""

    def __init__(self, context: Context) -> None:
        self._state = context.state
        ignored = self.metrics(context.metrics.make)
        ignored.ask(lambda: self._state.broken_rules.ignored)
        self._recorder: Recorder | None = None
        api, mode = context.source.api, context.config.mode
        if api is None or mode is Mode.SHADOW:
            return
        from extender.features.annotations.records import ApiRecords  # noqa: PLC0415

        record = ApiRecords(api.client).record
        if mode is Mode.REPLACE:
            self.hooks = (RecordFirst(self._state, record),)
        else:
            self._recorder = Recorder(self._state, record)

    @staticmethod
    def metrics(make: Collectors) -> GaugeRow:
        return make.gauges(
            "ignored_annotations",
            "Pods with rules in annotations in namespaces where annotations do not count.",
        )

    def tasks(self) -> Iterator[Task]:
        yield "ignored annotations", tell_of_ignored(self._state)
        if self._recorder is not None:
            yield "recorder", self._recorder.run()


async def tell_of_ignored(state: ClusterState, *, pause: float = PAUSE_SECONDS) -> NoReturn:
    """Log once that there are pods whose rules in annotations do not count."""
    told = False
    while True:
        for namespace, pods in islice(state.broken_rules.ignored_in, 0 if told else 1):
            told = True
            _log.warning("%s", _ignored(namespace, pods))
        await asyncio.sleep(pause)


def _ignored(namespace: str, pods: int) -> str:
    return (
        f"{plural(pods, 'pod')} in namespace {namespace} with rules in annotations, which are "
        "ignored there: annotations.namespaceSelector of the configuration does not select it. "
        "This is said once; /domains and the metric affinity_extender_ignored_annotations have the "
        "rest"
    )


PART = Annotated
