"""What the extender takes while pods that are all different come and go.

`python -m bench.churned_memory`: each is read as the watch brings it, asked about by filter and
prioritize, refused or placed, and deleted. Few live at a time, so that whatever else grows is kept
for pods that are gone.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from time import monotonic

from bench.output import add_files, put_out_measured
from bench.tables import table
from extender.core.model import memory
from tests.churned_manifests import Sizes
from tests.churned_pods import ALIVE, Churn

PODS = 1_000_000
POINTS = 50
"""Looks at the resident set, at even distances."""
WARM = 0.2
"""The share of the pods until every cache is as full as it gets."""
TARGET_MIB = 8.0
"""The last tenth may take so much more than the first one after that."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The resident set over the pods that came and went."""

    pods: list[int]
    mib: list[float]
    placed: int
    refused: int
    seconds: float

    @property
    def growth(self) -> float:
        """Return by how many MiB the last tenth is above the first one after the warm-up."""
        tenth = max(1, len(self.mib) // 10)
        first = int(len(self.mib) * WARM)
        return fmean(self.mib[-tenth:]) - fmean(self.mib[first : first + tenth])


async def measure(pods: int) -> Curve:
    churn = Churn(Sizes())
    counts, sizes = [], []
    start = monotonic()
    for point in range(1, POINTS + 1):
        await churn.run(pods // POINTS)
        gc.collect()
        counts.append(point * (pods // POINTS))
        sizes.append(round(_resident(), 1))
        print(
            f"{counts[-1]:>9,} pods {sizes[-1]:7.1f} MiB {monotonic() - start:7.0f} s", flush=True
        )
    return Curve(counts, sizes, **churn.outcomes, seconds=round(monotonic() - start, 1))


def _resident() -> float:
    """Return the resident set in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def as_markdown(curve: Curve) -> str:
    step = max(1, len(curve.pods) // 10)
    shown = list(zip(curve.pods, curve.mib, strict=True))[step - 1 :: step]
    rows = [(f"{pods:,}", f"{mib:.1f}") for pods, mib in shown]
    verdict = "met" if curve.growth <= TARGET_MIB else "**not met**"
    return (
        f"{curve.pods[-1]:,} pods, all different, {ALIVE} at a time; one in {Sizes().large} with "
        f"some 8 KiB of labels or rules, one in {Sizes().huge:,} with 400 KiB. {curve.placed:,} "
        f"were placed, {curve.refused:,} refused. Client, scheduler and extender are one "
        "process.\n\n"
        f"{table(('pods so far', 'resident, MiB'), rows)}\n\n"
        f"The last tenth above the first one after the caches had filled: {curve.growth:+.1f} MiB "
        f"(target ≤ {TARGET_MIB:g}, {verdict}). All cache budgets together are "
        f"{memory.TOTAL / memory.MIB:.0f} MiB."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.churned_memory", description=__doc__)
    parser.add_argument("--pods", type=int, default=PODS)
    add_files(parser)
    args = parser.parse_args()
    curve = asyncio.run(measure(args.pods))
    put_out_measured(args, as_markdown(curve), asdict(curve))


if __name__ == "__main__":
    main()
