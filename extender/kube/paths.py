"""Paths of requests, made of names that may come from anywhere.

A path goes out as it is written here, so names are percent-encoded once, and by nobody else.
"""

from __future__ import annotations

from urllib.parse import quote

from extender.errors import ObjectError

_NOT_SEGMENTS = frozenset(("", ".", ".."))


def pod_path(key: str) -> str:
    """Return where the API server has a pod, by namespace/name.

    ObjectError for names that would lead elsewhere: whoever may call /bind chooses them.
    """
    namespace, _, name = key.partition("/")
    return f"/api/v1/namespaces/{_segment(namespace)}/pods/{_segment(name)}"


def _segment(name: str) -> str:
    # As the API machinery has it in IsValidPathSegmentName.
    if name in _NOT_SEGMENTS or "/" in name or "%" in name:
        raise ObjectError("metadata.name", f"no name of an object: {name[:80]!a}")
    return quote(name, safe="")
