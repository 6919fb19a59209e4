"""A request to change a pod's nomination, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from extender.errors import ApiError, ExtenderError
from extender.model.objects import Pod
from extender.ports import Nominator

FIRST_UNCLEAR_STATUS = 500
"""An API server that has trouble of its own may have done it, or do it yet."""


class Patched(Enum):
    """What became of a request to change the field."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    """The field was not, or the pod is not any more, what it was taken for."""
    REFUSED = "refused"
    """Certainly not done: the field is as it was."""
    UNCLEAR = "unclear"
    """Perhaps it was done, perhaps not; it may be done yet."""


async def patch_nomination(
    nominator: Nominator,
    pod: Pod,
    before: str | None,
    node: str | None,
    complain: Callable[[ExtenderError], None],
) -> Patched:
    """Change the field from `before`; `complain` hears of what was neither done nor overtaken."""
    try:
        done = await nominator.nominate(pod, before, node)
    except ExtenderError as error:
        complain(error)
        clear = isinstance(error, ApiError) and error.status < FIRST_UNCLEAR_STATUS
        return Patched.REFUSED if clear else Patched.UNCLEAR
    return Patched.DONE if done else Patched.OVERTAKEN
