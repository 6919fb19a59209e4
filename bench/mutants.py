"""Runs the tests against mutants of the pure core, and of the rules and ledgers of features.

mutmut makes the mutants and runs them, in a copy of the project, `mutants/`. `[tool.mutmut]` in
pyproject.toml says what is mutated, and which tests may find it. Each mutant meets the tests that
reach its function, until one fails, and passes at once without the mutant. What was found is kept
until that function changes, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack, redirect_stdout
from fnmatch import fnmatch
from functools import wraps
from itertools import accumulate, chain, zip_longest
from math import inf
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import libcst as cst
import pytest
from mutmut import __main__ as mutmut
from mutmut.mutation import file_mutation, trampoline
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.stats import save_stats, status_by_exit_code
from mutmut.utils.file_utils import change_cwd
from mutmut.utils.format_utils import mangled_name_from_mutant_name
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


def choosing(mutants: dict[str, Any], is_classmethod: bool = False) -> Any:  # noqa: FBT001, FBT002
    """Call the function or its active mutant; mutmut's own choice takes ten times as long."""

    def decorate(function: Any) -> Any:
        known: dict[str | None, Any] = {}
        name = ""

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal name
            if not known:
                known.update((f"{function.__module__}.{each}", of) for each, of in mutants.items())
                original = mutants["_mutmut_orig"].__name__
                name = f"{function.__module__}.{mangled_name_from_mutant_name(original)}"
            active = trampoline._mutant_under_test  # noqa: SLF001 - mutmut looks here at last
            if active == "stats":
                state()._stats.add(name)  # noqa: SLF001
            chosen = known.get(active) or mutants["_mutmut_orig"]
            if is_classmethod:
                return getattr(args[0], chosen.__name__)(*args[1:], **kwargs)
            return chosen(*args, **kwargs)

        return call

    return decorate


class Only:
    """Deselects all other tests."""

    def __init__(self, tests: Iterable[str]) -> None:
        self._tests = frozenset(tests)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._tests]


class Collected(PytestRunner):
    """Runs tests of a session, quick ones first, and those of the mutant's own folder early."""

    session: ClassVar[pytest.Session]
    most_seconds: ClassVar[float] = inf
    """After which a mutant meets no further test, by what tests take without mutants."""
    selected: ClassVar[Sequence[str]] = ()
    """Folders of tests in the place of those in pyproject.toml."""

    def __init__(self) -> None:
        super().__init__()
        if self.selected:
            self._pytest_add_cli_args_test_selection = [*self.selected]

    def warm_up(self) -> None:
        """Do nothing: `Server` has collected the tests."""

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        if mutant_name is None:
            with change_cwd("mutants"):
                selected = self._pytest_add_cli_args_test_selection
                return self.execute_pytest(["-x", "-q", *selected], plugins=[Only(tests)])
        folder = f"/{mutant_name.split('.')[2]}/"
        seconds = state().duration_by_test
        items = {item.nodeid: item for item in self.session.items}
        ordered = sorted(
            tests, key=lambda test: (seconds[test] * (1 if folder in test else 5), test)
        )
        until = accumulate((seconds[test] for test in ordered), initial=0)
        ordered = [test for test, at in zip(ordered, until, strict=False) if at < self.most_seconds]
        for test, following in zip_longest(ordered, ordered[1:]):
            item, then = items[test], items.get(following)
            if self._fails(item, then):
                # A busy machine makes tests fail as well: they find nothing.
                with patch.object(trampoline, "_mutant_under_test", ""):
                    again = self._fails(item, then)
                if not again:
                    return 1
        return 0

    def _fails(self, item: pytest.Item, then: pytest.Item | None) -> bool:
        self.session.testsfailed = 0
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=then)
        return bool(self.session.testsfailed)


class Server(isolation.ForkServerRunner):
    """Collects the tests once, and forks from that session for each mutant.

    The tests run without mutants once: to learn what they reach is enough.
    """

    _passed = False

    def collect_stats(self, tests: Iterable[str] | None) -> int:
        self._passed = not tests
        folders = [*(tests or Collected()._pytest_add_cli_args_test_selection)]  # noqa: SLF001
        for each in [folders] if tests else [[folder] for folder in folders]:
            if ended := super().collect_stats(each):
                return ended
            save_stats()  # A run that was stopped goes on with the next folder.
        return 0

    def run_clean_tests(self, tests: Iterable[str]) -> int:
        return 0 if self._passed else super().run_clean_tests(tests)

    def run_forced_fail(self) -> int:
        return 1  # A mutant that is killed shows that mutants are reached.

    def _forkserver_main(self, work_fd: int, result_fd: int) -> None:
        serve = super()._forkserver_main

        class Serving:
            def pytest_runtestloop(self, session: pytest.Session) -> bool:
                Collected.session = session
                gc.freeze()
                serve(work_fd, result_fd)
                return True

        runner = Collected()
        os.chdir("mutants")
        selected = runner._pytest_add_cli_args_test_selection  # noqa: SLF001
        with Path(os.devnull).open("w", encoding="utf-8") as nothing, redirect_stdout(nothing):
            ended = runner.execute_pytest(["--capture=sys", *selected], plugins=[Serving()])
        if ended:
            raise SystemExit(f"the tests could not be collected: pytest ended with {ended}")


