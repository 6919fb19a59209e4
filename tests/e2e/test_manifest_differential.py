"""Manifests, strictly decoded and validated by a real API server, and judged by lint.

What the API server refuses for a field that lint speaks of is found there; what it takes has no
finding that says otherwise. `NOT_READ` and `ACCEPTED` have the differences that stand in
docs/lint.md. The extender's own readers take each pod that the API server takes, and refuse an
annotation with a rule that it would not take in a spec.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import pytest

from affinityctl.commands.lint.fields import FIELDS
from affinityctl.commands.lint.linting import lint
from affinityctl.commands.lint.objects import Objects
from affinityctl.commands.lint.rulebook import OF_WRITTEN
from affinityctl.reading.sources import PassedOver, read_objects
from extender.core.wire.affinity import EVERY_GATE_ON
from extender.core.wire.objects import PodReader
from extender.core.wire.topology_spread import FIELD
from tests.beside import RULES
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.manifests import COLLECTIONS, Case, Drawing
from tests.test_plain_yaml import VALUES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane

JSON = dict[str, Any]

_AT_A_TIME = 8
_DRY = "?dryRun=All&fieldValidation=Strict"
NOT_READ = re.compile(
    r"containers\[\d+\]\.(name|image|ports\[\d+\]\.name)$|^metadata\.name$|schedule$"
)
"""Fields about which lint says nothing: a name, an image, a schedule."""
ACCEPTED = frozenset(("label-key-already-selected",))
"""Rules about what the API server takes in a template, and refuses in the pods that it makes."""
ELSEWHERE = "does not match the namespace sent on the request"
_STATUSES = (HTTPStatus.CREATED, HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_REFUSED = frozenset(rule.id for rule in OF_WRITTEN)


class Answer(NamedTuple):
    """What the API server says of a manifest."""

    status: int
    said: str
    fields: frozenset[str]
    """The paths of what validation refuses."""
    stored: JSON
    """What it would have stored, had it taken the manifest."""


class Asking:
    """Puts manifests to an API server, which stores none."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def create(self, path: str, body: str) -> Answer:
        """Create something for good."""
        return await self._post(path, body, "")

    async def about(self, cases: Iterable[Case]) -> list[Answer]:
        """Return what it says of each."""
        every = [*cases]
        answers: dict[int, Answer] = {}
        rest = iter(enumerate(every))

        async def work() -> None:
            for index, case in rest:
                path = COLLECTIONS[case.manifest["kind"]]
                answers[index] = await self._post(path, case.written(), _DRY)

        await asyncio.gather(*(work() for _ in range(_AT_A_TIME)))
        return [answers[index] for index in range(len(every))]

    async def about_yaml(self, written: str) -> Answer:
        """Return what it says of a pod in YAML."""
        path = COLLECTIONS["Pod"]
        return await self._post(path, written, _DRY, "application/yaml")

    async def get(self, path: str) -> JSON:
        async with self._session.get(f"{self._server}{path}") as reply:
            found: JSON = await reply.json()
            return found

    async def _post(
        self, path: str, body: str, query: str, content_type: str = "application/json"
    ) -> Answer:
        headers = {"Content-Type": content_type}
        async with self._session.post(
            f"{self._server}{path}{query}", data=body, headers=headers
        ) as reply:
            found = await reply.json()
        causes = (found.get("details") or {}).get("causes") or ()
        fields = frozenset(_as_lint_has_it(each.get("field", "")) for each in causes)
        return Answer(reply.status, found.get("message", ""), fields, found)


