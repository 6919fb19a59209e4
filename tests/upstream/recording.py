"""The packages of the scheduler's own affinity plugins, with methods that write down each call."""

from __future__ import annotations

import re
from pathlib import Path

from tests.upstream.copying import Suite, with_import

_FOLDER = "pkg/scheduler/framework/plugins"
PACKAGES = ("interpodaffinity", "nodeaffinity")
_RECORDED_POINTS = "PreFilter|AddPod|RemovePod|Filter|PreScore|NormalizeScore"
_METHOD = re.compile(
    rf"^func \((?P<self>\w+) (?P<type>\*\w+)\) (?P<name>{_RECORDED_POINTS})"
    r"\((?P<parameters>[^)]*)\) (?P<results>.+) \{$",
    re.MULTILINE,
)
_NEW = re.compile(r"^func New\((?P<parameters>[^)]*)\) (?P<results>.+) \{$", re.MULTILINE)
_TEST = re.compile(r"^(func Test\w+|.*t\.Run\(.*, func)\(t \*testing\.T\) \{$", re.MULTILINE)


def _record_answers(source: str) -> str:
    """Let a plugin's methods and its New write down what they are asked and what they answer."""
    wrappers = []

    def wrap(found: re.Match[str]) -> str:
        parts = found.groupdict()
        name, own = parts.get("name", "New"), parts.get("self")
        written = [each.split(maxsplit=1) for each in parts["parameters"].split(",")]
        parameters = [
            (f"p{number}" if each[0] == "_" else each[0], each[1])
            for number, each in enumerate(filter(None, written))
        ]
        names = ", ".join(parameter for parameter, _ in parameters)
        signature = ", ".join(map(" ".join, parameters))
        results = ", ".join(f"r{number}" for number in range(parts["results"].count(",") + 1))
        said = f"[]any{{{names}}}, []any{{{results}}}"
        receiver, through, record = (
            (f"({own} {parts['type']}) ", f"{own}.", f'Called("{name}", {own}, {said})')
            if own
            else ("", "", f"Made(Name, {said})")
        )
        wrappers.append(
            f"\nfunc {receiver}{name}({signature}) {parts['results']} {{\n"
            f"\t{results} := {through}upstream{name}({names})\n"
            f"\trecorded.{record}\n\treturn {results}\n}}\n"
        )
        return found.group().replace(f"{name}(", f"upstream{name}(", 1)

    source = _NEW.sub(wrap, _METHOD.sub(wrap, source))
    return with_import(source, "upstream/recorded") + "".join(wrappers)


def _name_cases(tests: str) -> str:
    """Let each test and subtest say its name when it begins."""
    named, found = _TEST.subn(r"\g<0> recorded.In(t.Name())", tests)
    return with_import(named, "upstream/recorded") if found else tests


def _edit(path: str, text: str) -> str:
    return _name_cases(text) if path.endswith("_test.go") else _record_answers(text)


TABLES = Suite(
    "tables",
    [f"{_FOLDER}/{package}" for package in PACKAGES],
    _edit,
    __file__,
    Path(__file__).with_name("recorded"),
)
