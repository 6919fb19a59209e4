"""From files to a test: fields, their case and type, modules, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterload.compiling import compile_test
from clusterload.decoding import to_yaml
from clusterload.schema import Config
from clusterload.templates import Templates
from extender.core.errors import ConfigError

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
            HEAD + PHASE.replace("pod.yaml", "p" * 300),
            "steps[0].phases[0].objectBundle[0].objectTemplatePath: no such file: ",
            id="a template whose name no file can have",
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
        pytest.param(
            HEAD + f"steps:\n- module: {{path: {'m' * 300}}}\n",
            "steps[0].module.path: no such file: ",
            id="a module whose name no file can have",
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
