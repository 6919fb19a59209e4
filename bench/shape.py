"""How large the program is, and how far its parts are apart: `python -m bench.shape`.

`--names` lists the classes and functions that two of the rows count, and the files that name a
feature outside its folder.
How many files a newcomer opens is what `docs/development/architecture.md` says; how many forms one
computation has, no script can count.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType

import grimp

from bench import features
from bench.tables import table
from tests.answering import Answering
from tests.builders import HOST, Pod, node, pod, selector, state_of, term

ROOT = Path(__file__).parents[1]
PROGRAM = ("extender", "affinityctl")
"""What the server runs, and the commands for people."""
MOST_PARAMETERS = 6


@dataclass(frozen=True)
class Module:
    """A file of the program."""

    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @property
    def lines(self) -> int:
        return len(self.path.read_text(encoding="utf-8").splitlines())

    @property
    def name(self) -> str:
        """The name that it is imported by."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def statements(self) -> Iterator[ast.stmt]:
        """Every statement, at whatever depth."""
        return (each for each in ast.walk(self.tree) if isinstance(each, ast.stmt))

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        return (each for each in self.statements if isinstance(each, ast.ClassDef))


def code_lines(module: Module) -> set[int]:
    """Return the lines with statements, without docstrings and comments."""
    found: set[int] = set()
    for each in module.statements:
        is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if not is_text:
            found |= {each.lineno} if hasattr(each, "body") else _span(each)
    return found


def _span(statement: ast.stmt) -> set[int]:
    return set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def import_lines(module: Module) -> int:
    """Count the lines that imports take."""
    imports = (each for each in module.statements if isinstance(each, ast.Import | ast.ImportFrom))
    return sum(len(_span(each)) for each in imports)


def numeric_constants(module: Module) -> int:
    """Count the numbers that have a name of their own in a module or class."""
    bodies = [module.tree.body, *(each.body for each in module.classes)]
    return len([statement for body in bodies for statement in body if _is_number(statement)])


