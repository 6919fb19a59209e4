"""A cluster from files instead of an API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from extender.core.cluster.state import ClusterState
from extender.core.config.features import features
from extender.core.errors import InputError, ObjectError, UnreadableError
from extender.core.files import json_documents, read_content, without_talk, yaml_documents
from extender.core.model.wording import plural
from extender.core.resources import PODS, RESOURCES, WatchedResource
from extender.core.wire.decoding import Json, decode
from extender.core.wire.objects import PodReader

READS: Final[Mapping[str, frozenset[str]]] = {
    **{each.kind: frozenset((each.group,)) for each in RESOURCES},
    **{kind: frozenset((group,)) for each in features() for kind, group in each.kinds.items()},
    **dict.fromkeys(("PersistentVolume", "PersistentVolumeClaim"), frozenset(("",))),
    **dict.fromkeys(
        ("StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"),
        frozenset(("storage.k8s.io",)),
    ),
    **dict.fromkeys(("Service", "ReplicationController", "LimitRange"), frozenset(("",))),
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet"), frozenset(("apps", "extensions"))),
    "StatefulSet": frozenset(("apps",)),
    **dict.fromkeys(("Job", "CronJob"), frozenset(("batch",))),
    "PriorityClass": frozenset(("scheduling.k8s.io",)),
    "MutatingAdmissionPolicy": frozenset(("admissionregistration.k8s.io",)),
    **dict.fromkeys(
        ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
        frozenset(("rbac.authorization.k8s.io",)),
    ),
}
"""Kinds that are read, with their API groups; others may have kinds of the same names."""

_OF_FILES: Final = ("file", "link", "archive")
"""How things are named that are no kinds."""

DEEPEST = 8
"""Lists in lists: dumps that were joined, and joined again."""

EXPECTED = "expected what `kubectl get nodes,namespaces,pods -A -o json` prints"


class ClusterFileError(InputError):
    """A cluster file with broken content; names the file, the object and the field."""


class UnreadableClusterFileError(ClusterFileError, UnreadableError):
    """A cluster file that cannot be read at all."""


class _Header(msgspec.Struct):
    kind: str | None = None
    apiVersion: str | None = None


class _List(msgspec.Struct):
    kind: str | None = None
    apiVersion: str | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


class _ItsName(msgspec.Struct):
    name: str | None = None


class _NamedObject(msgspec.Struct):
    metadata: _ItsName | None = None


_HEADER = msgspec.json.Decoder(_Header)
_NAMED = msgspec.json.Decoder(_NamedObject)
_LIST = msgspec.json.Decoder(_List)


@dataclass(frozen=True, slots=True)
class Content:
    """What a file had, each kind with the number of its objects."""

    read: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    """Kinds that no rule looks at."""
    places: list[str] = field(default_factory=list)
    """Where each of these is."""

    def __str__(self) -> str:
        ignored = f"; passed over: {listed(self.ignored)}" if self.ignored else ""
        return f"{listed(self.read)}{ignored}"


class ClusterFiles:
    """Reads files into one state.

    Each is what `kubectl get nodes,namespaces,pods,poddisruptionbudgets -A -o json` prints, or a
    YAML stream, plain or gzip. Workloads are ignored.
    """

    needs: ClassVar[tuple[str, ...]] = ("Node", "Pod")
    """Kinds of which there has to be one: nodes alone make a cluster as well, an empty one."""
    wanted: ClassVar = "node or pod"

    def __init__(
        self, state: ClusterState, pods: PodReader, further: Iterable[WatchedResource[Any]] = ()
    ) -> None:
        """`further` resources are read beside those of the core."""
        self.state = state
        self.pods = pods
        self._generated: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        """How many objects of each kind were read."""
        self._others = {
            each.kind: each.storing(state, pods)
            for each in (*RESOURCES, *further)
            if each is not PODS
        }
        """Reads and stores an object, by the kinds that need no more than that."""

    def load(self, path: Path) -> Content:
        """Put the objects of a file into the state; ClusterFileError for one without any."""
        objects = enumerate(objects_in(path, of_cluster=True))
        return self.take(path, ((f"{path}: object {at}", *each) for at, each in objects))

    def take(self, path: Path, objects: Iterable[tuple[str, str, msgspec.Raw]]) -> Content:
        """Put objects, each with its place and its kind, into the state."""
        content = Content()
        for where, kind, raw in objects:
            try:
                known = self.put(kind, raw)
            except ObjectError as error:
                raise ClusterFileError(f"{where} ({kind}): {error}") from error
            (content.read if known else content.ignored)[kind] += 1
            if not known:
                content.places.append(f"{where} ({kind})")
        if not content.read:
            raise ClusterFileError(f"{path}: {_nothing(content.ignored)}; {EXPECTED}")
        self.found.update(content.read)
        return content

    def finish(self) -> None:
        """Check that there is something, once all files are there; ClusterFileError if not."""
        if not any(self.found[kind] for kind in self.needs):
            raise ClusterFileError(f"no {self.wanted}, only {listed(self.found)}; {EXPECTED}")

    def put(self, kind: str, raw: msgspec.Raw) -> bool:
        """Put an object into the state; return whether it is of a kind that is looked at."""
        if kind == PODS.kind:
            self.state.upsert_pod(self.pods.read(raw, self._generate_name))
        elif kind in self._others:
            self._others[kind](raw)
        else:
            return False
        return True

    def _generate_name(self, namespace: str, prefix: str) -> str:
        """Name a pod as the API server would, save that the same files give the same names."""
        while True:
            start = f"{namespace}/{prefix}"
            number = self._generated[start]
            self._generated[start] += 1
            if f"{start}{number:05}" not in self.state.pods:
                return f"{prefix}{number:05}"


def listed(kinds: Counter[str]) -> str:
    """List ten kinds at most with their numbers, each in 80 characters: the line has an end."""
    each = [
        plural(count, kind[:80]) if kind.endswith(_OF_FILES) else f"{count:,} {kind[:80]}"
        for kind, count in sorted(kinds.items())
    ]
    more = f" and {plural(len(each) - 10, 'more kind')}" if each[10:] else ""
    return ", ".join(each[:10]) + more


def _nothing(ignored: Counter[str]) -> str:
    if not ignored:
        return "there is no object in it"
    hint = " (a kubeconfig is named by --kubeconfig)" if "Config" in ignored else ""
    return f"nothing in it can be used, only {listed(ignored)}{hint}"


def objects_in(path: Path, *, of_cluster: bool = False) -> Iterator[tuple[str, msgspec.Raw]]:
    """Yield each object of a file with its kind, lists taken apart; ClusterFileError names it.

    What is `of_cluster` an API server has taken, however a tool has written it down.
    """
    with faults_of(path):
        yield from objects_of(read_content(path), of_cluster=of_cluster)


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Raise what is wrong with a file as ClusterFileError."""
    try:
        yield
    except IsADirectoryError as error:
        raise UnreadableClusterFileError(f"{path}: is a directory; name the files in it") from error
    except OSError as error:
        raise UnreadableClusterFileError(f"{path}: {error.strerror or error}") from error
    except ObjectError as error:
        raise ClusterFileError(f"{path}: {error}") from error


