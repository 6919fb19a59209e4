"""matchLabelKeys and mismatchLabelKeys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.template import Template, TermAt

_FIELDS: Final = ("matchLabelKeys", "mismatchLabelKeys")


def _keys(at: TermAt) -> Iterator[tuple[str, str]]:
    for name in _FIELDS:
        for index, key in enumerate(getattr(at.written, name) or ()):
            yield f"{at.path}.{name}[{index}]", key


def _no_selector(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if at.has_label_keys and at.written.labelSelector is None:
            field = next(name for name in _FIELDS if getattr(at.written, name))
            yield Spot(f"{at.path}.{field}", "given without a labelSelector")


def _both(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        same = set(at.written.matchLabelKeys or ()) & set(at.written.mismatchLabelKeys or ())
        for key in sorted(same):
            yield Spot(f"{at.path}.mismatchLabelKeys", f"{key} is in matchLabelKeys as well")


def _selected(template: Template) -> Iterator[Spot]:
    if template.owner.stored:
        return  # what is in the selector was merged by the API server
    for at in template.terms:
        selector = at.written.labelSelector
        if selector is None:
            continue
        used = {*(selector.matchLabels or ())}
        used |= {each.key for each in selector.matchExpressions or ()}
        for path, key in _keys(at):
            if key in used and ".matchLabelKeys[" in path:
                yield Spot(path, f"{key} is in the labelSelector as well")


def _absent(template: Template) -> Iterator[Spot]:
    if template.owner.stored:
        return
    known = {*template.labels, *template.owner.given_labels}
    for at in template.terms:
        for path, key in _keys(at):
            if key not in known:
                yield Spot(path, f"the pods of this {template.owner.kind} have no label {key}")


RULES: Final = (
    Rule(
        "label-keys-without-selector",
        Level.ERROR,
        "A term has label keys and no labelSelector.",
        "The API server refuses the pod, or the workload: must not be specified when "
        "labelSelector is not set.",
        "Add the labelSelector that the keys are to narrow; labelSelector: {} for all pods with "
        "the same value.",
        _no_selector,
    ),
    Rule(
        "label-key-in-both",
        Level.ERROR,
        "A label key is in matchLabelKeys and in mismatchLabelKeys.",
        "The API server refuses the pod, or the workload: no pod has both the same value and "
        "another one.",
        "Remove it from one of the two.",
        _both,
    ),
    Rule(
        "label-key-already-selected",
        Level.ERROR,
        "A key of matchLabelKeys is in the labelSelector as well.",
        "The API server refuses the pods. A workload is accepted all the same and makes none.",
        "Remove it from one of the two.",
        _selected,
    ),
    Rule(
        "label-key-absent",
        Level.WARNING,
        "A label key names a label that the pods do not have.",
        "The key is skipped without a word, and the term is about more pods than was meant. "
        "pod-template-hash is a label of a Deployment's pods; a StatefulSet's and a DaemonSet's "
        "have controller-revision-hash.",
        "Add the label to the template, or use a key that the pods have.",
        _absent,
    ),
)
