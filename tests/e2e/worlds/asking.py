"""What the commands answer about a dump, and what becomes of the pods by it."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from affinityctl import cli
from affinityctl.commands.simulate import run as simulate
from affinityctl.commands.simulate.report import write
from affinityctl.commands.simulate.whatif.deletion_order import NO_COSTS, Lives
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from extender.diagnosis.verbs.explanation import events_of
from tests.e2e.api import key_of
from tests.events import messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from affinityctl.commands.simulate.whatif.outcome import Simulation
    from extender.core.model.keys import Key
    from extender.core.model.objects import Pod
    from tests.e2e.objects import JSON

NEW = re.compile(r"^(?P<name>.+)-new-\d+$")
NUMBERED = re.compile(r"^(?P<name>.+)-\d+$")
NOT_MADE = re.compile(r"\[\d+\]$")
HASH = "pod-template-hash"


def answered(*line: str) -> str:
    """Run a command of the program in this process, and return what it prints."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = cli.main(line)
    if code in {2, 3}:
        raise AssertionError(f"{' '.join(line)}: {errors.getvalue()}")
    return output.getvalue()


def explained(dump: Path, keys: Sequence[str]) -> dict[str, JSON]:
    """Ask why pods wait."""
    if not keys:
        return {}
    told = json.loads(answered("explain", *keys, "--cluster", str(dump), "-o", "json"))
    every = told if isinstance(told, list) else [told]
    return {each["pod"]: each for each in every}


def owner_of(pod: JSON) -> str:
    """Return what a pod is a replica of, as Kind namespace/name."""
    metadata = pod["metadata"]
    for each in metadata.get("ownerReferences", ()):
        end = f"-{metadata['labels'].get(HASH)}"
        if each["kind"] == "ReplicaSet" and each["name"].endswith(end):
            return f"Deployment {metadata['namespace']}/{each['name'].removesuffix(end)}"
        return f"{each['kind']} {metadata['namespace']}/{each['name']}"
    return f"Pod {key_of(pod)}"


Places = dict[str, Counter[str]]
"""By owner, on which nodes its pods are."""


@dataclass(slots=True)
class Outcome:
    """What became of a cluster, by the owners of pods, as the names of new pods are drawn."""

    places: Places = field(default_factory=dict)
    waiting: Counter[str] = field(default_factory=Counter)
    evicted: Counter[str] = field(default_factory=Counter)
    """Pods that were evicted from the nodes that are drained, by key."""
    blocked: Counter[str] = field(default_factory=Counter)
    preempted: Counter[str] = field(default_factory=Counter)
    stuck: bool = False

    def differences(self, other: Outcome) -> list[str]:
        """Return the fields in which this differs from another."""
        names = ("places", "waiting", "evicted", "blocked", "preempted", "stuck")
        return [each for each in names if getattr(self, each) != getattr(other, each)]

    def place(self, owner: str, node: str) -> None:
        self.places.setdefault(owner, Counter())[node] += 1


def blocked(pod: str, budgets: Sequence[str]) -> str:
    """Say which budget keeps a pod; one that is in two of them is not evicted at all."""
    return f"{pod} by {budgets[0] if len(budgets) == 1 else 'two budgets'}"


class Owners:
    """Tells the owners of pods that a simulation names."""

    def __init__(self, dump: JSON, new: Iterable[JSON]) -> None:
        items = [*dump["items"], *new]
        self._pods = {key_of(each): owner_of(each) for each in items if each["kind"] == "Pod"}
        self._workloads = {
            f"{key_of(each)}": f"{each['kind']} {key_of(each)}"
            for each in items
            if each["kind"] in {"Deployment", "StatefulSet", "ReplicaSet"}
            and "spec" in each
            and not (each["metadata"].get("ownerReferences") and each["kind"] == "ReplicaSet")
        }

    def of(self, key: str) -> str:
        if (known := self._pods.get(key)) is not None:
            return known
        for pattern in (NEW, NUMBERED):
            found = pattern.match(key)
            if found is not None and found["name"] in self._workloads:
                return self._workloads[found["name"]]
        raise KeyError(key)


def outcome_of(told: JSON, dump: JSON, owners: Owners) -> Outcome:
    """Return what becomes of a cluster by what simulate says with `-o json`."""
    there = {
        key_of(each): str(each["spec"]["nodeName"])
        for each in dump["items"]
        if each["kind"] == "Pod"
        and each["spec"].get("nodeName")
        and "deletionTimestamp" not in each["metadata"]
    }
    found = Outcome()
    for step in told["steps"]:
        turns = step["update"]["steps"] if "update" in step else [step]
        for turn in turns:
            for each in turn["removed"]:
                there.pop(each if isinstance(each, str) else each["pod"], None)
            there |= {each["pod"]: each["node"] for each in turn["placed"]}
        if step["change"].startswith("drain"):
            found.evicted.update(each["pod"] for each in step["removed"])
        for each in step["blocked"]:
            budgets = [budget.partition("/")[2] for budget in each["budgets"]]
            found.blocked[blocked(each["pod"], budgets)] += 1
        found.stuck |= "update" in step and step["update"]["stuck"] is not None
    waiting = [
        key
        for each in told["pending"]
        if "notCreatedUntilReady" not in each
        for key in each["pods"]
        if not NOT_MADE.search(key)
    ]
    not_made = [key for each in told["pending"] for key in each["pods"]]
    for each in told["preempted"]:
        found.preempted[owners.of(each["pod"])] += 1
        if owners.of(each["pod"]).startswith("Pod "):
            there.pop(each["pod"], None)
    for key in not_made:
        there.pop(key, None)
    found.waiting.update(map(owners.of, waiting))
    for key, node in there.items():
        found.place(owners.of(key), node)
    return found


