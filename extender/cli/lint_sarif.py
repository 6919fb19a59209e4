"""Findings as SARIF 2.1.0, which code scanning in CI reads."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Final

import msgspec

from extender import __version__
from extender.lint.finding import AnyRule, Finding, Report
from extender.lint.lines import line_of
from extender.lint.rulebook import BY_ID

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_INDEX: Final = {id_: index for index, id_ in enumerate(BY_ID)}


def sarif_text(report: Report) -> str:
    """Write one run with all rules and findings."""
    driver = {
        "name": "affinity-extender",
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in BY_ID.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each) for each in report.findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log)).decode()


def _rule(rule: AnyRule) -> dict[str, Any]:
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
