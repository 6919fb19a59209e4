"""Templates of objects, and the values that templates are filled in with."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from clusterload.objects import Kind
from clusterload.templates import Templates, mapping
from extender.core.errors import ConfigError

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{.Name}}\n"


def templates(folder: Path) -> Templates:
    return Templates(folder, random.Random(1))


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
