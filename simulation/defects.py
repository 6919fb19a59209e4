"""What the program itself calls a defect, while it is simulated."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping
from typing import Any


class Defects(logging.Handler):
    """Keeps what the program itself calls a defect."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.defects: list[str] = []

    def take(self, _: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        """Keep what broke in a task or a callback that nobody waits for."""
        failure = context.get("exception")
        told = "" if failure is None else "".join(traceback.format_exception(failure))
        self.defects.append(f"{context['message']} {told[-2_000:]}")

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it, unless it tells of the cluster rather than of the program."""
        if record.exc_info is not None or "differ" in record.getMessage():
            self.defects.append(logging.Formatter().format(record)[-2_000:])
