"""Node affinity as kube-scheduler reads it, whatever stands there."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.model.node_selection import NodeSelection
from extender.core.wire.limits import OF_REQUESTS
from extender.core.wire.node_selection import NodeSelectionReader, read_node_selection
from extender.core.wire.objects import PodReader
from tests.builders import Pod, node_term, pod, requirement

LABELS = {
    "disk": "ssd",
    "cores": "16",
    "zone": "a",
    "big": "9223372036854775808",
    "snake": "1_6",
    "zeros": "0" * 5_000 + "5",
}
NEW = pod("new")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def read(raw: Pod, reader: PodReader | None = None) -> NodeSelection | None:
    """Read what a pod says of nodes."""
    reader = reader or PodReader(node_selection=True)
    return reader.read(json.dumps(raw).encode()).node_selection


def required(*terms: Any) -> Pod:
    """Build a pod with required node affinity."""
    return NEW.requires_nodes(*terms)


def expression(key: str, operator: str, *values: str) -> Pod:
    """Build a pod with required node affinity of one expression."""
    return required(node_term(requirement(key, operator, *values)))


def by_field(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    """Build a term about a field."""
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(NEW, id="nothing at all"),
        pytest.param(Pod({**NEW, "spec": {"nodeSelector": {}, "affinity": {}}}), id="empty"),
        pytest.param(Pod({**NEW, "spec": {"nodeSelector": None, "affinity": None}}), id="null"),
        pytest.param(Pod({**NEW, "spec": {"affinity": {"podAffinity": {}}}}), id="about pods"),
        pytest.param(Pod({**NEW, "spec": {"affinity": {"nodeAffinity": {}}}}), id="no terms"),
        pytest.param(NEW.prefers_nodes(0, node_term(In="n")), id="a preference without weight"),
        pytest.param(NEW.prefers_nodes(9, {}), id="a preference for nothing"),
        pytest.param(NEW.prefers_nodes(9, None), id="a preference that is null"),
    ],
)
def test_pods_to_which_every_node_is_alike(raw: Pod) -> None:
    assert read(raw) is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(NEW.selects(disk="ssd", zone="a"), True, id="a selector"),
        pytest.param(NEW.selects(disk="ssd", zone="b"), False, id="half a selector"),
        pytest.param(NEW.selects(**{"not a key": ""}), False, id="a selector is not checked"),
        pytest.param(required(), False, id="no terms match nothing"),
        pytest.param(required({}), False, id="an empty term matches nothing"),
        pytest.param(required(None), False, id="a null term matches nothing"),
        pytest.param(
            required(None, node_term(requirement("disk", "Exists"))), True, id="one beside null"
        ),
        pytest.param(
            required({}, node_term(requirement("disk", "Exists"))), True, id="one of two terms"
        ),
        pytest.param(
            required(node_term(requirement("disk", "Exists"), requirement("x", "Exists"))),
            False,
            id="each requirement of a term",
        ),
        pytest.param(
            expression("disk", "In", "ssd").selects(zone="b"), False, id="the selector as well"
        ),
        pytest.param(expression("disk", "In", "hdd", "ssd"), True, id="In"),
        pytest.param(expression("disk", "NotIn", "ssd"), False, id="NotIn"),
        pytest.param(expression("x", "NotIn", "ssd"), True, id="NotIn, no such label"),
        pytest.param(expression("x", "DoesNotExist"), True, id="DoesNotExist"),
        pytest.param(expression("cores", "Gt", "15"), True, id="above"),
        pytest.param(expression("cores", "Gt", "16"), False, id="not above"),
        pytest.param(expression("cores", "Lt", "17"), True, id="below"),
        pytest.param(expression("cores", "Lt", "0017"), True, id="below, with zeros"),
        pytest.param(expression("disk", "Lt", "17"), False, id="no number"),
        pytest.param(expression("none", "Gt", "1"), False, id="no label"),
        pytest.param(expression("big", "Gt", "1"), False, id="no number of 64 bits"),
        pytest.param(expression("snake", "Gt", "1"), False, id="no number in Go"),
        pytest.param(expression("zeros", "Gt", "4"), True, id="more digits than Python reads"),
        pytest.param(expression("zeros", "Gt", "5"), False, id="and their value"),
        pytest.param(required(node_term(In="n")), True, id="a name"),
        pytest.param(required(node_term(In="m")), False, id="another name"),
        pytest.param(required(node_term(NotIn="m")), True, id="all but a name"),
        pytest.param(required(node_term(NotIn="n")), False, id="not this name"),
        pytest.param(required(node_term(In="n", NotIn="n")), False, id="a name and not"),
        pytest.param(
            required(node_term(requirement("disk", "In", "hdd"), In="n")),
            False,
            id="a name and expressions",
        ),
        pytest.param(required(by_field("In", "", key="spec.x")), True, id="an unknown field"),
        pytest.param(required(by_field("In", "n", key="spec.x")), False, id="a field it lacks"),
        pytest.param(required(by_field("NotIn", "", key="spec.x")), False, id="NotIn, it lacks it"),
        # What follows is broken, and matches nothing.
        pytest.param(expression("disk", "Near", "ssd"), False, id="an unknown operator"),
        pytest.param(expression("disk", "", "ssd"), False, id="no operator"),
        pytest.param(expression("", "DoesNotExist"), False, id="no key"),
        pytest.param(expression("a/b/c", "DoesNotExist"), False, id="no label key"),
        pytest.param(expression("A.b/c", "DoesNotExist"), False, id="no domain before it"),
        pytest.param(expression("/c", "DoesNotExist"), False, id="nothing before the slash"),
        pytest.param(expression("x" * 64, "DoesNotExist"), False, id="a key that is too long"),
        pytest.param(expression("x" * 63, "DoesNotExist"), True, id="a long one"),
        pytest.param(expression("x\n", "DoesNotExist"), False, id="a line end in a key"),
        pytest.param(expression("x", "NotIn", "a b"), False, id="no label value"),
        pytest.param(expression("x", "NotIn", "v" * 64), False, id="a value that is too long"),
        pytest.param(expression("x", "NotIn", ""), True, id="an empty value"),
        pytest.param(expression("x", "NotIn"), False, id="NotIn nothing"),
        pytest.param(expression("disk", "Exists", "ssd"), False, id="Exists with a value"),
        pytest.param(expression("cores", "Gt", "x"), False, id="a bound that is no number"),
        pytest.param(expression("cores", "Gt", "-1"), False, id="a bound that is no label value"),
        pytest.param(expression("cores", "Lt", "99", "99"), False, id="two bounds"),
        pytest.param(expression("cores", "Lt"), False, id="no bound"),
        pytest.param(required(by_field("In", "n", "m")), False, id="two names"),
        pytest.param(required(by_field("In")), False, id="no name"),
        pytest.param(required(by_field("Exists")), False, id="no operator for a field"),
        pytest.param(
            required(by_field("Exists"), node_term(In="n")), True, id="the other term is sound"
        ),
    ],
)
def test_which_nodes_a_pod_asks_for(raw: Pod, expected: bool) -> None:
    found = read(raw)
    assert found is not None
    assert found.required is not None
    assert bool(found.required.judge("n", LABELS)) is expected
    assert found.fault is None


def test_preferred_terms_add_up() -> None:
    raw = (
        NEW.prefers_nodes(10, node_term(requirement("disk", "Exists")))
        .prefers_nodes(3, node_term(In="n"), node_term(requirement("x", "DoesNotExist")))
        .prefers_nodes(50, node_term(In="m"), {})
    )
    found = read(raw)
    assert found is not None
    assert found.required is None
    assert found.preferred is not None
    assert found.preferred.judge("n", LABELS) == 16
    assert found.preferred.judge("m", {}) == 53


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            NEW.prefers_nodes(1, node_term(In="n"), node_term(requirement("a", "Near", "x"))),
            (f"{PREFERRED}[1].preference.matchExpressions[0]", "'Near' is not an operator"),
            id="an unknown operator",
        ),
        pytest.param(
            NEW.prefers_nodes(1, by_field("In")),
            (f"{PREFERRED}[0].preference.matchFields[0]", "operator In takes one value"),
            id="no name",
        ),
        pytest.param(
            NEW.prefers_nodes(0, node_term(requirement("a", "Near"))).prefers_nodes(1, {}),
            None,
            id="a term without weight is not even read",
        ),
    ],
)
def test_a_broken_preferred_term_is_named(raw: Pod, expected: tuple[str, str] | None) -> None:
    found = read(raw)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert found.fault == (f"spec.affinity.nodeAffinity.{expected[0]}", expected[1])


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"nodeSelector": {"a": 1}}, "spec.nodeSelector", id="a selector"),
        pytest.param(
            {"affinity": {"nodeAffinity": {REQUIRED: []}}},
            f"spec.affinity.nodeAffinity.{REQUIRED}",
            id="a list of terms",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1 << 31}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
            id="a weight beyond 32 bits",
        ),
    ],
)
def test_what_no_decoder_takes_is_an_error(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(ObjectError) as caught:
        read(Pod({**NEW, "spec": spec}))
    assert str(caught.value).startswith(field)


def test_pods_with_the_same_bytes_share_what_was_read() -> None:
    reader = PodReader(node_selection=True)
    one = read(NEW.selects(disk="ssd"), reader)
    assert one is not None
    assert read(NEW.uid("other").selects(disk="ssd"), reader) is one
    assert PodReader().read(json.dumps(NEW.selects(disk="ssd")).encode()).node_selection is None


def test_large_ones_are_shared_while_there_are_such_pods() -> None:
    reader = NodeSelectionReader()
    raw = required(*(node_term(In=f"node-{number}" * 9) for number in range(6000)))
    affinity = json.dumps(raw["spec"]["affinity"]).encode()
    first = reader.read(affinity, b"null")
    assert first is not None
    assert len(reader._known) == 0, "too large to be kept for its bytes"
    assert reader.read(affinity, b"null") is first
    del first
    gc.collect()
    assert len(reader._alive) == 0


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(
            [node_term(requirement("a", "Exists"))] * (OF_REQUESTS.conditions + 1),
            "1025 conditions are more than the 1024",
            id="conditions",
        ),
        pytest.param(
            [node_term(requirement("a", "In", *map(str, range(5000))))],
            "5002 terms, conditions and values are more than the 5000",
            id="values",
        ),
        pytest.param(
            [node_term()] * 5001, "5001 terms are more than the 5000", id="terms, uncounted inside"
        ),
        pytest.param([node_term(In=f"n{number}") for number in range(1500)], None, id="names"),
    ],
)
def test_longer_ones_than_can_be_answered_are_an_error(
    terms: list[Any], expected: str | None
) -> None:
    reader = PodReader(node_selection=True, most_entries=5000)
    if expected is None:
        assert read(required(*terms), reader) is not None
        return
    with pytest.raises(ObjectError, match=expected):
        read(required(*terms), reader)


def test_what_is_no_pods_is_read_with_all_its_faults() -> None:
    one, other = node_term(requirement("a", "Near")), node_term(requirement("", "Exists"))
    raw = required(one, node_term(In="n")).prefers_nodes(1, other)["spec"]["affinity"]
    found, faults = read_node_selection(json.dumps(raw["nodeAffinity"]).encode())
    assert found.required is not None
    assert [field for field, _ in faults] == [
        f"{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]",
        f"{PREFERRED}[0].preference.matchExpressions[0]",
    ]
