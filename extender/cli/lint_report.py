"""Findings as text for people, and as JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from textwrap import fill

import msgspec

from extender.lint.finding import AnyRule, Finding, Level, Report
from extender.lint.lines import line_of

WIDTH = 80
MOST_PLACES = 20
"""Places that the text names for one rule."""


def json_text(report: Report) -> str:
    """Write all findings."""
    counts = Counter(each.rule.level for each in report.findings)
    answer = {
        "findings": [
            {
                "rule": each.rule.id,
                "level": each.rule.level,
                "file": each.place.file,
                "line": line_of(each),
                "object": each.place.object,
                "path": each.path,
                "message": each.message,
                "what": each.rule.what,
                "why": each.rule.why,
                "fix": each.rule.fix,
            }
            for each in report.findings
        ],
        "summary": {
            "objects": report.objects,
            "errors": counts[Level.ERROR],
            "warnings": counts[Level.WARNING],
            "ignored": report.silenced,
        },
    }
    return msgspec.json.format(msgspec.json.encode(answer)).decode()


def text(report: Report) -> str:
    """Write the findings by rule, errors first; why and fix are said once for each rule."""
    by_rule: dict[str, list[Finding]] = {}
    for each in report.findings:
        by_rule.setdefault(each.rule.id, []).append(each)
    worst_first = sorted(by_rule.values(), key=lambda found: found[0].rule.level is Level.WARNING)
    parts = [_rule(found[0].rule, found) for found in worst_first]
    return "\n\n".join([*parts, _summary(report)])


def _rule(rule: AnyRule, found: list[Finding]) -> str:
    title = f"{rule.level.upper()} {rule.id}"
    lines = [title, _wrapped(rule.what, "  ", "  "), *_places(found)]
    lines.append(_wrapped(rule.why, "  why: ", "       "))
    lines.append(_wrapped(rule.fix, "  fix: ", "       "))
    return "\n".join(lines)


def _places(found: list[Finding]) -> Iterator[str]:
    object_before = None
    for each in found[:MOST_PLACES]:
        if each.place != object_before:
            where = f"{each.place.file}: " if each.place.file else ""
            yield f"  - {where}{each.place.object}"
            object_before = each.place
        yield from _path(each.path)
        yield _wrapped(each.message, "      ", "      ")
    if len(found) > MOST_PLACES:
        yield f"  and {len(found) - MOST_PLACES} more; -o json has all"


def _path(path: str) -> Iterator[str]:
    """Write a path in as many lines as it takes, broken at its dots."""
    line = "    "
    for part in _dotted(path):
        if len(line) + len(part) > WIDTH and line.strip():
            yield line
            line = "      "
        line += part
    yield line


def _dotted(path: str) -> Iterable[str]:
    parts = path.split(".")
    return [parts[0], *(f".{part}" for part in parts[1:])]


def _wrapped(said: str, first: str, rest: str) -> str:
    return fill(
        said,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(report: Report) -> str:
    counts = Counter(each.rule.level for each in report.findings)
    found = ", ".join(_number(counts[level], level) for level in Level if counts[level])
    ignored = f"; {report.silenced} ignored" if report.silenced else ""
    return f"{found or 'nothing found'} in {_number(report.objects, 'object')}{ignored}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
