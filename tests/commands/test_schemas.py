"""What -o json and -o yaml print is what docs/reference/schemas say, and nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from affinityctl import cli
from affinityctl.commands import COMMANDS
from extender.core.config import API_VERSION, KIND
from tests.annotating import annotated
from tests.builders import HOST, ZONE, crossing, node, pod, quota, selector, term, workload
from tests.cases.test_cases import CASES
from tests.commands.advise.test_advise import zones
from tests.deploy.places import EXAMPLES, ROOT, SAMPLES

SCHEMAS = ROOT / "docs" / "reference" / "schemas"
CASE_FOLDER = ROOT / "tests" / "cases"
SAMPLE = SAMPLES / "cluster.yaml"

LINES = [
    *(line for line, *_ in CASES),
    f"explain -A --cluster {SAMPLE}",
    f"explain -l app --cluster {SAMPLE} -A",
    f"simulate --cluster {SAMPLE}",
    f"simulate --drain-each --cluster {SAMPLE}",
    f"simulate --lose-each zone --cluster {SAMPLE}",
    f"violations --plain-rules= --cluster {SAMPLE}",
    f"quota --what-if pods=0 --cluster {SAMPLE}",
    f"advise --cluster {SAMPLE}",
    f"lint --cluster {SAMPLE}",
    f"lint {EXAMPLES}",
    "version",
]


def validator(command: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{command}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


VALIDATORS = {name: validator(name) for name in COMMANDS if name not in {"config", "dump"}}


@pytest.fixture(autouse=True)
def _among_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASE_FOLDER)


def told(line: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert cli.main([*line.split(), "-o", "json"]) in {0, 1, 4}
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("line", LINES)
def test_an_answer_is_as_its_schema_says(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(line, capsys)
    VALIDATORS[line.split(maxsplit=1)[0]].validate(answer)
    assert cli.main([*line.split(), "-o", "yaml"]) in {0, 1, 4}
    assert yaml.safe_load(capsys.readouterr().out) == answer


def objects(schema: Any) -> Iterator[Any]:
    for each in schema["$defs"].values():
        if "properties" in each:
            yield each


@pytest.mark.parametrize("command", VALIDATORS)
def test_a_schema_lets_no_other_field_in(command: str) -> None:
    schema = json.loads((SCHEMAS / f"{command}.json").read_text())
    assert [each["title"] for each in objects(schema) if each["additionalProperties"]] == []


HARD = "requiredDuringSchedulingRequiredDuringExecution"
APART = term(HOST, selector(app="web"))


def crowded() -> list[Any]:
    """Return a cluster with what samples lack, such as rules in annotations and wishes."""
    web = pod("web").labels(app="web").anti_affinity(APART)
    limits = {HARD: [{**term(HOST, selector(app="cache")), "maxMatchingPods": 1}]}
    limited = annotated(pod("few").labels(app="cache"), {"podAntiAffinity": limits})
    cache = pod("cache").labels(app="cache")
    broken = annotated(pod("broken").on("n2"), {"podAffinity": 7})
    template = pod("t").labels(app="api").anti_affinity(term(ZONE, selector(app="api")))
    wishing = pod("wishing").avoids(100, APART).owned_by("ReplicaSet/wishing-1")
    crossing_pod = pod("crossing", "team").anti_affinity(APART | {"namespaceSelector": {}})
    return [
        *zones(apps=1, placed={"a": 2}),
        *(node(f"n{number}", {HOST: f"n{number}", ZONE: "z"}) for number in (1, 2, 3)),
        web.on("n1"),
        pod("web2").labels(app="web").on("n1"),
        pod("web3").labels(app="web").anti_affinity(APART),
        pod("coming").labels(app="web").priority(9).anti_affinity(APART).nominated("n2"),
        limited,
        cache.on("n2"),
        broken,
        wishing.on("n1"),
        crossing_pod.on("n3"),
        quota("crossing", {"pods": "1"}, crossing(), namespace_name="team"),
        workload("Deployment", "api", template, replicas=2),
        workload("StatefulSet", "db", pod("t").selects(disk="ssd"), replicas=2),
    ]


OF_CROWD = [
    "explain -A",
    "explain default/web3 default/few",
    "explain few",
    "explain wishing",
    "explain web",
    "violations --plain-rules=",
    "violations",
    "simulate",
    "simulate --scale deployment/api=3",
    "simulate --scale deployment/api=0",
    "simulate -f web.json --until-full",
    "simulate --drain n1",
    "simulate --drain-each",
    "simulate --restart deployment/api",
    "quota --limited-by-default",
    "quota --what-if pods=0",
    "lint",
    "advise",
    "leftovers",
]


@pytest.fixture
def crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with the crowded cluster."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": crowded()}))
    head = {"apiVersion": API_VERSION, "kind": KIND, "annotations": {"namespaceSelector": {}}}
    (tmp_path / "config.json").write_text(json.dumps(head))
    another = workload("Deployment", "another", pod("t").labels(app="web").anti_affinity(APART))
    (tmp_path / "web.json").write_text(json.dumps(another))


def of_crowd(line: str) -> str:
    config = "" if line.startswith(("lint", "advise", "leftovers")) else " --config config.json"
    return f"{line} --cluster dump.json{config}"


@pytest.mark.parametrize("line", OF_CROWD)
@pytest.mark.usefixtures("crowd")
def test_so_is_one_about_a_crowded_cluster(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(of_crowd(line), capsys)
    VALIDATORS[line.split(maxsplit=1)[0]].validate(answer)


def fields(schema: Any, answer: Any, whole: Any) -> Iterator[str]:
    """Yield each field of a schema that an answer has, after the name of its object."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    for each in schema.get("anyOf", ()):
        if Draft202012Validator({**each, "$defs": whole["$defs"]}).is_valid(answer):
            yield from fields(each, answer, whole)
    if isinstance(answer, list):
        for item in answer:
            yield from fields(schema.get("items", {}), item, whole)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if of := schema.get("properties", {}).get(name):
                yield f"{schema['title']} {name}"
            yield from fields(of or schema.get("additionalProperties") or {}, value, whole)


@pytest.mark.usefixtures("crowd")
def test_every_field_of_a_schema_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [(line.split()[0], told(of_crowd(line), capsys)) for line in OF_CROWD]
    monkeypatch.chdir(CASE_FOLDER)
    answers += [(line.split()[0], told(line, capsys)) for line in LINES]
    lacking = set()
    for command in VALIDATORS:
        schema = json.loads((SCHEMAS / f"{command}.json").read_text())
        printed = {
            field for of, each in answers if of == command for field in fields(schema, each, schema)
        }
        known = {
            f"{each['title']} {name}" for each in objects(schema) for name in each["properties"]
        }
        lacking |= {f"{command} {each}" for each in known - printed}
    assert lacking == set()
