"""Writes docs/reference/ from what the program itself goes by: schema, parsers, rules and metrics.

`make reference` runs it; a test fails when the files are no longer what it would write.
"""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from inspect import getsource
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from affinityctl.cli import affinity_extender, kubectl_affinity
from affinityctl.commands import COMMANDS
from affinityctl.commands.lint.rulebook import CHAPTERS
from clusterload.cli import clusterload
from extender.core.command_line import Parser
from extender.core.config import connections, rules, schema
from extender.core.config.faults import describe, unwrap
from extender.core.config.features import defaults, features
from extender.core.config.options import Option, all_options
from extender.core.enabled import of_features
from extender.core.metrics import Family, Metrics
from extender.core.parts import part_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

_MADE: Final = "<!-- Written by `make reference`; change the source that it names instead. -->\n\n"

_CONFIGURATION: Final = (
    "# Configuration reference\n\n" + _MADE + "Every field of an `AffinityExtenderConfiguration`, "
    "the file that `serve --config` reads, with its type, its default, and its flag if it "
    "has one. Flags win over the file, the file over the defaults; `serve --write-config-to -` "
    "prints what they add up to. "
    "With any mistake the program does not start; `serve --validate-only` reports all of them.\n"
)
_COMMAND_LINE: Final = (
    "# Command-line reference\n\n" + _MADE + "Which commands there are, and which flags they have. "
    "`--help` after a command tells what each flag does and which values it takes, with examples. "
    "Flags of `serve` that set a field are explained in [configuration.md](configuration.md).\n\n"
    "Every command ends with exit status 0 when all is fine, 1 when something is not, 2 for wrong "
    "usage or broken input, 3 when the cluster or a file cannot be read, and 4 when it cannot be "
    "known.\n\n"
    "`-o json` prints what the JSON schemas in [schemas/](schemas) say, and `-o yaml` the same.\n"
)
_FEATURES: Final = (
    "# Optional features\n\n"
    + _MADE
    + "What each feature is for is on its page; [promises.md](../promises.md#maturity) says what a "
    "maturity means, and how to leave a feature out of the image.\n\n"
    "| feature | maturity | by default | fields |\n| --- | --- | --- | --- |\n"
)
_LINT_RULES: Final = (
    "# Rules of `lint`\n\n"
    + _MADE
    + "Every rule of [`affinity-extender lint`](../lint.md), by what it looks at: how bad it is, "
    "what is wrong, and what to do. `lint` also says why it hurts. The ids are stable.\n"
)
_METRICS: Final = (
    "# Metrics reference\n\n"
    + _MADE
    + "Every metric at `/metrics` on the operations port; [monitoring.md](../monitoring.md) shows "
    "what to look at. No label holds the name of a pod, node or namespace. Where the values of a "
    "label are listed, their series are there from the start, at 0. Besides these there are "
    "`process_*` and `python_*`, and at `/metrics/slis` the `kubernetes_healthcheck` and "
    "`kubernetes_healthchecks_total` of Kubernetes components.\n"
)


def configuration() -> str:
    options = {option.path: option for option in all_options() if option.path}
    said: dict[tuple[str, str], str] = {}
    of_features = (each.module("section") for each in features())
    for module in (schema, connections, rules, *of_features):
        said |= _said_of_fields(getsource(module))
    maturity = {name: each.maturity for each in features() for name in each.fields}
    config = defaults()
    parts = [_CONFIGURATION, "\n## Top level\n"]
    blocks: list[str] = []
    for field in _fields(type(config)):
        block, name = _block(field.type), field.encode_name
        if block is not None:
            blocks.append(f"\n## `{name}`\n\n{_prose(block.__doc__ or '')}\n")
            if name in maturity:
                blocks.append(f"\nMaturity: [{maturity[name]}](../promises.md#maturity).\n")
            if name in options:
                blocks.append(f"\n- `{options[name].spelled}`\n")
            each = "[]" if isinstance(field.type, inspect.VarTupleType) else ""
            for inner in _fields(block):
                path = f"{name}{each}.{inner.encode_name}"
                text = said[block.__name__, inner.name]
                blocks.append(_entry(path, inner, text, options.get(path)))
        else:
            text = said["Config", field.name]
            parts.append(_entry(name, field, text, options.get(name)))
    return "".join((*parts, *blocks))


def command_line() -> str:
    names = ", ".join(f"`{name}`" for name in kubectl_affinity().commands())
    return (
        _COMMAND_LINE
        + _of_program(affinity_extender())
        + f"\n## kubectl affinity\n\nThe same program, with {names}.\n"
        + _of_program(clusterload())
        + "\n[loadtest/README.md](../../loadtest/README.md) shows how to use it.\n"
    )


def all_features() -> str:
    return _FEATURES + "".join(
        f"| [{each.component}](../{each.component}.md) | {each.maturity} "
        f"| {'on' if each.enabled(defaults()) else 'off'} "
        f"| {', '.join(f'[`{name}`](configuration.md#{name.lower()})' for name in each.fields)} |\n"
        for each in features()
    )


def lint_rules() -> str:
    parts = [_LINT_RULES]
    for chapter in CHAPTERS:
        parts.append(f"\n## {chapter.title}\n\n{chapter.about}\n")
        parts += (
            f"\n### {rule.id}\n\n{rule.level.value.capitalize()}. {rule.what}\n\n{rule.fix}\n"
            for rule in chapter.rules
        )
    return "".join(parts)


