"""Fits what affinity costs a pod to the measurements, and stores it in the package.

    .venv/bin/python -m bench.cost_model

Over the number of pods that carry a rule, in-tree's plugin takes a line: each more pod costs a bit
more. The extender's calls take the same whatever the number. Lines are fitted by least squares of
the relative error, since the costs of large clusters are hundreds of times those of small ones.
What pods without rules lose is the rate of whole schedulers, round by round.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from affinityctl.commands.advise.census import RuleGroup
from affinityctl.commands.advise.costs import NO_RULES

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "bench" / "results" / "plugin.json"
RATES = ROOT / "bench" / "results" / "rates.json"
FITTED = ROOT / "affinityctl" / "commands" / "advise" / "costs.json"
ASKED = 500
"""Nodes that the scheduler asks about, in a cluster of 5,000."""


def fitted(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the model to what bench.intree has measured; microseconds, and shares for errors."""
    cells = [each for each in measured["cells"] if each["names"] == ASKED]
    kinds: dict[str, Any] = {}
    for kind in (*(group.value for group in RuleGroup), NO_RULES):
        mine = [each for each in cells if each["rules"] == kind]
        kinds[kind] = {
            who: {
                step: line([(each["pods"], each[who][step]) for each in mine], level=who == "ours")
                for step in ("filter", "prioritize")
            }
            for who in ("in_tree", "ours")
        }
    return {
        "machine": measured["machine"],
        "nodes": measured["plan"]["nodes"],
        "asked": ASKED,
        "kinds": kinds,
    }


def without_rules(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compare each round's rate of pods without rules with that of the scheduler alone."""
    rates: dict[str, list[float]] = {}
    for each in outcomes:
        if each["workload"].startswith("No rules"):
            rates.setdefault(each["mode"], []).append(each["rate"])
    shares: dict[str, Any] = {}
    for mode in ("assist", "replace"):
        by_round = [
            round(ours / alone, 2) for ours, alone in zip(rates[mode], rates["stock"], strict=True)
        ]
        shares[mode] = {"least": min(by_round), "median": median(by_round), "most": max(by_round)}
    return shares


def line(points: Sequence[tuple[int, float]], *, level: bool) -> dict[str, float]:
    """Fit fixed + each * pods, both at least 0; `level` without a slope. The error is the worst."""
    weights = [1 / took**2 for _, took in points]
    total = sum(weights)
    mean_x = sum(w * pods for w, (pods, _) in zip(weights, points, strict=True)) / total
    mean_y = sum(w * took for w, (_, took) in zip(weights, points, strict=True)) / total
    slope = 0.0
    if not level:
        pairs = list(zip(weights, points, strict=True))
        above = sum(w * (pods - mean_x) * (took - mean_y) for w, (pods, took) in pairs)
        slope = max(0.0, above / sum(w * (pods - mean_x) ** 2 for w, (pods, _) in pairs))
    fixed = max(0.0, mean_y - slope * mean_x)
    error = max(abs((fixed + slope * pods) / took - 1) for pods, took in points)
    return {"fixed": round(fixed, 1), "each": round(slope, 5), "error": round(error, 3)}


def text() -> str:
    """Return what the file in the package has to be."""
    costs = fitted(json.loads(MEASURED.read_text()))
    costs["without_rules"] = without_rules(json.loads(RATES.read_text())["outcomes"])
    return json.dumps(costs, indent=2) + "\n"


if __name__ == "__main__":
    FITTED.write_text(text())