def objects_of(content: Json, *, of_cluster: bool = False) -> Iterator[tuple[str, msgspec.Raw]]:
    """Yield each object of a text likewise; ObjectError says what is broken."""
    for header, document in _documents(content, of_cluster=of_cluster):
        yield from _taken_apart(header, document)


def _documents(content: Json, *, of_cluster: bool) -> Iterator[tuple[_Header, Json]]:
    documents: Iterable[Json]
    start = content[:64].lstrip()[:2]
    if start[:1] != b"{" or start == b"{{":
        documents = yaml_documents(without_talk(content), of_cluster=of_cluster)
    else:
        try:
            alone = decode(_HEADER, content)
        except ObjectError:
            # To look for several takes a while, and most files have one.
            documents = json_documents(without_talk(content))
            first = next(documents, None)
            if first is None:
                raise
            documents = chain((first,), documents)
        else:
            yield alone, content
            return
    for document in documents:
        yield _header(document), document


def _header(document: Json) -> _Header:
    try:
        return decode(_HEADER, document)
    except ObjectError as error:
        if error.path:
            raise
        wanted = "Kubernetes objects, as `kubectl get -o json` prints them"
        raise ObjectError("", f"{error.message}; expected {wanted}") from error


def _taken_apart(header: _Header, raw: Json, depth: int = 0) -> Iterator[tuple[str, msgspec.Raw]]:
    """Yield an object, or those of a list, which may have lists in it."""
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET
    if _may_be_list(header, raw):
        items = decode(_LIST, raw).items
    if header.kind is None or items is msgspec.UNSET:  # a custom resource called AllowList, say
        yield _kind(header), msgspec.Raw(raw)
        return
    if depth > DEEPEST:
        raise ObjectError("items", f"lists in lists, more than {DEEPEST} deep")
    # A typed list (PodList) may leave kind and version of its items out.
    default = header.kind.removesuffix("List") or None
    for item in items or ():
        own = decode(_HEADER, item)
        if own.kind is None:
            own = _Header(default, own.apiVersion or header.apiVersion)
        yield from _taken_apart(own, item, depth + 1)


def _may_be_list(header: _Header, raw: Json) -> bool:
    """Return whether it may be a list: these have no name, and custom resources as AllowList do."""
    if header.kind is None or not header.kind.endswith("List"):
        return False
    metadata = None if header.kind == "List" else decode(_NAMED, raw).metadata
    return metadata is None or not metadata.name


def _kind(header: _Header) -> str:
    """Return the kind of an object, with its version where the kind is another API's."""
    if not header.kind:
        raise ObjectError("kind", "an object needs a kind")
    groups = READS.get(header.kind)
    if groups is None or header.apiVersion is None:
        return header.kind
    group, slash, _ = header.apiVersion.partition("/")
    known = (group if slash else "") in groups
    return header.kind if known else f"{header.kind} ({header.apiVersion})"