def _of_program(program: Parser) -> str:
    """Write what each command of a program does, its flags and its own exit statuses."""
    shorts = _shorts(program)
    rows = [f"\n## {program.prog}\n\n| command | flags | exit status |\n| --- | --- | --- |\n"]
    for name, command in program.commands().items():
        flags = ", ".join(f"`{flag}`" for flag in _flags(command))
        own = re.findall(r"^  ([14])  (.*)$", command.epilog or "", re.MULTILINE)
        statuses = ". ".join(f"{status}: {text}" for status, text in own)
        rows.append(f"| `{name}`: {shorts[name]} | {flags} | {statuses} |\n")
    return "".join(rows)


def _shorts(program: Parser) -> dict[str, str]:
    (commands,) = (each for each in program._actions if each.dest == "command")  # noqa: SLF001
    choices: list[argparse.Action] = commands._choices_actions  # type: ignore[attr-defined] # noqa: SLF001
    return {each.dest: each.help or "" for each in choices}


def _flags(command: Parser) -> Iterator[str]:
    for _, actions in command.groups():
        for action in actions:
            yield from (flag for flag in action.option_strings if flag not in {"-h", "--help"})


def main() -> None:
    """Write all files into the folder that is named."""
    folder = Path(sys.argv[1])
    (folder / "schemas").mkdir(parents=True, exist_ok=True)
    for file in (folder / "schemas").iterdir():
        file.unlink()  # of a command that is no more
    for name, text in (pages() | schemas()).items():
        (folder / name).write_text(text, encoding="utf-8")


def schemas() -> dict[str, str]:
    """Write the JSON schema of what each command prints with -o json, from its types."""
    modules = {name: f"affinityctl.commands.{name}.answer" for name in COMMANDS}
    found = {name: import_module(of).ANSWERS for name, of in modules.items() if find_spec(of)}
    return {f"schemas/{name}.json": _schema(name, answers) for name, answers in found.items()}


def _schema(command: str, answers: Sequence[Any]) -> str:
    any_of, parts = msgspec.json.schema_components(answers, ref_template="#/$defs/{name}")
    for part in parts.values():
        if "properties" in part:
            part["additionalProperties"] = False
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"affinity-extender {command} -o json",
        **(any_of[0] if len(any_of) == 1 else {"anyOf": any_of}),
        "$defs": parts,
    }
    return msgspec.json.format(msgspec.json.encode(whole)).decode() + "\n"


def pages() -> dict[str, str]:
    return {
        "configuration.md": configuration(),
        "command-line.md": command_line(),
        "features.md": all_features(),
        "lint-rules.md": lint_rules(),
        "metrics.md": metrics(),
    }


def _block(kind: inspect.Type) -> type[Struct] | None:
    """Return the block that a field has, or a list of which it has."""
    inner = kind.item_type if isinstance(kind, inspect.VarTupleType) else kind
    return inner.cls if isinstance(inner, inspect.StructType) else None


def _fields(kind: type[Struct]) -> tuple[inspect.Field, ...]:
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)  # noqa: S101 - for the type checker
    return found.fields


def _said_of_fields(source: str) -> dict[tuple[str, str], str]:
    """Return the text below each field of each class, which Python itself does not keep."""
    said = {}
    for block in ast.parse(source).body:
        if isinstance(block, ast.ClassDef):
            for field, text in zip(block.body, block.body[1:], strict=False):
                match field, text:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(found))),
                    ):
                        said[block.name, name] = found
    return said


def _entry(path: str, field: inspect.Field, text: str, option: Option | None) -> str:
    also = "" if option is None else f"; `{option.spelled}`"
    return f"\n### `{path}`\n\n{_prose(text)}\n\n- {_type(field.type)}; {_default(field)}{also}\n"


def _type(kind: inspect.Type) -> str:
    inner = unwrap(kind)
    if isinstance(inner, inspect.VarTupleType):
        return f"list; each {_type(inner.item_type)}"
    text = re.sub("^(a|the name of a) ", "", describe(inner))
    return text.replace("whole number in", "integer").replace(" in ", " ")


def _default(field: inspect.Field) -> str:
    if field.required:
        return "required"
    value: Any = field.default if field.default is not NODEFAULT else field.default_factory()
    match value:
        case None:
            return "default unset"
        case bool():
            return f"default `{str(value).lower()}`"
        case tuple():
            return f"default `[{', '.join(map(str, value))}]`"
        case Struct():
            return "default `{}`"
        case _:
            return f"default `{value}`"


def _prose(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip())


def metrics() -> str:
    """Write the page about metrics, from the collectors that the program makes."""
    all_metrics = Metrics()
    for each in features():
        part_of(each).metrics(all_metrics.make)
    for plugin in of_features(defaults(), features()).values():
        for reason in plugin.reasons:
            all_metrics.nodes_filtered.begin((reason.value,))
    values = all_metrics.values()
    entries = "".join(
        "".join(_family(family, values))
        for family in sorted(all_metrics.families, key=lambda family: family.name)
    )
    return _METRICS + entries


def _family(family: Family, values: Mapping[tuple[str, str], set[str]]) -> Iterator[str]:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    by = f" by {labels}" if labels else ""
    yield f"\n## `{family.name}`\n\n{family.text}\n\n- {family.kind.capitalize()}{by}\n"
    for label in family.labels:
        if known := sorted(values.get((family.name, label), ())):
            yield f"- `{label}`: {', '.join(f'`{value}`' for value in known)}\n"
    if family.buckets:
        first, *_, last = family.buckets
        yield f"- {len(family.buckets)} buckets, {_time(first)} to {_time(last)}\n"


def _time(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


if __name__ == "__main__":
    main()
