"""From files to a test: fields, their case and type, modules, values, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterload.compiling import compile_test
from clusterload.decoding import to_yaml
from clusterload.objects import Kind
from clusterload.schema import Config
from clusterload.templates import Templates, mapping
from extender.errors import ConfigError

METHODS = ("Sleep", "Timer")

HEAD = """\
name: test
tuningSets:
- name: Fast
  qpsLoad:
    qps: 10
"""
SLEEP = """\
steps:
- measurements:
  - Identifier: A
    Method: Sleep
    Params:
      duration: 1s
"""
PHASE = """\
steps:
- phases:
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: 3
    tuningSet: Fast
    objectBundle:
    - basename: pod
      objectTemplatePath: pod.yaml
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{.Name}}\n"


def compiled(folder: Path, text: str, **values: Any) -> Config:
    (folder / "test.yaml").write_text(text)
    (folder / "pod.yaml").write_text(POD)
    return compile_test(templates(folder), "test.yaml", values, METHODS)


def templates(folder: Path) -> Templates:
    return Templates(folder, random.Random(1))


def test_keys_may_be_in_any_case(tmp_path: Path) -> None:
    config = compiled(tmp_path, HEAD + SLEEP)

    (step,) = config.steps
    (call,) = step.measurements
    assert (call.identifier, call.method, call.params) == ("A", "Sleep", {"duration": "1s"})


def test_defaults_are_filled_in(tmp_path: Path) -> None:
    namespace = compiled(tmp_path, HEAD + SLEEP).namespace

    assert namespace.number == 1
    assert namespace.prefix.startswith("test-")
    assert len(namespace.prefix) == len("test-") + 6
    assert namespace.delete_automanaged_namespaces is True
    assert namespace.enable_existing_namespaces is False


def test_the_older_name_of_the_number_of_namespaces(tmp_path: Path) -> None:
    assert compiled(tmp_path, HEAD + SLEEP + "automanagedNamespaces: 3\n").namespace.number == 3


def test_null_counts_as_left_out(tmp_path: Path) -> None:
    assert compiled(tmp_path, HEAD + SLEEP + "namespace:\n").namespace.number == 1


