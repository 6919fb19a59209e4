"""What the conditions in a pod's status say of its end."""

from __future__ import annotations

import msgspec

from extender.wire.decoding import decode

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


class _Condition(msgspec.Struct):
    """v1.PodCondition."""

    type: str = ""
    status: str = ""
    reason: str | None = None


_CONDITIONS: msgspec.json.Decoder[list[_Condition] | None] = msgspec.json.Decoder(
    list[_Condition] | None
)


def is_preempted(conditions: msgspec.Raw) -> bool:
    """Return whether a pod goes for a more important one's sake, whoever preempts.

    As in kube-scheduler's PodTerminatingByPreemption: the first condition of the type counts.
    """
    for each in decode(_CONDITIONS, conditions, "status.conditions") or ():
        if each.type == DISRUPTION_TARGET:
            return each.status == "True" and each.reason == PREEMPTION_BY_SCHEDULER
    return False