def _as_lint_has_it(field: str) -> str:
    """Return the path of a field, which the API server writes in ways of its own."""
    if field.startswith("metadata"):
        return field
    field = re.sub(r"\[([^\]]*[^\]\d][^\]]*)\]", r".\1", field)
    field = re.sub(r"(\]|\.podAffinityTerm)\[(\d+)\]$", r"\1.matchLabelKeys[\2]", field)
    field = field.replace("template.labels", "template.metadata.labels")
    return re.sub(r"\.namespace$", ".namespaces", field)


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server alone."""
    folder = tmp_path_factory.mktemp("manifests")
    with storage_and_apiserver(binaries, binaries, folder, []) as cluster:
        yield cluster


@pytest.fixture
async def asking(cluster: ControlPlane) -> AsyncIterator[Asking]:
    trusted = ssl.create_default_context(cafile=cluster.credentials.ca)
    headers = {"Authorization": f"Bearer {ADMIN.token}"}
    connector = aiohttp.TCPConnector(ssl=trusted)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        asking = Asking(session, cluster.server)
        body = {"metadata": {"name": "high"}, "value": 10}
        await asking.create("/apis/scheduling.k8s.io/v1/priorityclasses", json.dumps(body))
        yield asking


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> int:
    """Return how many manifests are drawn: half as many as there are questions."""
    return int(request.config.getoption("--questions")) // 2


class Found(NamedTuple):
    """What lint says."""

    refused: list[tuple[str, str]]
    """What it finds that the API server would refuse: the rules, and the paths."""
    patch: bool
    """It takes the manifest for one, which may lack any field."""
    left: bool
    """It takes the manifest for what `dump` leaves of a controller, and does not look at it."""


def findings(case: Case, file: Path) -> Found:
    return looked_at(case.written(), file)


def looked_at(written: str, file: Path) -> Found:
    file.write_text(written)
    objects = Objects()
    objects.take(read_objects(file, PassedOver()), lenient=True)
    report = lint(objects, [], objects.around(whole=False, minor=None))
    found = [(each.rule.id, each.path) for each in report.findings if each.rule.id in _REFUSED]
    return Found(found, patch=bool(objects.patches), left=not objects.written)


def difference(case: Case, theirs: Answer, file: Path) -> str | None:
    """Return where lint and the API server differ, None where they agree."""
    found, patch, left = findings(case, file)
    match theirs.status:
        case _ if left:
            return None
        case HTTPStatus.CREATED:
            rest = [each for each in found if each[0] not in ACCEPTED]
            return f"taken, and lint finds {rest}" if rest else None
        case HTTPStatus.BAD_REQUEST:
            paths = [path for _, path in found]
            known = ELSEWHERE in theirs.said or all(_decoded(theirs.said, paths))
            return None if known else f"lint finds {paths}: {theirs.said}"
        case HTTPStatus.UNPROCESSABLE_ENTITY:
            read = (each for each in theirs.fields if NOT_READ.search(each) is None)
            missing = [each for each in read if not any(_near(each, path) for _, path in found)]
            lacks = missing and not patch
            return f"lint finds {found}, not {missing}: {theirs.said}" if lacks else None
        case HTTPStatus.FORBIDDEN:  # by admission, which knows the cluster's priority classes
            return None
    return f"{theirs.status}: {theirs.said}"


def _decoded(said: str, paths: list[str]) -> Iterator[bool]:
    """Yield whether each field that cannot be decoded is found."""
    yield bool(paths)
    for named in re.findall(r'(?:unknown|duplicate) field "([^"]*)"', said):
        yield named in paths
    for named in re.findall(r"Go struct field \S+?([^.\s]+) of type", said):  # without indexes
        yield any(named in re.sub(r"\[\d+\]", "", path).split(".") for path in paths)


def _near(field: str, path: str) -> bool:
    """Return whether two paths are of one field, or of one within the other."""
    value = re.sub(r"(tolerations\[\d+\])\.value$", r"\1.operator", path)
    request = path.replace(".limits.", ".requests.")  # which a limit stands for as well
    return any(field.startswith(each) or each.startswith(field) for each in (path, value, request))


async def test_lint_finds_what_the_api_server_refuses_and_nothing_else(
    asking: Asking, examples: int, start: int, tmp_path: Path, say: Callable[[str], None]
) -> None:
    drawing = Drawing(start)
    cases = [drawing.case() for _ in range(examples)]
    answers = await asking.about(cases)
    differing = [
        f"{case.manifest['kind']} {case.changes}: {found}"
        for number, (case, theirs) in enumerate(zip(cases, answers, strict=True))
        if (found := difference(case, theirs, tmp_path / f"{number}.json")) is not None
    ]
    assert not differing, "\n".join(differing)
    counts = Counter(each.status for each in answers)
    say(f"manifests: {dict(counts)}")
    assert min(counts[status] for status in _STATUSES) > examples // 12, counts


async def test_the_extender_reads_each_pod_that_the_api_server_takes(
    asking: Asking, examples: int, start: int
) -> None:
    drawing = Drawing(start)
    cases = [drawing.case("Pod") for _ in range(examples // 4)]
    readable = 0
    for case, theirs in zip(cases, await asking.about(cases), strict=True):
        if theirs.status == HTTPStatus.CREATED:
            pod = PodReader().read(json.dumps(theirs.stored).encode())
            assert FIELD not in pod.spec.requirements.unmodelled, case.changes
            readable += 1
    assert readable > len(cases) // 8


async def test_rules_in_an_annotation_are_those_that_a_spec_can_have(
    asking: Asking, examples: int, start: int
) -> None:
    drawing = Drawing(start)
    cases = [drawing.case("Pod", within="spec.affinity") for _ in range(examples // 4)]
    assert RULES is not None
    reader, both = RULES(EVERY_GATE_ON), Counter[bool]()
    for case, theirs in zip(cases, await asking.about(cases), strict=True):
        if case.twice:
            continue  # JSON in an annotation may have a field twice
        affinity = json.dumps(case.manifest["spec"].get("affinity") or {})
        fault = reader.read("default", _annotated(affinity)).fault
        if fault is not None and _REFUSED_IN_ANNOTATIONS.search(fault[1]):
            continue
        taken = theirs.status == HTTPStatus.CREATED
        assert taken is (fault is None), (case.changes, theirs, fault)
        both[taken] += 1
    assert min(both[True], both[False]) > len(cases) // 8


_REFUSED_IN_ANNOTATIONS = re.compile("`null`|takes one integer$|is not a label value$")
"""Null, an empty string to the API server; and what that takes of node affinity, although the
scheduler cannot read it: comparisons with no number, and preferred values that no label has."""


def _annotated(affinity: str) -> tuple[bytes, ...]:
    return json.dumps(affinity).encode(), b"null", b"null"


LABELLED = """\
apiVersion: v1
kind: Pod
metadata:
  name: it
  labels:
    a: {value}