def test_numbers_in_parameters_are_floats_as_in_json(tmp_path: Path) -> None:
    text = HEAD + SLEEP.replace("duration: 1s", "counts: [1, {two: 2}]")
    (step,) = compiled(tmp_path, text).steps

    params = step.measurements[0].params

    assert params == {"counts": [1.0, {"two": 2.0}]}
    assert isinstance(params["counts"][0], float)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(
            HEAD + SLEEP.replace("Method", "Methot"),
            "steps[0].measurements[0].Methot: no such field, did you mean method?",
            id="an unknown field",
        ),
        pytest.param(
            HEAD + PHASE.replace("replicasPerNamespace: 3", "replicasPerNamespace: many"),
            "steps[0].phases[0].replicasPerNamespace: 'many' is not a whole number",
            id="a text for a number",
        ),
        pytest.param(
            HEAD + PHASE.replace("{min: 1", "{min: -1"),
            "steps[0].phases[0].namespaceRange.min: -1 is not in 0..2147483647",
            id="a number out of range",
        ),
        pytest.param(
            HEAD + PHASE.replace("min: 1", "min: 3"),
            "steps[0].phases[0].namespaceRange.max: 2 is less than min, 3",
            id="a range that is upside down",
        ),
        pytest.param(
            HEAD + SLEEP + "namespace: {deleteNamespaceTimeout: 5 minutes}\n",
            "namespace.deleteNamespaceTimeout: '5 minutes' is not a duration, such as 1m30s",
            id="no duration",
        ),
        pytest.param(
            HEAD + SLEEP + "namespace: [1]\n",
            "namespace: a list is not a mapping of fields",
            id="a list for a mapping",
        ),
        pytest.param(HEAD, "steps: missing", id="no steps"),
        pytest.param(SLEEP, "name: missing", id="no name"),
        pytest.param("", "name: missing", id="nothing at all"),
        pytest.param(
            HEAD + "steps:\n- name: empty\n",
            "steps[0]: neither phases nor measurements",
            id="an empty step",
        ),
        pytest.param(
            HEAD + PHASE + SLEEP.removeprefix("steps:\n").replace("- m", "  m", 1),
            "steps[0]: phases and measurements",
            id="a step of both kinds",
        ),
        pytest.param(
            HEAD.replace("qpsLoad", "parallelismLimitedLoad").replace("qps: 10", "") + PHASE,
            "tuningSets[0]: 0 loads given instead of one",
            id="a tuning set without a load",
        ),
        pytest.param(
            HEAD + "  globalQPSLoad: {qps: 1, burst: 1}\n" + PHASE,
            "tuningSets[0]: 2 loads given instead of one",
            id="a tuning set with two",
        ),
        pytest.param(
            HEAD.replace("qps: 10", "qps: 0") + PHASE,
            "tuningSets[0].qpsLoad.qps: 0 is not a number above 0",
            id="no rate at all",
        ),
        pytest.param(
            HEAD + PHASE.replace("tuningSet: Fast", "tuningSet: Slow"),
            "steps[0].phases[0].tuningSet: 'Slow' is not declared",
            id="an undeclared tuning set",
        ),
        pytest.param(
            HEAD + PHASE.replace("pod.yaml", "missing.yaml"),
            "steps[0].phases[0].objectBundle[0].objectTemplatePath: no such file: ",
            id="a template that is not there",
        ),
        pytest.param(
            HEAD + PHASE.replace("basename: pod", "basename: Pod_"),
            "steps[0].phases[0].objectBundle[0].basename: 'Pod_' is not a DNS subdomain",
            id="a basename that no object can have",
        ),
        pytest.param(
            HEAD + PHASE.replace("{min: 1, max: 2}", "{min: 1, max: 2}\n    namespaceList: [a]"),
            "steps[0].phases[0].namespaceList: given as well as namespaceRange",
            id="two choices of namespaces",
        ),
        pytest.param(
            HEAD + PHASE + "      listUnknownObjectOptions: {labelSelector: {}}\n",
            "steps[0].phases[0].objectBundle[0].listUnknownObjectOptions: not supported here",
            id="objects of others",
        ),
        pytest.param(
            HEAD + SLEEP.replace("Method: Sleep", "Method: Exec"),
            "steps[0].measurements[0].method: 'Exec' is not known here; known: Sleep, Timer",
            id="a measurement that is not here",
        ),
        pytest.param(
            HEAD + SLEEP.replace("Identifier: A", "Identifier: ''"),
            "steps[0].measurements[0].identifier: either this or instances",
            id="a measurement without a name",
        ),
        pytest.param(
            HEAD + SLEEP + "dependencies: [{name: dra}]\n",
            "dependencies: not supported here",
            id="dependencies",
        ),
        pytest.param(
            HEAD + SLEEP + "chaosMonkey: {nodeFailure: {failureRate: 1}}\n",
            "chaosMonkey.nodeFailure: not supported here",
            id="failing nodes",
        ),
        pytest.param(
            HEAD + "steps:\n- module: {path: missing.yaml}\n",
            "steps[0].module.path: no such file: ",
            id="a module that is not there",
        ),
    ],
)
def test_what_is_refused_is_named(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compiled(tmp_path, text)

    assert str(caught.value).startswith(f"{tmp_path / 'test.yaml'}: {error}")


@pytest.mark.parametrize("text", ["a: b: c\n", "a: [\n", "a: 1\na: 2\n"])
def test_text_that_is_no_yaml_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"test\.yaml, line \d"):
        compiled(tmp_path, text)


