"""Runs the tests against mutants of the pure core, and of the rules and ledgers of features.

mutmut makes the mutants and runs them, in a copy of the project, `mutants/`. `[tool.mutmut]` in
pyproject.toml says what is mutated, and which tests may find it. Each mutant meets the tests that
reach its function, until one fails. What was found is kept until that function changes, so a run
that was stopped goes on; a sample is asked anew.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from unittest.mock import patch

import libcst as cst
from mutmut import __main__ as mutmut
from mutmut.mutation import file_mutation
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.workers import isolation
from mutmut.workers.timeout import register_timeout

from bench.machine import revision
from bench.tables import table

MOST_MEMORY = 6 << 30
"""Bytes of address space of a process: some mutants never stop collecting."""
PATIENCE = 10
"""How many times as long a mutant may wait as it may compute: the machine may be busy."""
REPORT = Path("mutants/report.md")
Mutant = tuple[SourceFileMutationData, str, int | None]


def is_property(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.FunctionDef) or len(node.decorators) != 1:
        return False
    name = node.decorators[0].decorator
    return isinstance(name, cst.Name) and name.value in {"property", "cached_property"}


class WithProperties(file_mutation.MutationVisitor):
    """Mutates properties too; mutmut itself leaves out all that is decorated."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        return not is_property(node) and super()._skip_node_and_children(node)


arrange = file_mutation.function_trampoline_arrangement


def arrange_properties(
    function: cst.FunctionDef, mutants: Iterable[file_mutation.Mutation], class_name: str | None
) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[str]]:
    """Make what chooses between a property and its mutants the property, and these functions."""
    if not is_property(function):
        return arrange(function, mutants, class_name)
    plain = function.with_changes(decorators=())
    declared, methods, assigned, names = arrange(plain, mutants, class_name)
    chooser: Any = methods[0]
    chooser = chooser.with_changes(decorators=(*function.decorators, *chooser.decorators))
    return declared, (chooser, *methods[1:]), assigned, names


class NearestFirst(PytestRunner):
    """Runs tests of the mutant's own folder before others, and quick ones before slow ones."""

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        folder = f"/{mutant_name.split('.')[2]}/" if mutant_name else "/"
        seconds = state().duration_by_test
        ordered = sorted(tests, key=lambda test: (folder not in test, seconds[test], test))
        return super().run_tests(mutant_name=mutant_name, tests=ordered)


class OnceClean(isolation.ForkServerRunner):
    """Runs the tests without mutants once: to learn what they reach is enough."""

    _passed = False

    def collect_stats(self, tests: Iterable[str] | None) -> int:
        self._passed = not tests
        return super().collect_stats(tests)

    def run_clean_tests(self, tests: Iterable[str]) -> int:
        return 0 if self._passed else super().run_clean_tests(tests)


def report(mutants: Sequence[Mutant], asked: str) -> str:
    """Return a table by module, and what differs in each mutant that no test found."""
    ends: defaultdict[str, Counter[str]] = defaultdict(Counter)
    alive = []
    for data, name, _ in mutants:
        end = status_by_exit_code[data.exit_code_by_key[name]]
        for row in (str(data.path), "all"):
            ends[row][end] += 1
        if end not in {"killed", "not checked"}:
            diff = get_diff_for_mutant(name, path=data.path)
            alive.append(f"\n## {end}: `{name}`\n\n```diff\n{diff}\n```")
    kinds = sorted(ends["all"])
    rows = [[path, *(str(ends[path][kind]) for kind in kinds)] for path in ends]
    rows.sort(key=lambda row: (row[0] == "all", row[0]))
    return "\n".join(["# Mutants", "", asked, "", table(["module", *kinds], rows), *alive, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.mutants", description=__doc__)
    parser.add_argument("--only", default="*", help="as 'extender.core.verbs.*'")
    parser.add_argument("--sample", type=int, help="how many of them, chosen at random")
    parser.add_argument("--seed", default=time.strftime("%F"), help="of the sample (today's date)")
    parser.add_argument("--workers", default="1", help="mutants at a time (1)")
    options = parser.parse_args()
    chosen: list[Mutant] = []
    collect = mutmut.collect_source_file_mutation_data

    def choose(*, mutant_names: Any) -> tuple[list[Mutant], dict[str, SourceFileMutationData]]:
        every, by_path = collect(mutant_names=mutant_names)
        every.sort(key=lambda each: each[1])
        chosen[:] = (each for each in every if fnmatch(each[1], options.only))
        if options.sample:
            drawn = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
            chosen[:] = [(data, name, None) for data, name, _ in drawn]
        return chosen, by_path

    def in_time(pid: int, timeout_s: float) -> None:
        register_timeout(pid, timeout_s * PATIENCE)

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    started, of = time.monotonic(), revision()
    with (
        patch.object(mutmut, "collect_source_file_mutation_data", choose),
        patch.object(file_mutation, "MutationVisitor", WithProperties),
        patch.object(file_mutation, "function_trampoline_arrangement", arrange_properties),
        patch.object(isolation, "PytestRunner", NearestFirst),
        patch.object(isolation, "ForkServerRunner", OnceClean),
        patch.object(isolation, "register_timeout", in_time),
    ):
        mutmut.run(["--max-children", options.workers], standalone_mode=False)
    minutes = (time.monotonic() - started) / 60
    asked = f"{len(chosen)} mutants of revision {of}, seed {options.seed}: {minutes:.0f} min"
    REPORT.write_text(report(chosen, asked), encoding="utf-8")
    print(f"{REPORT} has them by module, and those that no test found")


if __name__ == "__main__":
    main()
