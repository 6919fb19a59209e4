"""Draw docs/figures from the numbers in bench/results: `python -m bench.figures`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.scheduler.rates import ECHOES, FAST
from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.scheduling import STOCK

_ROOT = Path(__file__).resolve().parents[1]
RESULTS, FIGURES = _ROOT / "bench" / "results", _ROOT / "docs" / "figures"

SIDES = {
    "in_tree": "in-tree plugin",
    "fast_path": "in-tree, fast path on",
    "ours": "extender",
    "echo": "a server that only echoes",
}
_COLORS = {
    "in_tree": "#b5482a",
    "fast_path": "#d9a441",
    "ours": "#1f6f8b",
    "echo": "#9a9a9a",
    "stock": "#b5482a",
    "stock, fast path": "#d9a441",
    "assist": "#7fb7be",
    "replace": "#1f6f8b",
}
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    # The same numbers give the same bytes.
    "svg.hashsalt": "affinity-extender",
}
_NAMES = 500
"""What a scheduler asks about at 5,000 nodes."""

_BARS = (STOCK, FAST, ASSIST, REPLACE)
_SOURCES = {
    False: ("from an API server", _COLORS["ours"]),
    True: ("from a file", _COLORS["echo"]),
}

Point = tuple[float, float]


def main() -> None:
    mpl.use("svg")
    mpl.rcParams.update(_STYLE)
    FIGURES.mkdir(exist_ok=True)
    plugin = _read("plugin.json")
    _save(_cycles(plugin), "cycle", plugin["machine"])
    rates = _read("rates.json")
    _save(_rates(rates["outcomes"]), "rates", rates["machine"])
    scale = _read("scale.json")
    _save(_scale(scale["clusters"]), "scale", scale["machine"])


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def _cycles(results: Any) -> Figure:
    """Draw what a scheduled pod costs, over the number of pods."""
    cells = [cell for cell in results["cells"] if cell["names"] == _NAMES]
    kinds = list(dict.fromkeys(cell["rules"] for cell in cells))
    figure, axes = plt.subplots(2, math.ceil(len(kinds) / 2), figsize=(10, 6.5), sharey=True)
    for axis, kind in zip(axes.flat, kinds, strict=False):
        lines = {
            side: [(cell["pods"], _cycle(cell[side])) for cell in cells if cell["rules"] == kind]
            for side in SIDES
        }
        _draw(axis, kind, lines)
    for axis in axes.flat[len(kinds) :]:
        axis.set_visible(False)
    axes.flat[0].legend(frameon=False, fontsize=9)
    figure.supxlabel("pods in the cluster, each with the rule", fontsize=10)
    figure.supylabel(f"ms for one pod, {_NAMES} nodes asked about", fontsize=10)
    return figure


def _cycle(timing: Any) -> float:
    milliseconds: float = (timing["filter"] + timing["prioritize"]) / 1000
    return milliseconds


def _draw(axis: Axes, kind: str, lines: dict[str, list[Point]]) -> None:
    for side, points in lines.items():
        axis.plot(*zip(*points, strict=True), "o-", color=_COLORS[side], label=SIDES[side], ms=4)
    axis.set(xscale="log", yscale="log")
    axis.set_title(kind.replace(", ", ",\n"), fontsize=10)
    pods = [x for x, _ in lines["ours"]]
    axis.set_xticks(pods, [f"{x:,.0f}" for x in pods], minor=False, fontsize=8)
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    for x in crossings(lines["in_tree"], lines["ours"]):
        axis.axvline(x, color="#555555", ls=":", lw=1)
        axis.annotate(
            f" even at {round(x, -2):,.0f}",
            (x, axis.get_ylim()[1]),
            fontsize=8,
            va="top",
            ha="left",
        )


def crossings(one: Sequence[Point], other: Sequence[Point]) -> Iterator[float]:
    """Yield where two lines through the same x cross, on logarithmic scales."""
    gaps = [(math.log(x), math.log(y / z)) for (x, y), (_, z) in zip(one, other, strict=True)]
    for (x, gap), (next_x, next_gap) in pairwise(gaps):
        if gap * next_gap < 0:
            yield math.exp(x + (next_x - x) * gap / (gap - next_gap))


def _rates(outcomes: Any) -> Figure:
    """Draw the pods that whole schedulers place a second."""
    workloads = list(dict.fromkeys(each["workload"] for each in outcomes))
    figure, axis = plt.subplots(figsize=(10, 0.75 * len(workloads) + 1.5))
    height = 0.8 / len(_BARS)
    echoes = {mode: name for name, mode in ECHOES.items()}
    for row, mode in enumerate(_BARS):
        places = [number + (row - 1.5) * height for number in range(len(workloads))]
        middle = _middle(outcomes, workloads, mode)
        bars = axis.barh(places, middle, height, color=_COLORS[mode], label=mode)
        color = "black" if mode == "assist" else "white"
        texts = [f"{rate:.0f}" for rate in middle]
        axis.bar_label(bars, texts, fontsize=8, label_type="center", color=color)
        if mode in echoes:
            floor = _middle(outcomes, workloads, echoes[mode])
            label = SIDES["echo"] if mode == _BARS[-1] else None
            axis.plot(floor, places, "|", color="#333333", ms=9, mew=1.5, label=label)
    axis.set_yticks(range(len(workloads)), workloads, fontsize=9)
    axis.invert_yaxis()
    axis.set_xlabel("pods placed a second")
    axis.legend(frameon=False)
    return figure


def _scale(clusters: Any) -> Figure:
    """Draw what a cluster costs, over its pods, by where it is read from."""
    panels = {
        "seconds until ready": "ready",
        "MiB at rest": "resident",
        f"µs for one pod, {_NAMES} nodes asked about": "quiet",
    }
    figure, axes = plt.subplots(1, len(panels), figsize=(10, 3.2))
    for axis, (title, field) in zip(axes, panels.items(), strict=True):
        for source, (label, color) in _SOURCES.items():
            found = [each for each in clusters if each["size"]["from_file"] is source]
            points = sorted((each["size"]["pods"] / 1e6, each[field]) for each in found)
            axis.plot(*zip(*points, strict=True), "o-", color=color, label=label, ms=4)
        axis.set_ylim(0, 1.1 * axis.get_ylim()[1])
        axis.set_xlim(left=0)
        axis.set_title(title, fontsize=10)
        axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
    axes[0].legend(frameon=False, fontsize=9)
    figure.supxlabel("million pods, on 5,000 to 130,000 nodes", fontsize=10)
    return figure


def _middle(outcomes: Any, workloads: Sequence[str], mode: str) -> list[float]:
    rounds = (
        [each["rate"] for each in outcomes if (each["workload"], each["mode"]) == (of, mode)]
        for of in workloads
    )
    return [sorted(found)[len(found) // 2] for found in rounds]


def _save(figure: Figure, name: str, machine: str) -> None:
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.text(0.01, 0, machine, fontsize=7, color="#555555", va="top")
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    main()