class Steering:
    """Has a simulation choose as a scheduler and controllers did, wherever it is free to choose."""

    def __init__(self, bound: Sequence[JSON], gone: Iterable[JSON]) -> None:
        """`bound` are the pods that got a node, `gone` those that were deleted, both in order."""
        self._places: dict[str, list[str]] = {}
        for pod in bound:
            for name in (owner_of(pod), key_of(pod)):
                self._places.setdefault(name, []).append(pod["spec"]["nodeName"])
        self._gone = {key_of(each): number for number, each in enumerate(gone)}

    def turn(self, key: str) -> int:
        """Return when a pod was deleted, among all that were; those that were not come last."""
        return self._gone.get(key, len(self._gone))

    def take(self, pod: Pod, names: Sequence[str]) -> str | None:
        """Return the first node of those to which a pod, or its like, went that is possible."""
        owner = owner_in(pod)
        left = self._places.get(str(pod.key) if owner.startswith("StatefulSet") else owner, [])
        found = next((each for each in left if each in names), None)
        if found is not None:
            left.remove(found)
        return found


def owner_in(pod: Pod) -> str:
    of = pod.workload
    return f"Pod {pod.key}" if of is None else f"{of.kind} {of.namespace}/{of.name}"


@contextmanager
def steered(by: Steering) -> Iterator[None]:
    """Have simulations choose nodes, and pods to delete, as it is given where they are free to."""

    class Follower(Scheduler):
        def _choose(self, pod: Pod) -> str | None:
            fits, _ = self.feasible(pod)
            taken = by.take(pod, fits.names)
            return taken if taken is not None else super()._choose(pod)

    class Following(Lives):
        def by_deletion(
            self,
            pods: Sequence[Pod],
            beside: Iterable[Pod] = (),
            costs: Mapping[Key, int] = NO_COSTS,
        ) -> list[Pod]:
            """Leave what goes by times to the controller, whose clock is another one."""
            around = list(beside)
            together = Counter(pod.node for pod in (*pods, *around))

            def rank(pod: Pod) -> tuple[object, ...]:
                first = pod.node is not None, self.of(pod).phase, pod.status.ready
                return *first, -together[pod.node], by.turn(pod.key)

            return sorted(super().by_deletion(pods, around, costs), key=rank)

    with patch.object(simulate, "Scheduler", Follower), patch.object(simulate, "Lives", Following):
        yield


def simulated(dump: Path, change: JSON, folder: Path, seed: int = 0) -> tuple[JSON, Simulation]:
    """Ask what a change would do; return the answer, and what it was written from."""
    line = ["simulate", "--cluster", str(dump), "-o", "json", "--seed", str(seed)]
    of = change.get("of")
    match change["kind"]:
        case "drain":
            line += ["--drain", ",".join(change["nodes"])]
        case "lose":
            line += ["--lose", ",".join(change["nodes"])]
        case "place":
            file = folder / "new.json"
            file.write_text(json.dumps({"kind": "List", "items": change["objects"]}))
            line += ["-f", str(file)]
        case "scale":
            line += ["--scale", f"{_name(of)}={change['replicas']}", "-n", _namespace(of)]
        case "restart":
            line += ["--restart", _name(of), "-n", _namespace(of)]
        case "roll":
            file = folder / "next.json"
            file.write_text(json.dumps(of))
            line += ["--roll", str(file), "-n", _namespace(of)]
    found: list[Simulation] = []

    def noted(simulation: Simulation, *more: Any) -> str:
        found.append(simulation)
        return write(simulation, *more)

    with patch.object(simulate, "write", noted):
        told: JSON = json.loads(answered(*line))
    return told, found[0]


def words_of(simulation: Simulation) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield, by owner, how the scheduler's words of pods would begin that wait in a simulation."""
    for each in simulation.pending:
        why = each.explanation
        if why is not None and not NOT_MADE.search(each.pods[0]):
            yield (
                owner_in(why.pod),
                messages([events_of(why.refused[name]) for name in why.refused]),
            )


def _name(of: JSON | None) -> str:
    assert of is not None
    return f"{of['kind'].lower()}/{of['metadata']['name']}"


def _namespace(of: JSON | None) -> str:
    assert of is not None
    return str(of["metadata"]["namespace"])
