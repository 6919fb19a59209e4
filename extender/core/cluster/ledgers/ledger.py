"""What is booked of the cluster besides what the state itself counts."""

from __future__ import annotations

from collections.abc import Iterator

from extender.core.model.labels import Labels
from extender.core.model.objects import Pod


class Ledger:
    """Hears of each change of the cluster, in the step in which the state takes it over.

    All methods do nothing here. They are called in the middle of a change, so they do not raise,
    and change nothing of the state, but that they may tell it that its answers change (`version`,
    `reach_changed`).
    """

    def shown(self, pod: Pod | None, before: Pod | None) -> None:
        """Take over a pod as the watch shows it in place of `before`; None: there is none."""

    def placed(self, pod: Pod, node: str, sign: int) -> None:
        """Count a pod that has a node or a reserved place (1), or take it back (-1)."""

    def shifted(self, pod: Pod, node: str, sign: int) -> None:
        """Leave a placed pod out (-1), or count it again (1), inside `without`."""

    def relabelled(self, node: str, before: Labels) -> None:
        """Note that a node came, went or has other labels than `before`."""

    def rematched(self, namespace: str, before: Labels | None, *, scope: bool) -> None:
        """Note that a namespace came, went or has other labels than `before`; None: it is new.

        With `scope`, rules that its pods carry beside their specs have begun or ceased to count.
        """

    def scope_changed(self, namespace: str) -> None:
        """Note that rules beside those of specs begin or cease to count in a namespace."""

    def audit(self) -> Iterator[str | None]:
        """Compare what is booked with the state, in steps between which the state may change.

        Yields what a step found wrong, or None.
        """
        return iter(())
