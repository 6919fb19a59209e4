"""What was measured beside its targets: ratios first, since they travel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from bench.tables import table


@dataclass(frozen=True, slots=True)
class Ratio:
    """A measured ratio, or quantity, and what it should reach or stay under."""

    what: str
    value: float
    target: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.at_least else self.value <= self.target


def as_json(ratios: Iterable[Ratio]) -> list[dict[str, Any]]:
    return [asdict(ratio) | {"met": ratio.met} for ratio in ratios]


def as_markdown(ratios: Iterable[Ratio]) -> str:
    return table(("what", "measured", "target", "met"), [_line(ratio) for ratio in ratios])


def _line(ratio: Ratio) -> tuple[str, ...]:
    bound = "≥" if ratio.at_least else "≤"
    met = "yes" if ratio.met else "**no**"
    return ratio.what, f"{ratio.value:.2f}", f"{bound} {ratio.target:g}", met
