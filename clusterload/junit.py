"""The junit.xml of a run, with the names that clusterloader2 gives to suites and cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

SUITE = "ClusterLoaderV2"
FILE_NAME = "junit.xml"


@dataclass(frozen=True, slots=True)
class Case:
    """A test, or a step of one, or a measurement of a step."""

    name: str
    seconds: float
    errors: Sequence[str] = ()


def write(folder: Path, cases: Sequence[Case], seconds: float) -> None:
    """Write the file."""
    suite = ET.Element(
        "testsuite",
        name=SUITE,
        # clusterloader2 always says 0 here; readers count the cases.
        tests=str(len(cases)),
        failures=str(sum(bool(case.errors) for case in cases)),
        errors="0",
        time=f"{math.trunc(seconds * 1000) / 1000:g}",
    )
    for case in cases:
        element = ET.SubElement(
            suite, "testcase", name=case.name, classname=SUITE, time=f"{case.seconds:.9g}"
        )
        if case.errors:
            failure = ET.SubElement(element, "failure", type="Failure")
            failure.text = _printable("\n".join(case.errors))
    ET.indent(suite, "    ")
    text = ET.tostring(suite, encoding="unicode")
    (folder / FILE_NAME).write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', encoding="utf-8"
    )


def _printable(text: str) -> str:
    # XML has no way to spell other control characters, and servers send what they like.
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for each in text
    )