spec:
  containers: [{{name: c, image: i}}]
"""
SKEWED = """\
apiVersion: v1
kind: Pod
metadata: {{name: it}}
spec:
  containers: [{{name: c, image: i}}]
  topologySpreadConstraints:
  - topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    maxSkew: {value}
"""


@pytest.mark.parametrize("template", [LABELLED, SKEWED], ids=["a label", "a number"])
async def test_values_that_are_not_quoted_are_read_alike(
    template: str, asking: Asking, tmp_path: Path
) -> None:
    for number, value in enumerate(VALUES):
        written = template.format(value=value)
        theirs = await asking.about_yaml(written)
        found, *_ = looked_at(written, tmp_path / f"{number}.yaml")
        assert (theirs.status == HTTPStatus.CREATED) is (found == []), (value, theirs, found)


_BASES = {
    "PreferredNodeSelectorTerm": "NodeSelectorTerm",
    "PreferredNodeSelectorRequirement": "NodeSelectorRequirement",
    "FieldSelectorRequirement": "NodeSelectorRequirement",
}
"""Types that are apart because other values are taken in some places."""
_JSON_TYPES = {
    "integer": {"int32", "int64", "count", "positive", "weight", "port", "hostport"},
    "boolean": {"bool"},
    "string": {"str", "key", "value", "label", "namespace", "name", "filled", "taintkey"},
}


async def test_the_fields_are_those_of_the_api(asking: Asking) -> None:
    schemas: JSON = {}
    for group in ("api/v1", "apis/apps/v1", "apis/batch/v1", "apis/policy/v1"):
        found = await asking.get(f"/openapi/v3/{group}")
        schemas |= found["components"]["schemas"]
    theirs = {name.rpartition(".")[2]: each.get("properties", {}) for name, each in schemas.items()}
    for name, fields in FIELDS.items():
        properties = theirs[_BASES.get(name, name)]
        assert fields.keys() == properties.keys(), name
        for field, ours in fields.items():
            if ours.name:
                _check_type(f"{name}.{field}", ours, properties[field])


def _check_type(field: str, ours: Any, theirs: JSON) -> None:
    if ours.within:
        inner = theirs["items"] if ours.within == "[" else theirs["additionalProperties"]
        assert theirs["type"] == ("array" if ours.within == "[" else "object"), field
        _check_type(field, ours._replace(within=""), inner)
        return
    reference = (theirs.get("allOf") or [theirs])[0].get("$ref", "").rpartition(".")[2]
    if reference:
        named = {"share": "IntOrString", "quantity": "Quantity"}.get(ours.name, ours.name)
        assert _BASES.get(named, named) == reference, field
    elif "|" in ours.name:
        assert theirs["type"] == "string", field
    else:
        assert ours.name in _JSON_TYPES[theirs["type"]], field
        if ours.name == "int64":
            assert theirs["format"] == "int64", field
