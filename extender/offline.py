"""A cluster from files instead of an API server."""

from __future__ import annotations

import gzip
import logging
import mmap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import yaml

from extender.cluster.state import ClusterState
from extender.errors import ExtenderError, ObjectError
from extender.wire.objects import (
    Json,
    PodReader,
    decode,
    read_budget,
    read_namespace,
    read_node,
)
from extender.wire.quotas import read_quota

try:
    from yaml import CSafeLoader as YamlLoader
except ImportError:  # PyYAML without libyaml: slower, the same answers
    from yaml import SafeLoader as YamlLoader  # type: ignore[assignment]

_log = logging.getLogger(__name__)

GZIP_MAGIC = b"\x1f\x8b"


class ClusterFileError(ExtenderError):
    """A cluster file that cannot be read; names the file, the object and the field."""


class _Header(msgspec.Struct):
    kind: str | None = None


class _List(msgspec.Struct):
    kind: str | None = None
    items: list[msgspec.Raw] | None = None


_HEADER = msgspec.json.Decoder(_Header)
_LIST = msgspec.json.Decoder(_List)


def load_cluster(path: Path, state: ClusterState, pods: PodReader) -> Counter[str]:
    """Put the objects of a file into the state; return how many there were of each kind.

    Reads what `kubectl get nodes,namespaces,pods,poddisruptionbudgets -A -o json` prints, or a
    YAML stream, plain or gzip. Kinds that no rule looks at are counted and otherwise left alone, as
    are ResourceQuotas unless the reader of pods says what they are charged for.
    """
    kinds: Counter[str] = Counter()
    try:
        for index, (kind, raw) in enumerate(_objects(_content(path))):
            kinds[kind] += 1
            try:
                _put(kind, raw, pods, state)
            except ObjectError as error:
                raise ClusterFileError(f"{path}: object {index} ({kind}): {error}") from error
    except (OSError, EOFError, ObjectError, yaml.YAMLError) as error:
        raise ClusterFileError(f"{path}: {error}") from error
    return kinds


def _put(kind: str, raw: msgspec.Raw, pods: PodReader, state: ClusterState) -> None:
    match kind:
        case "Pod":
            state.upsert_pod(pods.read(raw))
        case "Node":
            state.upsert_node(read_node(raw))
        case "Namespace":
            state.upsert_namespace(read_namespace(raw))
        case "PodDisruptionBudget":
            state.budgets.upsert(read_budget(raw))
        case "ResourceQuota" if pods.tells_charges:
            state.upsert_quota(read_quota(raw))


def _content(path: Path) -> Json:
    """Return a file's content, without a copy where it is not compressed.

    The mapping ends with its last reference: objects that were cut out of it may outlive a close.
    """
    with path.open("rb") as file:
        magic = file.read(len(GZIP_MAGIC))
        if magic == GZIP_MAGIC:
            return gzip.decompress(path.read_bytes())
        if not magic:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _objects(content: Json) -> Iterator[tuple[str, msgspec.Raw]]:
    """Yield each object with its kind, lists taken apart."""
    documents: Iterable[Json]
    documents = (content,) if content[:64].lstrip()[:1] == b"{" else _yaml_documents(content)
    for document in documents:
        kind = decode(_HEADER, document).kind
        if kind is None or not kind.endswith("List"):
            yield _kind(kind), msgspec.Raw(document)
            continue
        # A typed list (PodList) may leave the kind of its items out.
        default = kind.removesuffix("List") or None
        for item in decode(_LIST, document).items or ():
            yield _kind(decode(_HEADER, item).kind or default), item


def _kind(kind: str | None) -> str:
    if not kind:
        raise ObjectError("kind", "an object needs a kind")
    return kind


def _yaml_documents(content: Json) -> Iterator[bytes]:
    for document in yaml.load_all(bytes(content), Loader=YamlLoader):
        if document is not None:
            yield msgspec.json.encode(document)
