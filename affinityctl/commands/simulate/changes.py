"""The flags of simulate that change the cluster, kept in the order in which they were given."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from extender.core.command_line import Parser


class ChangeKind(Enum):
    """What is to be changed; the value is the flag."""

    PLACE = "--filename"
    SCALE = "--scale"
    RESTART = "--restart"
    ROLL = "--roll"
    DRAIN = "--drain"
    LOSE = "--lose"
    DRAIN_EACH = "--drain-each"
    LOSE_EACH = "--lose-each"
    ADD = "--add-nodes"


BY_CONTROLLERS: Final = frozenset((ChangeKind.SCALE, ChangeKind.RESTART, ChangeKind.ROLL))
"""Changes that controllers carry out by what has become of their pods."""


@dataclass(slots=True)
class Change:
    kind: ChangeKind
    value: str
    replicas: int | None = None
    until_full: bool = False
    like: str | None = None


class _Begin(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        change = Change(ChangeKind(self.option_strings[-1]), str(values))
        namespace.changes = [*namespace.changes, change]


class _Detail(argparse.Action):
    """Adds to the change before it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        wanted = ChangeKind.ADD if self.dest == "like" else ChangeKind.PLACE
        last: Change | None = namespace.changes[-1] if namespace.changes else None
        if last is None or last.kind is not wanted:
            parser.error(f"{option_string} belongs after {wanted.value}")
        setattr(last, self.dest, True if self.nargs == 0 else values)


def add_changes(of: Parser) -> None:
    of.set_defaults(changes=[])
    group = of.add_argument_group("changes, in the order given")
    group.add_argument(
        *("-f", "--filename"),
        metavar="FILE",
        action=_Begin,
        help="place the pods and workloads in this file (JSON or YAML) or, with -, from standard "
        "input: as many pods as each wants; what else is in it, such as namespaces and disruption "
        "budgets, counts from then on",
    )
    group.add_argument(
        "--replicas",
        metavar="N",
        type=_number,
        action=_Detail,
        help="after -f: so many pods of it (default: what the manifest says)",
    )
    group.add_argument(
        "--until-full",
        nargs=0,
        action=_Detail,
        help="after -f: as many pods as find a node (default: what the manifest says)",
    )
    group.add_argument(
        "--scale",
        metavar="KIND/NAME=N",
        action=_Begin,
        help="bring a workload of the cluster to so many pods, such as deployment/web=12; when "
        "that is fewer, say which go and how the rest is spread",
    )
    group.add_argument(
        "--roll",
        metavar="FILE",
        action=_Begin,
        help="update a Deployment, StatefulSet or DaemonSet of the cluster to the template in this "
        "file, with its strategy",
    )
    group.add_argument(
        "--restart",
        metavar="KIND/NAME",
        action=_Begin,
        help="replace the pods of a workload with its template as it is, as `kubectl rollout "
        "restart` does; a dump has to have the workload",
    )
    group.add_argument(
        "--drain",
        metavar="SELECTOR|NODES",
        action=_Begin,
        help="cordon and drain the nodes with these labels (pool=old,disk in (hdd)), or of these "
        "names (n1,n2 or node/n1), within disruption budgets",
    )
    group.add_argument(
        "--lose",
        metavar="KEY=VALUE|ZONE|NODES",
        action=_Begin,
        help="lose all nodes of a topology domain at once, such as zone=b (the last part of a key "
        "will do), those of a zone by its value alone, or those of these names (n1,n2 or node/n1)",
    )
    for kind, verb in ((ChangeKind.DRAIN_EACH, "drain"), (ChangeKind.LOSE_EACH, "lose")):
        group.add_argument(
            kind.value,
            metavar="KEY",
            nargs="?",
            const="node",
            action=_Begin,
            help=f"{verb} each node, or with zone or another key each topology domain, one at a "
            "time from here on and without what comes of it: one table of what hurts",
        )
    group.add_argument(
        "--add-nodes",
        metavar="N",
        type=_number,
        action=_Begin,
        help="add so many nodes",
    )
    group.add_argument(
        "--like",
        metavar="NODE",
        action=_Detail,
        help="after --add-nodes: a node whose labels, taints and room they have, and whose pods "
        "of DaemonSets",
    )


def _number(text: str) -> int:
    from extender.core.wire.decoding import whole_number  # noqa: PLC0415 - help comes at once

    number = whole_number(text, len(str(MOST)))
    if number is None or not 0 < number <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: expected 1 to {MOST:,}")
    return number


MOST = 200_000
"""Pods or nodes in one change."""
