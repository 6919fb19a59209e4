"""The report on upstream's integration suites."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.upstream.expected import HANGING, NEVER_ENDS, reason
from tests.upstream.modes import ALONE, MODES, RULELESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.upstream.running import Results

    Found = Mapping[str, Mapping[str, Results]]
    """By suite, then by mode."""

_HEAD = """\
# Upstream's integration suites, with the extender

`make upstream` copies the scheduler's own suites out of `k8s.io/kubernetes` and runs them as they
are. Then it runs them with one helper changed, the one that starts the scheduler: each scheduler is
configured by a file of `scheduler-config/`, and a process of the extender runs on the suite's API
server. Last comes an extender that knows no rules: what passes there as well says nothing about the
extender. What failed was run again, up to five times (without rules: once); *flaky* counts the
tests that then passed. `results.json` has the names.

Tests passed / failed / skipped, without those that only hold others; an empty cell was not run.
Kubernetes {release}.

"""


def report(found: Found, release: str) -> str:
    """Write it as Markdown."""
    modes = [mode for mode in MODES if any(mode in by_mode for by_mode in found.values())]
    lines = [f"| suite | {' | '.join(modes)} | needs the rules |"]
    lines += ["| --- |" + " --- |" * (len(modes) + 1)]
    for suite, by_mode in found.items():
        cells = " | ".join(by_mode[mode].in_short() if mode in by_mode else "" for mode in modes)
        lines.append(f"| `{suite}` | {cells} | {len(list(_needing(by_mode)))} |")
    lines += ["", "## What fails beside the extender and not alone", ""]
    failed = list(_failed(found))
    for why in dict.fromkeys(why for *_, why in failed):
        lines += [f"{why or '**Not expected.**'}", ""]
        names = Counter((mode, test.partition("_(")[0]) for mode, test, of in failed if of == why)
        lines += [
            f"- {mode}: `{name}`" + f", {count} times with other feature gates" * (count > 1)
            for (mode, name), count in names.items()
        ]
        lines.append("")
    lines += [] if failed else ["Nothing.", ""]
    hanging = [f"- {mode}: `{test}`" for mode in modes for test in HANGING.get(mode, ())]
    if hanging:
        lines += [f"{NEVER_ENDS}", "", *hanging, ""]
    alone = [f"- `{test}`" for each in found.values() for test in _of(each, ALONE)]
    if alone:
        lines += ["## What fails alone, here", "", *alone]
    return _HEAD.format(release=release) + "\n".join(lines).rstrip() + "\n"


def unexpected(found: Found) -> list[str]:
    """Return what failed without a reason."""
    return [f"{mode}: {test}" for mode, test, why in _failed(found) if why is None]


def _failed(found: Found) -> Iterator[tuple[str, str, str | None]]:
    """Yield mode, test and reason, where the test passes alone or was not run alone."""
    for by_mode in found.values():
        alone = set(_of(by_mode, ALONE))
        for mode in by_mode:
            if mode not in (ALONE, RULELESS):
                yield from (
                    (mode, t, reason(mode, t)) for t in _of(by_mode, mode) if t not in alone
                )


def _needing(by_mode: Mapping[str, Results]) -> Iterator[str]:
    """Yield the tests that an extender without rules fails, and one with them passes."""
    if RULELESS in by_mode:
        for test in by_mode[RULELESS].failed:
            if any(
                test not in each.failed
                for mode, each in by_mode.items()
                if mode not in (ALONE, RULELESS)
            ):
                yield test


def _of(by_mode: Mapping[str, Results], mode: str) -> Sequence[str]:
    return by_mode[mode].failed if mode in by_mode else ()
