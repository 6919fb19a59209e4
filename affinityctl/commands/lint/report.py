"""Findings as text for people, as JSON for programs, and as SARIF 2.1.0 for code scanning in CI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, Final

from affinityctl.commands.lint.answer import Linted
from affinityctl.commands.lint.finding import AnyRule, Finding, Level, Place, Report
from affinityctl.commands.lint.lines import line_of
from affinityctl.commands.lint.rulebook import BY_ID
from affinityctl.reading.sources import not_judged
from affinityctl.terminal.printing import INDENT, Named, as_json, named_lines, width, wrapped
from extender import __version__
from extender.core.errors import printable
from extender.core.model.wording import plural
from extender.core.offline import listed

MOST_OWNERS = 20
"""Objects, with what they own, that the text names."""
MOST_PLACES = 4
"""Places in them that it names for one rule."""

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_INDEX: Final = {id_: index for index, id_ in enumerate(BY_ID)}


def told(report: Report) -> Linted:
    counts = Counter(each.rule.level for each in report.findings)
    return {
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
                "patch": each.patch,
            }
            for each in report.findings
        ],
        "summary": {
            "objects": report.objects,
            "errors": counts[Level.ERROR],
            "warnings": counts[Level.WARNING],
            "notes": counts[Level.NOTE],
            "ignored": report.silenced,
            "skipped": dict(report.skipped),
            "notJudged": report.not_judged,
            "unknown": report.unknown,
        },
    }


def text(report: Report) -> str:
    """Write the findings by whose they are, the worst first; why and fix once for each rule."""
    by_owner: dict[tuple[str, str], list[Finding]] = {}
    for each in report.findings:
        owner = each.place.file, each.place.owner or each.place.object
        by_owner.setdefault(owner, []).append(each)
    blocks = sorted(by_owner.values(), key=lambda found: min(map(_rank, found)))
    shown = blocks[:MOST_OWNERS]
    parts = [_block(found) for found in shown]
    if blocks[MOST_OWNERS:]:
        more = plural(len(blocks) - MOST_OWNERS, "more object")
        parts.append(f"and {more}; -o json has all")
    rules = dict.fromkeys(each.rule for found in shown for each in sorted(found, key=_rank))
    return "\n\n".join([*parts, *map(_rule, rules), _summary(report)])


def named(places: Iterable[Place]) -> str:
    """Name objects, or what made them, as kubectl does; those without a name by their file."""
    return named_lines(map(_named, places))


def _named(place: Place) -> Named:
    kind, _, name = (place.owner or place.object).partition(" ")
    namespace, _, of = name.rpartition("/")
    return Named(kind.lower(), namespace, of or place.file)


def _rank(found: Finding) -> int:
    return list(Level).index(found.rule.level)


def _block(found: list[Finding]) -> str:
    place = found[0].place
    objects = len({each.place for each in found})
    lines = [place.object]
    if place.owner:
        more = f" and {objects - 1} more" if objects > 1 else ""
        lines = [f"{place.owner} ({place.object}{more})"]
    if place.file:
        lines[0] = f"{place.file}: {lines[0]}"
    lines[0] = printable(lines[0])
    by_rule: dict[AnyRule, dict[tuple[str, str], None]] = {}
    for each in sorted(found, key=_rank):
        by_rule.setdefault(each.rule, {})[each.path, each.message] = None
    for rule, places in by_rule.items():
        lines.append(f"  {rule.level.upper()} {rule.id}")
        for path, message in list(places)[:MOST_PLACES]:
            lines += (*_path(path), wrapped(message, " " * 6, 0))
        if len(places) > MOST_PLACES:
            more = plural(len(places) - MOST_PLACES, "more place")
            lines.append(f"    and {more}; -o json has all")
    return "\n".join(lines)


def _rule(rule: AnyRule) -> str:
    why, fix = (wrapped(each, INDENT, 5) for each in (f"why: {rule.why}", f"fix: {rule.fix}"))
    return "\n".join((wrapped(f"{rule.id}: {rule.what}"), why, fix))


def _path(path: str) -> Iterator[str]:
    """Write a path in as many lines as it takes, broken at its dots."""
    line = "    "
    first, *others = printable(path).split(".")
    for part in (first, *(f".{each}" for each in others)):
        if len(line) + len(part) > width() and line.strip():
            yield line
            line = "      "
        line += part
    yield line


def _summary(report: Report) -> str:
    counts = Counter(each.rule.level for each in report.findings)
    found = ", ".join(plural(counts[level], level) for level in Level if counts[level])
    ignored = f"; {report.silenced} ignored" if report.silenced else ""
    lines = [f"{found or 'nothing found'} in {plural(report.objects, 'object')}{ignored}"]
    if report.not_judged:
        lines = [] if not report.objects else lines
        lines.append(wrapped(printable(not_judged(report.not_judged))))
    if report.skipped:
        lines.append(wrapped(f"skipped: {listed(report.skipped)}"))
    if report.unknown:
        lines.append(wrapped(f"not known, so not judged: {', '.join(report.unknown)}"))
    return "\n".join(lines)


def sarif_text(report: Report) -> str:
    driver = {
        "name": "affinity-extender",
        "semanticVersion": __version__,
        "rules": [_described(rule) for rule in BY_ID.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each) for each in report.findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return as_json(log)


def _described(rule: AnyRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": f"{rule.what} {rule.why}"},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": rule.level.value},
    }


def _result(found: Finding) -> dict[str, Any]:
    rule, place = found.rule, found.place
    return {
        "ruleId": rule.id,
        "ruleIndex": _INDEX[rule.id],
        "level": rule.level.value,
        "message": {"text": f"{place.object}: {found.path}: {found.message}. {rule.what}"},
        "locations": [_location(found)],
        # The same finding in the next run, even if lines above it have changed.
        "partialFingerprints": {"place/v1": f"{rule.id}:{place.object}:{found.path}"},
    }


def _location(found: Finding) -> dict[str, Any]:
    logical = {"fullyQualifiedName": f"{found.place.object}: {found.path}", "kind": "object"}
    location: dict[str, Any] = {"logicalLocations": [logical]}
    if found.place.file:
        uri = PurePath(found.place.file)
        artifact = uri.as_uri() if uri.is_absolute() else uri.as_posix()
        physical: dict[str, Any] = {"artifactLocation": {"uri": artifact}}
        if (line := line_of(found)) is not None:
            physical["region"] = {"startLine": line}
        location["physicalLocation"] = physical
    return location
