"""simulation/README.md knows the invariants by the names under which they break."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import simulation

SOURCES = sorted(Path(simulation.__file__).parent.rglob("*.py"))
PAGE = Path(simulation.__file__).with_name("README.md")


def broken_names() -> set[str]:
    """Return the first arguments of all BrokenErrors, as far as they are literals."""
    calls = [
        node
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "BrokenError"
    ]
    firsts = [call.args[0] for call in calls]
    return {str(first.value) for first in firsts if isinstance(first, ast.Constant)}


def documented_names() -> set[str]:
    rows = PAGE.read_text().partition("## What is checked")[2].partition("\n## ")[0]
    cells = [row.split("|")[1] for row in rows.splitlines() if row.startswith("| `")]
    return {name for cell in cells for name in re.findall("`([^`]+)`", cell)}


def test_each_invariant_is_documented() -> None:
    names = broken_names()
    assert "counters differ from a recount" in names
    assert names - documented_names() == set()


def test_each_documented_invariant_is_checked() -> None:
    literals = {
        node.value
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert documented_names() - literals == set()
