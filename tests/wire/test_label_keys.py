"""Label keys are merged for pods that nobody has created yet, and left alone for all others."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.wire.objects import PodReader
from tests.annotating import REQUIRED, annotated
from tests.beside import RULES, needs_rules
from tests.builders import HOST, Json, pod, requirement, selector, term
from tests.strategies import POD_LABELS, labels, requirements

WEB = Requirement("app", Operator.IN, frozenset(("web",)))
V1 = Requirement("version", Operator.IN, frozenset(("1",)))
NOT_V1 = Requirement("version", Operator.NOT_IN, frozenset(("1",)))

OWNER = pod("x").labels(app="web", version="1")
WRITTEN = OWNER.affinity(
    term(HOST, selector(app="web"), matchLabelKeys=["version"]),
    term(HOST, selector(app="web"), mismatchLabelKeys=["version"]),
)
MERGED = OWNER.affinity(
    term(HOST, selector(requirement("version", "In", "1"), app="web"), matchLabelKeys=["version"]),
    term(
        HOST,
        selector(requirement("version", "NotIn", "1"), app="web"),
        mismatchLabelKeys=["version"],
    ),
)

ADDED = [Selector.of((WEB, V1)), Selector.of((WEB, NOT_V1))]
AS_WRITTEN = [Selector.of((WEB,)), Selector.of((WEB,))]

FILES, LIVE = PodReader(rules=RULES), PodReader(stored=True, rules=RULES)


@pytest.mark.parametrize(
    ("reader", "raw", "expected"),
    [
        pytest.param(FILES, WRITTEN, ADDED, id="a manifest, as it will be once it is created"),
        pytest.param(
            FILES,
            WRITTEN.stored_at("7"),
            AS_WRITTEN,
            id="a dump of a cluster: the label came after the pod",
        ),
        pytest.param(FILES, MERGED.stored_at("7"), ADDED, id="a dump: merged at its creation"),
        pytest.param(FILES, MERGED, ADDED, id="a dump without versions: nothing is added"),
        pytest.param(
            LIVE, WRITTEN.stored_at("7"), AS_WRITTEN, id="an API server: the label came after"
        ),
        pytest.param(LIVE, WRITTEN, AS_WRITTEN, id="an API server, whatever it leaves out"),
        pytest.param(LIVE, MERGED.stored_at("7"), ADDED, id="an API server: merged at creation"),
    ],
)
def test_where_label_keys_are_merged(
    reader: PodReader, raw: dict[str, Any], expected: list[Selector]
) -> None:
    found = reader.read(json.dumps(raw).encode()).pod_class.affinity.required
    assert [term.pods.selector for term in found] == expected


def refused(raw: Json) -> bool:
    """Restate which terms the API server refuses: it looks after merging, at the selector."""
    same, other = raw["matchLabelKeys"], raw["mismatchLabelKeys"]
    seen = {*raw["labelSelector"].get("matchLabels", {})}
    for each in raw["labelSelector"]["matchExpressions"]:
        if each["key"] in same and each["key"] in seen:
            return True
        seen.add(each["key"])
    return not set(same).isdisjoint(other)


def appended(raw: Json, owner: dict[str, str]) -> dict[str, Any]:
    """Restate what the API server does with label keys on create: it appends each, unseen."""
    stored: dict[str, Any] = deepcopy(dict(raw))
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        stored["labelSelector"]["matchExpressions"] += [
            requirement(key, operator, owner[key]) for key in raw[field] if key in owner
        ]
    return stored


KEYS = st.lists(st.sampled_from([*POD_LABELS, "absent"]), max_size=2)


@st.composite
def accepted(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, Any]]:
    """Draw the labels of a pod, and a term of it that the API server accepts."""
    owner = draw(labels(POD_LABELS))
    raw = term(
        HOST,
        selector(**draw(labels(POD_LABELS))),
        matchLabelKeys=draw(KEYS),
        mismatchLabelKeys=draw(KEYS),
    )
    raw["labelSelector"]["matchExpressions"] = draw(st.lists(requirements(POD_LABELS), max_size=3))
    assume(not refused(appended(raw, owner)))
    return owner, raw


def effective(reader: PodReader, raw: Json) -> Selector:
    """Return the selector of the one term, as a reader takes it."""
    (found,) = reader.read(json.dumps(raw).encode()).pod_class.affinity.required
    return found.pods.selector


@given(accepted())
def test_what_a_manifest_means_is_what_the_api_server_stores(
    drawn: tuple[dict[str, str], dict[str, Any]],
) -> None:
    owner, written = drawn
    stored = appended(written, owner)
    manifest, live = (pod("x").labels(owner).affinity(each) for each in (written, stored))
    assert effective(FILES, manifest) == effective(LIVE, live)
    # What is merged already stays as it is, whoever looks at it.
    assert effective(FILES, live) == effective(LIVE, live)


@needs_rules
def test_annotations_of_stored_pods_mean_what_the_api_server_would_have_made_of_them() -> None:
    selected = selector(requirement("version", "NotIn", "0"), app="web")
    apart = {"podAntiAffinity": {REQUIRED: [term(HOST, selected, mismatchLabelKeys=["version"])]}}
    read = LIVE.read(json.dumps(annotated(OWNER.stored_at("7"), apart)).encode()).pod_class
    (found,) = read.affinity.required_anti
    old = Requirement("version", Operator.NOT_IN, frozenset(("0",)))
    assert found.pods.selector == Selector.of((WEB, old, NOT_V1))
