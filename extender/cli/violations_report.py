"""Pods that break rules as a table for people, and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from extender.cli.columns import columns
from extender.verbs.evicting import WORDS, breach_in_words
from extender.verbs.violation_survey import Finding
from extender.wire.violations import write_finding

MOST_LINES: Final = 200
"""Pods that the table shows one by one."""


def json_text(found: Sequence[Finding]) -> str:
    """Write all of them."""
    answer = {"pods": [write_finding(each) for each in found], "count": len(found)}
    return msgspec.json.format(msgspec.json.encode(answer)).decode()


def table(found: Sequence[Finding]) -> str:
    """Write a table, and what its outcomes mean."""
    if not found:
        return "no placed pod breaks a required rule"
    rows = [
        (
            each.pod.key,
            each.pod.node or "",
            each.outcome.value,
            "" if each.ground is None else breach_in_words(each.pod, each.ground),
        )
        for each in found[:MOST_LINES]
    ]
    parts = [columns(("POD", "NODE", "OUTCOME", "BROKEN"), rows)]
    if len(found) > MOST_LINES:
        parts.append(f"and {len(found) - MOST_LINES} more; -o json has all")
    numbers = Counter(each.outcome for each in found)
    parts.append(
        columns(
            ("PODS", "OUTCOME", "MEANS"),
            [(str(number), each.value, WORDS[each]) for each, number in numbers.most_common()],
        )
    )
    return "\n\n".join(parts)
