"""Preemption on the wire: the arguments and result of the callback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec
import orjson

from extender.core.errors import ObjectError, RequestError
from extender.core.model.disruption import Victims
from extender.core.model.keys import key_of
from extender.core.model.objects import Pod
from extender.core.wire.decoding import Int64, decode
from extender.core.wire.extender_args import NULL, folded
from extender.core.wire.objects import PodReader

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECT_ORNULL = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_PODS = msgspec.json.Decoder(list[msgspec.Raw] | None)
_UID = msgspec.json.Decoder(str)
_COUNT: msgspec.json.Decoder[int | None] = msgspec.json.Decoder(Int64 | None)


class _VictimMetadata(msgspec.Struct):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None


class _Victim(msgspec.Struct):
    """What names a pod; of victims no more is looked at, for the watch has shown them."""

    metadata: _VictimMetadata


_VICTIM = msgspec.json.Decoder(_Victim)


@dataclass(frozen=True, slots=True)
class PreemptionArgs:
    """For which pod others may be evicted, and which ones the scheduler thinks of, by node."""

    pod: Pod
    candidates: Mapping[str, Victims]


def read_preemption_args(body: bytes, pods: PodReader) -> PreemptionArgs:
    """Read ExtenderPreemptionArgs, with victims by uid or as whole pods.

    RequestError when the body is not such an object at all (the caller is no kube-scheduler);
    ObjectError when it is, but something in it is broken.
    """
    args = _read_args(body)
    if bytes(args["pod"]) == NULL:
        raise ObjectError("Pod", "it is null")
    return PreemptionArgs(pods.read(args["pod"]), _candidates(args))


def read_candidates(body: bytes) -> Mapping[str, Victims]:
    """Read whom the scheduler would evict, by node; errors as of `read_preemption_args`."""
    return _candidates(_read_args(body))


def _read_args(body: bytes) -> Mapping[str, msgspec.Raw]:
    try:
        args = folded(body, _OBJECT)
    except msgspec.ValidationError as error:
        raise RequestError(f"the body is not an ExtenderPreemptionArgs object: {error}") from error
    if "pod" not in args:
        raise RequestError("the body is not an ExtenderPreemptionArgs object: it has no Pod")
    return args


def write_preemption_result(candidates: Mapping[str, Victims]) -> bytes:
    """Write an ExtenderPreemptionResult; victims are named by uid whatever was asked."""
    return orjson.dumps(
        {
            "NodeNameToMetaVictims": {
                node: {
                    "Pods": [{"UID": uid} for uid in victims.uids],
                    "NumPDBViolations": victims.violations,
                }
                for node, victims in candidates.items()
            }
        }
    )


def _candidates(args: Mapping[str, msgspec.Raw]) -> dict[str, Victims]:
    """Read whichever of the two maps is given; with both null, the scheduler means neither."""
    for name, uid_of in (
        ("NodeNameToMetaVictims", _meta_uid),
        ("NodeNameToVictims", _whole_uid),
    ):
        raw = args.get(name.lower())
        if raw is not None and bytes(raw) != NULL:
            return {
                node: _victims(victims, f"{name}.{node}", uid_of)
                for node, victims in decode(_OBJECT, raw, name).items()
            }
    raise ObjectError("NodeNameToMetaVictims", "neither it nor NodeNameToVictims is given")


def _victims(raw: msgspec.Raw, path: str, uid_of: Callable[[msgspec.Raw, str], str]) -> Victims:
    found = decode(_OBJECT_ORNULL, raw, path) or {}
    fields = {key.lower(): value for key, value in found.items()}
    null = msgspec.Raw(NULL)
    listed = decode(_PODS, fields.get("pods", null), f"{path}.Pods") or ()
    violations = decode(_COUNT, fields.get("numpdbviolations", null), f"{path}.NumPDBViolations")
    return Victims([uid_of(pod, f"{path}.Pods") for pod in listed], violations or 0)


def _whole_uid(raw: msgspec.Raw, path: str) -> str:
    metadata = decode(_VICTIM, raw, path).metadata
    # As wherever pods are read: in manifests there is no uid.
    return metadata.uid or key_of(metadata.namespace or "default", metadata.name)


def _meta_uid(raw: msgspec.Raw, path: str) -> str:
    for key, value in decode(_OBJECT, raw, path).items():
        if key.lower() == "uid":
            return decode(_UID, value, f"{path}.UID")
    raise ObjectError(f"{path}.UID", "a victim needs a uid")