def drawn(mutants: Iterable[Mutant], patterns: Sequence[str], size: int, seed: str) -> list[Mutant]:
    """Return `size` mutants of each module that one of the patterns names, or all if that is 0.

    One of each module, then another of each, so that a run that is stopped has sampled all.
    """
    by_path = defaultdict(list)
    for each in sorted(mutants, key=lambda each: each[1]):
        if any(fnmatch(each[1], pattern) for pattern in patterns):
            by_path[each[0].path].append(each)
    for path, found in by_path.items():
        if size:
            random.Random(f"{seed} {path}").shuffle(found)
            del found[size:]
    rounds = zip_longest(*by_path.values())
    return [each for each in chain.from_iterable(rounds) if each is not None]


def reaching(mutants: Iterable[Mutant]) -> set[str]:
    """Return the tests that reach one of them."""
    functions = {mangled_name_from_mutant_name(name) for _, name, _ in mutants}
    return set().union(
        *(state().tests_by_mangled_function_name.get(each, ()) for each in functions)
    )


def report(mutants: Collection[Mutant], asked: str) -> str:
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
    parser.add_argument("--only", default="*", help="as 'extender.core.verbs.*', several by commas")
    parser.add_argument("--sample", type=int, default=0, help="how many of each module, at random")
    parser.add_argument("--seed", default=time.strftime("%F"), help="of the sample (today's date)")
    parser.add_argument("--tests", default="", help="their folders, by commas (as pyproject.toml)")
    parser.add_argument("--seconds", type=float, default=inf, help="of tests that each meets (all)")
    parser.add_argument("--again", action="store_true", help="also those that no test found before")
    parser.add_argument("--workers", default="1", help="mutants at a time (1)")
    options = parser.parse_args()
    Collected.most_seconds = options.seconds
    Collected.selected = [each for each in options.tests.split(",") if each]
    chosen: list[Mutant] = []
    collect = mutmut.collect_source_file_mutation_data

    def choose(*, mutant_names: Any) -> tuple[list[Mutant], dict[str, SourceFileMutationData]]:
        every, by_path = collect(mutant_names=mutant_names)
        chosen[:] = drawn(every, options.only.split(","), options.sample, options.seed)
        if options.again:
            found = {code for code, end in status_by_exit_code.items() if end == "killed"}
            chosen[:] = [(data, name, end if end in found else None) for data, name, end in chosen]
        return chosen, by_path

    def in_time(pid: int, timeout_s: float) -> None:
        register_timeout(pid, timeout_s * PATIENCE)

    changed: tuple[tuple[Any, str, Any], ...] = (
        (mutmut, "collect_source_file_mutation_data", choose),
        (mutmut, "estimated_worst_case_time", lambda _: 0),  # keeps the order
        (mutmut, "tests_for_mutant_names", lambda _: reaching(chosen)),
        (file_mutation, "MutationVisitor", WithProperties),
        (file_mutation, "function_trampoline_arrangement", arrange_properties),
        (trampoline, "wrap_in_trampoline", choosing),
        (isolation, "PytestRunner", Collected),
        (isolation, "ForkServerRunner", Server),
        (isolation, "register_timeout", in_time),
    )
    os.environ.setdefault("HYPOTHESIS_PROFILE", "few")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    started, of = time.monotonic(), revision()
    with ExitStack() as patches:
        for each in changed:
            patches.enter_context(patch.object(*each))
        mutmut.run(["--max-children", options.workers], standalone_mode=False)
    minutes = (time.monotonic() - started) / 60
    asked = f"{len(chosen)} mutants of revision {of}, seed {options.seed}: {minutes:.0f} min"
    REPORT.write_text(report(chosen, asked), encoding="utf-8")
    print(f"{REPORT} has them by module, and those that no test found")


if __name__ == "__main__":
    main()
