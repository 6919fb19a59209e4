"""What the conditions in a pod's status say: of its end, and of the rules that it was placed by."""

from __future__ import annotations

import msgspec

from extender.wire.decoding import decode

DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
RULES_AT_PLACEMENT = "affinity-extender.io/RulesAtPlacement"
"""The type of our own condition: its message is the digest of the rules in annotations that the pod
was placed by. Whoever may edit a pod may not edit its status."""
_NAME = DISRUPTION_TARGET.encode()
_RECORD = RULES_AT_PLACEMENT.encode()


class _Condition(msgspec.Struct, gc=False):
    """v1.PodCondition."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


_CONDITIONS: msgspec.json.Decoder[list[_Condition] | None] = msgspec.json.Decoder(
    list[_Condition] | None
)


def recorded_rules(conditions: bytes) -> str:
    """Return the digest of the rules that a pod was placed by; "" where none is on record."""
    if _RECORD not in conditions:
        return ""
    for each in decode(_CONDITIONS, conditions, "status.conditions") or ():
        if each.type == RULES_AT_PLACEMENT:
            return each.message or "" if each.status == "True" else ""
    return ""


def preemption_message(conditions: bytes) -> str | None:
    """Return what marks a pod that is to go for a more important one's sake; None without that.

    Whoever preempts. As in kube-scheduler's PodTerminatingByPreemption: the first condition of the
    type counts.
    """
    if _NAME not in conditions:
        return None
    for each in decode(_CONDITIONS, conditions, "status.conditions") or ():
        if each.type == DISRUPTION_TARGET:
            marked = each.status == "True" and each.reason == PREEMPTION_BY_SCHEDULER
            return each.message or "" if marked else None
    return None
