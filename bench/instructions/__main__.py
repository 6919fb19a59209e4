"""Count the instructions of a scheduling cycle beside an echo: `python -m bench.instructions`."""

from __future__ import annotations

import argparse
import sys

from bench.instructions.callgrind import why_not
from bench.instructions.cycles import ECHO, OURS, name_of
from bench.instructions.ratios import accept, accepted, grown, measure
from bench.tables import table
from bench.workloads import MIXED


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("--accept", action="store_true", help="keep these ratios as the right ones")
    args = parser.parse_args()
    reason = why_not()
    if reason is not None:
        sys.exit(reason)
    ratios, cycles = measure()
    before, python = accepted()
    rows = [
        (
            rules.value,
            f"{cycles[name_of(OURS, rules)]:,}",
            f"{cycles[name_of(ECHO, rules)]:,}",
            f"{ratios[rules.value]:.3f}",
            f"{before[rules.value]:.3f}",
        )
        for rules in MIXED
    ]
    print(table(("rules", "ours", "echo", "ratio", f"accepted, Python {python}"), rows))
    if args.accept:
        accept(ratios)
    elif problems := list(grown(ratios, before)):
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
