"""What public charts ask for: `python -m tests.charts` prints the mix of their rules.

`helm template demo CHART -n demo | python -m tests.charts --record` prints the workloads of a
record for charts.yaml, to compare a chart with what is kept of it, or to add one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import yaml

from bench.tables import table
from tests.charts.records import Record, Rule, recorded, records


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.charts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--record", action="store_true", help="of manifests on standard input")
    if parser.parse_args(arguments).record:
        objects = (each for each in yaml.safe_load_all(sys.stdin) if isinstance(each, dict))
        found = recorded(objects)
        sys.stdout.write(yaml.safe_dump(found, sort_keys=False, width=110))
        return
    sys.stdout.write(mix([each for each in records() if not each.values]))


def mix(charts: Sequence[Record]) -> str:
    """Return the table of rules, with the charts' own values."""
    rules = [rule for each in charts for rule in _rules(each)]
    rows = []
    for kind, number in Counter(map(_kind, rules)).most_common():
        having = sum(any(_kind(rule) == kind for rule in _rules(each)) for each in charts)
        share = f"{100 * number / len(rules):.0f} %"
        rows.append([*kind, str(number), share, str(having)])
    head = ["rule", "topology key", "weight", "terms", "share", "charts"]
    publishers = {each.publisher for each in charts}
    workloads = sum(len(each.workloads) for each in charts)
    counted = f"{len(charts)} charts of {len(publishers)} publishers, {workloads} workloads"
    return f"{counted}, {len(rules)} terms\n\n{table(head, rows)}\n"


def _rules(chart: Record) -> Iterable[Rule]:
    return [rule for each in chart.workloads for rule in each.rules]


def _kind(rule: Rule) -> tuple[str, str, str]:
    what = "apart" if rule.apart else "together"
    if rule.weight is None:
        return f"required {what}", rule.key, ""
    return f"preferred {what}", rule.key, str(rule.weight)


if __name__ == "__main__":
    main()
