"""Turns the changes that a command line asks for into what the simulation carries out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import structs

from affinityctl.commands.simulate.applied import (
    ROLLING,
    SCALABLE,
    Applied,
    SimulationReader,
    apply,
    as_applied,
    known_of,
    read_applied,
)
from affinityctl.commands.simulate.changes import Change, ChangeKind
from affinityctl.commands.simulate.whatif.nodes import add_nodes, domains, drain, lose
from affinityctl.commands.simulate.whatif.outcome import Looks, Step
from affinityctl.commands.simulate.whatif.placing import (
    MOST_UNTIL_FULL,
    daemons,
    fill,
    place,
    replicas,
)
from affinityctl.commands.simulate.whatif.preflight import Preflight
from affinityctl.commands.simulate.whatif.rolling import Version, roll, scale
from affinityctl.commands.simulate.whatif.scaling import CostGiver
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import made_by
from affinityctl.commands.simulate.whatif.trials import try_each
from affinityctl.reading.chosen_pods import is_of, require_namespace, similar
from affinityctl.reading.label_selectors import parse_selector
from affinityctl.reading.manifests import Manifests, read_manifests
from affinityctl.reading.rollouts import AS_BY_DEFAULT
from affinityctl.reading.strategies import rollout
from affinityctl.reading.workloads import SHORT_NAMES, WorkloadFiles
from affinityctl.scheduler.volumes.ledger import ledger_of
from extender.core.config.features import features
from extender.core.errors import ConfigError
from extender.core.model.labels import ZONE
from extender.core.model.objects import Pod
from extender.core.model.wording import plural, some
from extender.core.model.workload import DAEMON_SET, STATEFUL_SET, Identity
from extender.core.offline import ClusterFileError
from extender.diagnosis.wire.explanation import KINDS
from extender.diagnosis.wire.workloads import WORKLOADS, Workload, read_workload

NODE_KINDS: Final = frozenset(("node", "nodes", "no"))
_KIND_OF_NODE: Final = re.compile(r"^(?:nodes?|no)/")

_SUSPENDED: Final = (
    "it is suspended: no pod is made until that is over; --replicas N places pods of it all the "
    "same"
)


@dataclass(frozen=True, slots=True)
class GivenManifest:
    kind: str
    raw: bytes
    pod: Pod
    """As its template makes it, for what can be said before the cluster is known."""


def cost_givers() -> list[CostGiver]:
    """Return the features that give pods deletion costs, on or off."""
    givers = (each for each in features() if each.costs)
    return [CostGiver(each.field, each.module(each.costs).given_costs) for each in givers]


def read_files(changes: Sequence[Change], namespace: str) -> dict[str, Manifests[GivenManifest]]:
    """Read the files that changes name; ClusterFileError for one that cannot be used."""
    found: dict[str, Manifests[GivenManifest]] = {}
    for each in changes:
        if each.kind in {ChangeKind.PLACE, ChangeKind.ROLL} and each.value not in found:
            kinds = KINDS if each.kind is ChangeKind.PLACE else ROLLING
            found[each.value] = _read(Path(each.value), kinds, namespace)
    return found


def _read(path: Path, kinds: frozenset[str], namespace: str) -> Manifests[GivenManifest]:
    check = SimulationReader()

    def checked(kind: str, raw: bytes) -> GivenManifest:
        pod = read_applied(kind, raw, check, 1, "").pod
        if kind in WORKLOADS:
            rollout(read_workload(kind, raw), 1)
        return GivenManifest(kind, raw, pod)

    given = read_manifests(path, kinds, namespace, checked)
    if not given.found:
        what = given.nothing()
        none = f"none of {', '.join(sorted(kinds))} is in it"
        raise ClusterFileError(f"{path}: {none}{what and f'; {what}'}")
    return given


class Carrier:
    def __init__(
        self,
        scheduler: Scheduler,
        pods: SimulationReader,
        files: Mapping[str, Manifests[GivenManifest]],
        workloads: Mapping[Identity, Workload],
        *,
        namespace: str,
        cluster: WorkloadFiles,
    ) -> None:
        self._scheduler = scheduler
        self._state = scheduler.state
        self._pods = pods
        self._files = files
        self._workloads = workloads
        self._namespace = namespace
        self._cluster = cluster
        self._placed: set[Identity] = set()
        """Workloads that a file has brought."""
        self._revision = 0

    def steps(self, change: Change) -> Iterator[tuple[int, Looks]]:
        """Yield what a change takes: of a file with several objects, one step each.

        With each the number of pods that will be looked at, 0 where it is unknown.
        """
        match change.kind:
            case ChangeKind.PLACE:
                for each in self._given(change):
                    yield self._place(each, change)
            case ChangeKind.ROLL:
                for each in self._given(change):
                    yield from self._roll(read_workload(each.kind, each.raw))
            case ChangeKind.RESTART:
                yield from self._roll(self._as_scaled(self._workload(self._identity(change))))
            case ChangeKind.SCALE:
                yield self._scale(change)
            case _:
                yield 0, self._nodes(change)

    def _given(self, change: Change) -> Sequence[GivenManifest]:
        """Return what a file has that makes pods, once all else in it is applied."""
        given = self._files[change.value]
        given.apply(self._cluster)
        self._scheduler.applied()
        return given.found

    def templates(self, changes: Sequence[Change]) -> Iterator[Pod]:
        """Yield the pods of the manifests and templates that changes take, one of each."""
        for each in changes:
            if each.kind in {ChangeKind.SCALE, ChangeKind.RESTART}:
                named = replace(each, value=each.value.partition("=")[0])
                found = self._workloads.get(self._identity(named))
                if found is not None:
                    yield found.make_pod(self._pods)
        yield from (given.pod for each in self._files.values() for given in each.found)

    def _nodes(self, change: Change) -> Looks:
        match change.kind:
            case ChangeKind.DRAIN:
                preflight = Preflight(self._state, self._pods.scratch)
                nodes = self._chosen(change.value)
                return drain(self._scheduler, nodes, change.value, preflight)
            case ChangeKind.LOSE:
                nodes = self._lost(change.value)
                return lose(self._scheduler, nodes, change.value)
            case ChangeKind.ADD:
                return add_nodes(self._scheduler, int(change.value), self._like(change.like))
            case _:
                return self._each(change)

    def _place(self, manifest: GivenManifest, change: Change) -> tuple[int, Looks]:
        applied = read_applied(
            manifest.kind, manifest.raw, self._pods, len(self._state.nodes), self._new_revision()
        )
        what = str(applied.identity)
        asleep = ""
        if manifest.kind in WORKLOADS:
            workload = read_workload(manifest.kind, manifest.raw)
            known = known_of(workload)
            if workload.is_suspended and change.replicas is None:
                asleep = _SUSPENDED
            # It wants as many as are made here.
            self._scheduler.workloads[applied.identity] = replace(known, replicas=None)
        if manifest.kind == DAEMON_SET and (change.until_full or change.replicas is not None):
            flag = "--until-full" if change.until_full else "--replicas"
            raise ConfigError(flag, f"{what} has one pod on each node, however many that are")
        there = self._note_there(applied.identity)
        if change.until_full:
            most = change.replicas or MOST_UNTIL_FULL
            return 0, _noted(fill(self._scheduler, what, applied.make, most), there)
        if manifest.kind == DAEMON_SET:
            new = list(daemons(self._scheduler, applied.pod))
        else:
            wanted = applied.wanted if change.replicas is None else change.replicas
            new = list(islice(replicas(self._scheduler, applied.make), wanted))
        return len(new), _noted(_noted(place(self._scheduler, what, new), there), asleep)

    def _note_there(self, identity: Identity) -> str:
        """Say that a workload has pods in the cluster, which those of a file come beside."""
        there = [] if identity in self._placed else self._members(identity)
        self._placed.add(identity)
        if not there:
            return ""
        roll = "; --roll FILE replaces those" * (identity.kind in ROLLING)
        return f"these come beside {plural(len(there), 'pod')} of the same {identity.kind}{roll}"

    def _roll(self, workload: Workload) -> Iterator[tuple[int, Looks]]:
        """Yield the update; before it, a Deployment brings its old pods to their new number."""
        kind = workload.identity.kind
        applied = self._applied(workload)
        if kind not in ROLLING:
            raise ConfigError(
                ChangeKind.RESTART.value, f"a {kind} does not replace its pods by itself"
            )
        old = self._members(applied.identity)
        if not old and applied.wanted:
            raise ConfigError(
                "update", f"no pod of {applied.identity} is in the cluster; place it with -f"
            )
        replacing = rollout(workload, len(old))
        if workload.spec.paused:
            raise ConfigError("update", f"{applied.identity} is paused: nothing rolls")
        if kind != "Deployment" and not replacing.rolling:
            raise ConfigError(
                "update", f"{applied.identity} has updateStrategy OnDelete: nothing rolls"
            )
        wanted = replacing.replicas
        if kind == "Deployment" and wanted is not None and wanted != len(old):
            yield max(0, wanted - len(old)), self._scaled(applied.identity, old, wanted)
            old = self._members(applied.identity)
        elif old and wanted is not None:
            self._scheduler.resize(old[0], len(old), wanted)
        # A file that says no number leaves it as it is.
        known = replace(known_of(workload), replicas=wanted)
        self._scheduler.workloads[applied.identity] = known
        version = Version(str(applied.identity), kind, applied.make, replacing)
        yield 0, roll(self._scheduler, version, old)

    def _as_scaled(self, workload: Workload) -> Workload:
        """Return a workload with the number of pods that changes have left it with."""
        if workload.spec.replicas is None:
            return workload
        number = self._scheduler.workloads[workload.identity].replicas
        return replace(workload, spec=structs.replace(workload.spec, replicas=number))

    def _scale(self, change: Change) -> tuple[int, Looks]:
        name, _, number = change.value.rpartition("=")
        if not number.isdecimal() or len(number) > len("200000"):
            raise ConfigError("--scale", f"{change.value!r} is not like deployment/web=12")
        identity = self._identity(replace(change, value=name))
        if identity.kind not in SCALABLE:
            raise ConfigError("--scale", f"a {identity.kind} has no number of replicas")
        old = self._members(identity)
        scaled = self._scaled(identity, old, int(number))
        return max(0, int(number) - len(old)), _noted(scaled, self._note_above(identity, old))

    def _note_above(self, identity: Identity, pods: Iterable[Pod]) -> str:
        """Say what controls a workload, and decides how many pods it has."""
        known = self._workloads.get(identity)
        named = None if known is None else known.metadata.controller
        tops = (pod.workload for pod in pods)
        above = named or next((each for each in tops if each not in {None, identity}), None)
        return "" if above is None else f"{above} controls it and would undo that; scale {above}"

    def _scaled(self, identity: Identity, old: Sequence[Pod], wanted: int) -> Looks:
        known = self._workloads.get(identity)
        by = AS_BY_DEFAULT if known is None else rollout(known, len(old))
        if old:
            # As most of its pods are: those of another version go in an update, not here. What a
            # bind has written into them tells none from another.
            made = [made_by(self._scheduler.known(pod), pod) for pod in old]
            alike = Counter(pod.pod_class for pod in made)
            likely = max(made, key=lambda pod: alike[pod.pod_class])
            if identity.kind == STATEFUL_SET:
                likely = ledger_of(self._state).with_templates(likely)
            make = as_applied(identity, likely, len(old), by.start).make
        else:
            make = self._applied(self._workload(identity)).make
        giving = cost_givers()
        return scale(self._scheduler, str(identity), old, wanted, make, rollout=by, givers=giving)

    def _applied(self, workload: Workload) -> Applied:
        return apply(workload, self._pods, len(self._state.nodes), self._new_revision())

    def _new_revision(self) -> str:
        self._revision += 1
        return f"new-{self._revision}"

    def _members(self, identity: Identity) -> list[Pod]:
        """Return the pods of a workload, by the controllers that they name; in order of name.

        Pods that are being deleted count for a StatefulSet alone, which waits for their names.
        """
        in_order = identity.kind == STATEFUL_SET
        pods = (pod for pod in self._state.pods.values() if in_order or not pod.status.deleting)
        members = (pod for pod in pods if is_of(pod, identity))
        return sorted(members, key=lambda pod: pod.key)

    def _identity(self, change: Change) -> Identity:
        kind, _, name = change.value.partition("/")
        known = SHORT_NAMES.get(kind.lower().partition(".")[0])
        if known is None or not name:
            raise ConfigError(change.kind.value, f"{change.value!r} is not like deployment/web")
        return Identity(self._namespace, known, name)

    def _workload(self, identity: Identity) -> Workload:
        found = self._workloads.get(identity)
        if found is None:
            require_namespace(self._state, identity.namespace)
            names = [e.name for e in self._workloads if e[:2] == identity[:2]]
            spaces = sorted(e.namespace for e in self._workloads if e[1:] == identity[1:])
            if spaces:
                there = some(spaces, len(spaces))
                raise ConfigError(
                    str(identity), f"is not in the cluster that was given, but in {there}; use -n"
                )
            raise ConfigError(
                str(identity),
                f"is not in the cluster that was given{similar(identity.name, names)}; a dump has "
                "it where `kubectl get` was asked for deployments,statefulsets,daemonsets as well",
            )
        return found

    def _each(self, change: Change) -> Looks:
        key = change.value
        found = {name: [name] for name in sorted(self._state.nodes)}
        if key not in NODE_KINDS:
            found = domains(self._state, key)
            _some([*found], change.kind, f"no node has a label {key}")
        verb, act = ("drain", drain) if change.kind is ChangeKind.DRAIN_EACH else ("lose", lose)
        step = Step(f"{verb} each {'node' if key in NODE_KINDS else key} alone")
        return try_each(self._scheduler, step, found, act)

    def _chosen(self, text: str) -> list[str]:
        if named := self._named(text, ChangeKind.DRAIN):
            return named
        selector, nodes = parse_selector(text, ChangeKind.DRAIN.value), self._state.nodes
        found = [name for name in nodes if selector.matches(nodes.labels(name))]
        return _some(found, ChangeKind.DRAIN, f"no node is called {text} or has such labels")

    def _lost(self, text: str) -> list[str]:
        if named := self._named(text, ChangeKind.LOSE):
            return named
        key, _, value = text.partition("=") if "=" in text else (ZONE, "", text)
        what = text if "=" in text else f"this name, or is in a zone {text}"
        found = domains(self._state, key).get(value, [])
        return _some(found, ChangeKind.LOSE, f"no node has {what}")

    def _named(self, text: str, kind: ChangeKind) -> list[str]:
        """Return the nodes that a text lists, as n1,node/n2; none where it is something else."""
        parts = text.split(",")
        names = [_KIND_OF_NODE.sub("", each) for each in parts]
        known = [each for each in names if each in self._state.nodes]
        if (known or names != parts) and len(known) < len(names):
            unknown = next(each for each in names if each not in self._state.nodes)
            raise ConfigError(kind.value, f"there is no node {unknown}")
        return list(dict.fromkeys(known))

    def _like(self, name: str | None) -> str:
        if name is None:
            raise ConfigError(ChangeKind.ADD.value, "name a node that they are like, with --like")
        if name not in self._state.nodes:
            raise ConfigError("--like", f"no node {name}")
        return name


def _noted(looks: Looks, note: str) -> Looks:
    """Carry a step out, and add a note to it if there is one."""
    step = yield from looks
    step.notes += filter(None, (note,))
    return step


def _some(found: list[str], kind: ChangeKind, why: str) -> list[str]:
    if not found:
        raise ConfigError(kind.value, why)
    return found
