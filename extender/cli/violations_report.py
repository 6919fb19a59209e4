"""Pods that break rules as a table for people, and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from extender.cli.columns import columns
from extender.model.objects import Pod
from extender.verbs.evicting import breach_in_words
from extender.verbs.violation_survey import Finding
from extender.wire.annotations import broken_annotation
from extender.wire.violations import write_broken_annotation, write_finding

MOST_LINES: Final = 200
"""Pods that the table shows one by one."""


def json_text(found: Sequence[Finding], broken: Sequence[Pod]) -> str:
    """Write all of them, and the pods whose annotation cannot be read."""
    answer = {
        "pods": [write_finding(each) for each in found],
        "count": len(found),
        "brokenAnnotations": [write_broken_annotation(each) for each in broken],
    }
    return msgspec.json.format(msgspec.json.encode(answer)).decode()


def table(found: Sequence[Finding], broken: Sequence[Pod]) -> str:
    """Write a table, what its outcomes mean, and whose annotation cannot be read."""
    if found:
        parts = _found(found)
    else:
        that = " that can be read" if broken else ""
        parts = [f"no placed pod breaks a required rule{that}"]
    if broken:
        rows = [
            (each.key, each.node or "", str(broken_annotation(each)))
            for each in broken[:MOST_LINES]
        ]
        parts.append(columns(("POD", "NODE", "RULES THAT CANNOT BE READ"), rows))
        parts += _more(broken)
    return "\n\n".join(parts)


def _found(found: Sequence[Finding]) -> list[str]:
    rows = [
        (
            each.pod.key,
            each.pod.node or "",
            each.outcome.value,
            "" if each.cause is None else breach_in_words(each.pod, each.cause),
        )
        for each in found[:MOST_LINES]
    ]
    parts = [columns(("POD", "NODE", "OUTCOME", "BROKEN"), rows)]
    parts += _more(found)
    numbers = Counter(each.outcome for each in found)
    parts.append(
        columns(
            ("PODS", "OUTCOME", "MEANS"),
            [(str(number), each.value, each.words) for each, number in numbers.most_common()],
        )
    )
    return parts


def _more(listed: Sequence[object]) -> list[str]:
    more = len(listed) - MOST_LINES
    return [f"and {more} more; -o json has all"] if more > 0 else []
