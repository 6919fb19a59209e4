"""Rules in annotations, which are not read yet: no pod that carries some is judged without them."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from extender.errors import ObjectError
from extender.model.objects import Pod

_log = logging.getLogger(__name__)


def unread_rules(pod: Pod) -> ObjectError | None:
    """Return an error that names the annotation with rules that a pod carries, None without one."""
    if pod.annotation is None:
        return None
    return ObjectError(
        f"metadata.annotations[{pod.annotation}]",
        "rules in this annotation are not supported yet, and the pod is not placed without them",
    )


def check_annotations(pod: Pod) -> None:
    """Raise an ObjectError for a pod with rules in an annotation."""
    error = unread_rules(pod)
    if error is not None:
        raise error


def warn_of_annotated(pods: Iterable[Pod]) -> None:
    """Say once that some of the pods that are there carry such rules."""
    annotated = [pod for pod in pods if pod.annotation is not None]
    if annotated:
        one = annotated[0]
        _log.warning(
            "%d pods carry an annotation with rules, which are not supported yet and do not count: "
            "%s has %s",
            len(annotated),
            one.key,
            one.annotation,
        )