def test_modules_are_put_in_with_their_parameters(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(SLEEP.replace("1s", "{{.time}}"))
    (tmp_path / "outer.yaml").write_text(
        "steps:\n- module: {path: /inner.yaml, params: {time: '{{.outerTime}}'}}\n"
        "- module: {path: empty.yaml}\n"
    )
    (tmp_path / "empty.yaml").write_text("{{if .Missing}}steps: []{{end}}\n")
    text = HEAD + SLEEP + "- module: {path: outer.yaml, params: {outerTime: 2s}}\n"

    config = compiled(tmp_path, text)

    times = [each.measurements[0].params for each in config.steps if each.measurements]
    assert times == [{"duration": "1s"}, {"duration": "2s"}]


def test_an_error_in_a_module_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(SLEEP.replace("Method", "Methot"))

    with pytest.raises(ConfigError) as caught:
        compiled(tmp_path, HEAD + "steps:\n- module: {path: inner.yaml}\n")

    assert str(caught.value).startswith(f"{tmp_path / 'inner.yaml'}: steps[0].measurements[0].Me")


def test_the_generated_config_has_the_fields_of_clusterloader2s(tmp_path: Path) -> None:
    written = yaml.safe_load(to_yaml(compiled(tmp_path, HEAD + SLEEP)))

    assert list(written) == [
        "name",
        "dependencies",
        "automanagednamespaces",
        "namespace",
        "steps",
        "tuningsets",
        "chaosmonkey",
    ]
    assert written["namespace"]["deletenamespacetimeout"] == 600_000_000_000
    assert written["chaosmonkey"] == {"nodefailure": None, "excludednodes": {}}
    (step,) = written["steps"]
    assert step["phases"] == []
    assert step["module"] == {"path": "", "params": {}}
    assert step["measurements"][0]["instances"] == []
    assert written["tuningsets"][0]["globalqpsload"] is None
    assert written["tuningsets"][0]["initialdelay"] == 0


def test_objects_are_filled_in(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(f"{POD}---\n{POD.replace('Pod', 'Service')}")

    pod, service = templates(tmp_path).objects("two.yaml", {"Name": "a-0"})

    assert pod["metadata"] == {"name": "a-0"}
    assert service["kind"] == "Service"


def test_a_template_says_what_it_makes_without_being_filled_in(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(f'{POD}---\napiVersion: "apps/v1"\nkind: Deployment\n')

    assert templates(tmp_path).kinds("two.yaml") == [
        Kind("v1", "Pod"),
        Kind("apps/v1", "Deployment"),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("kind: Pod\nkind: Pod\n", "line 2: the key 'kind' comes twice", id="a key"),
        pytest.param("a: 1\n---\nb: [\n", "line 4: expected the node content", id="a list"),
    ],
)
def test_objects_that_are_no_yaml_are_refused(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "pod.yaml").write_text(text)

    with pytest.raises(ConfigError, match=rf"pod\.yaml, {error}"):
        templates(tmp_path).objects("pod.yaml", {})


def test_an_object_has_to_say_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("kind: Pod\n")

    with pytest.raises(ConfigError, match=r"pod\.yaml, document 1: no apiVersion and kind"):
        templates(tmp_path).objects("pod.yaml", {})
    with pytest.raises(ConfigError, match=r"pod\.yaml: apiVersion and kind have to stand in lines"):
        templates(tmp_path).kinds("pod.yaml")


def values_of(
    tmp_path: Path, files: list[str], environment: dict[str, str] | None = None
) -> dict[str, Any]:
    paths = [tmp_path / f"{index}.yaml" for index in range(len(files))]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text)
    return mapping(paths, environment or {}, nodes=5, image_registry="registry.k8s.io")


def test_the_later_override_file_wins(tmp_path: Path) -> None:
    values = values_of(tmp_path, ["A: 1\nB: 2\nNodes: 7\n", "B: x\n"])

    assert values == {"A": 1.0, "B": "x", "Nodes": 5, "ImageRegistry": "registry.k8s.io"}
    assert isinstance(values["A"], float)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("0.5", 0.5), ("true", True), ("F", False), ("5s", "5s"), ("", "")],
)
def test_the_environment_gives_typed_values(tmp_path: Path, text: str, value: Any) -> None:
    values = values_of(tmp_path, [], {"CL2_X": text, "OTHER": "1"})

    assert (values["CL2_X"], type(values["CL2_X"])) == (value, type(value))
    assert "OTHER" not in values


def test_the_environment_must_not_contradict_an_override_file(tmp_path: Path) -> None:
    assert values_of(tmp_path, ["CL2_X: 5s\n"], {"CL2_X": "5s"})["CL2_X"] == "5s"
    with pytest.raises(ConfigError, match="CL2_X: '6s' in the environment, '5s' in an override"):
        values_of(tmp_path, ["CL2_X: 5s\n"], {"CL2_X": "6s"})


@pytest.mark.parametrize("text", ["- a\n", "text\n", ""])
def test_an_override_file_has_to_be_a_mapping(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"0\.yaml: not a mapping of names to values"):
        values_of(tmp_path, [text])