def _is_number(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        target: ast.expr = statement.target
    elif isinstance(statement, ast.Assign):
        target = statement.targets[0]
    else:
        return False
    named = isinstance(target, ast.Name) and target.id.lstrip("_").isupper()
    value = statement.value or target
    parts = (each for each in ast.walk(value) if isinstance(each, ast.expr))
    return named and all(map(_is_arithmetic, parts))


def _is_arithmetic(expression: ast.expr) -> bool:
    if isinstance(expression, ast.Constant):
        return isinstance(expression.value, int | float) and not isinstance(expression.value, bool)
    return isinstance(expression, ast.BinOp | ast.UnaryOp)


def long_signatures(module: Module) -> list[str]:
    """Return the functions with more than six parameters beside `self`."""
    return [
        f"{module.name}:{each.lineno} {each.name}"
        for each in module.statements
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        and _parameters(each) > MOST_PARAMETERS
    ]


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    args = function.args
    named = [each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    return sum(each not in ("self", "cls") for each in named)


def shared_names(modules: Iterable[Module]) -> list[str]:
    """Return the names of classes that several modules define, with these."""
    found: dict[str, list[str]] = {}
    for module in modules:
        for each in module.classes:
            found.setdefault(each.name, []).append(module.name)
    return sorted(f"{name}: {', '.join(where)}" for name, where in found.items() if where[1:])


def caches(module: Module) -> int:
    """Count the caches that are made with a budget in bytes of their own."""
    calls = (each.func for each in ast.walk(module.tree) if isinstance(each, ast.Call))
    made = (each.value if isinstance(each, ast.Subscript) else each for each in calls)
    return sum(isinstance(each, ast.Name) and each.id in _CACHES for each in made)


_CACHES = {"LruCache", "Pool"}


def step_generators(module: Module) -> int:
    """Count the functions that others run in steps; those of a `with` are none."""
    return sum(
        isinstance(each, ast.FunctionDef)
        and not any("contextmanager" in ast.unparse(one) for one in each.decorator_list)
        and each.returns is not None
        and ast.unparse(each.returns).startswith(_STEPS)
        for each in module.statements
    )


_STEPS = ("Iterator[None]", "Iterator[str | None]", "Generator[None", "_Counting", "Steps")


def circles(graph: grimp.ImportGraph) -> list[set[str]]:
    """Return the groups of modules that import each other."""
    reached = {each: graph.find_upstream_modules(each) | {each} for each in sorted(graph.modules)}
    groups = {
        frozenset(other for other in upstream if each in reached[other])
        for each, upstream in reached.items()
    }
    return sorted((set(group) for group in groups if len(group) > 1), key=sorted)


@dataclass
class Walk:
    """Where a call leads: the files, how often it goes from one to another, and how deep."""

    files: set[str]
    changes: int
    depth: int


def walk_of_a_filter_call() -> Walk:
    """Follow a warm filter call for a pod with anti-affinity, over nine nodes."""
    names = [f"node-{number}" for number in range(9)]
    rule = term(HOST, selector(app="web"))
    placed = [pod(f"web-{number}").labels(app="web").on(names[number]) for number in range(3)]
    state = state_of([node(name, {HOST: name}) for name in names], [], placed)
    incoming: Pod = pod("web-new").labels(app="web").anti_affinity(rule)
    body = json.dumps({"Pod": incoming, "Nodes": None, "NodeNames": names}).encode()
    filters = Answering(state).filters
    walk, stack = Walk(set(), 0, 0), [""]

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        file = frame.f_code.co_filename
        if not file.startswith(str(ROOT / "extender")):
            return
        if event == "call":
            walk.files.add(file)
            walk.changes += stack[-1] not in ("", file)
            stack.append(file)
            walk.depth = max(walk.depth, len(stack) - 1)
        elif event == "return" and len(stack) > 1:
            stack.pop()

    async def ask() -> None:
        for _ in range(3):
            await filters.answer(body)
        sys.setprofile(note)
        try:
            await filters.answer(body)
        finally:
            sys.setprofile(None)

    asyncio.run(ask())
    return walk


def questions() -> dict[str, list[Path]]:
    """Return the twelve questions of a newcomer, each with the files that answer it."""
    map_ = ROOT / "docs/development/architecture.md"
    _, _, text = map_.read_text(encoding="utf-8").partition("## Twelve questions of a newcomer\n")
    rows = re.findall(r"^\| (.*\?) \| (.*) \|$", text.partition("\n## ")[0], re.MULTILINE)
    return {
        question: [(map_.parent / link).resolve() for link in re.findall(r"\]\((.*?)\)", answer)]
        for question, answer in rows
    }


def every_module() -> list[Module]:
    return [Module(path) for package in PROGRAM for path in sorted((ROOT / package).rglob("*.py"))]


def rows() -> list[tuple[str, str]]:
    modules, graph = every_module(), grimp.build_graph(*PROGRAM, cache_dir=None)
    code, imports = sum(len(code_lines(each)) for each in modules), sum(map(import_lines, modules))
    server = [each for each in modules if each.name.startswith("extender")]
    walk = walk_of_a_filter_call()
    return [
        *features.table(),
        (
            "files that answer one of a newcomer's twelve questions: median, worst",
            features.median_and_worst([len(each) for each in questions().values()]),
        ),
        ("caches with a budget of their own", f"{sum(map(caches, server))}"),
        ("step generators", f"{sum(map(step_generators, server))}"),
        ("files", f"{len(modules)}"),
        ("lines of imports to a line of code", f"{imports / code:.2f}"),
        ("a warm filter call: files", f"{len(walk.files)}"),
        ("a warm filter call: changes of file", f"{walk.changes}"),
        ("a warm filter call: depth", f"{walk.depth}"),
        ("class names that are there twice", f"{len(shared_names(modules))}"),
        ("numeric constants", f"{sum(map(numeric_constants, modules))}"),
        (
            "functions with more than six parameters",
            f"{sum(len(long_signatures(each)) for each in modules)}",
        ),
        ("circles of imports", f"{len(circles(graph))}"),
    ]


def main() -> None:
    print(table(("", ""), rows()))
    print(table(features.COLUMNS, features.by_feature()))
    print(table(features.OF_COMMANDS, list(features.by_command())))
    if "--names" in sys.argv[1:]:
        modules = every_module()
        long = (each for module in modules for each in long_signatures(module))
        print("", *shared_names(modules), *long, sep="\n")
        for each in features.features():
            print("", each.name, *features.shown(each.named_in(features.PROGRAM)), sep="\n  ")


if __name__ == "__main__":
    main()
