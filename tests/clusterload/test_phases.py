"""What a phase has done to objects, given what earlier phases made."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING, Any, cast

import pytest

from clusterload.phases import Phases
from clusterload.progress import Progress
from clusterload.schema import (
    BundledObject,
    NamespaceRange,
    ParallelismLimitedLoad,
    Phase,
    TuningSet,
)
from clusterload.templates import Templates
from clusterload.tuning import Pacing
from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from pathlib import Path

    from clusterload.objects import Kind, Objects

POD = """\
apiVersion: v1
kind: Pod
metadata: {labels: {base: "{{.BaseName}}", index: "{{.Index}}", in: "{{.Namespace}}", x: "{{.X}}"}}
"""
ONE_AT_A_TIME = TuningSet(
    name="One", parallelism_limited_load=ParallelismLimitedLoad(parallelism_limit=1)
)


class FakeObjects:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.made: dict[str, Any] = {}
        self.failing = ""

    async def create(self, namespace: str, name: str, obj: dict[str, Any]) -> None:
        self.note("create", namespace, name)
        self.made[f"{namespace}/{name}"] = obj

    async def patch(self, namespace: str, name: str, obj: dict[str, Any]) -> None:
        self.note("patch", namespace, name)
        self.made[f"{namespace}/{name}"] = obj

    async def delete(self, namespace: str, name: str, kind: Kind) -> None:
        self.note("delete", namespace, f"{name} {kind.name}")

    def note(self, verb: str, namespace: str, name: str) -> None:
        """Note it, or fail."""
        if self.failing and self.failing in name:
            raise ExtenderError(f"no {name}")
        self.asked.append(f"{verb} {namespace}/{name}")

    def taken(self) -> list[str]:
        """Return what was asked since the last time."""
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def objects() -> FakeObjects:
    return FakeObjects()


@pytest.fixture
def phases(tmp_path: Path, objects: FakeObjects) -> Phases:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "two.yaml").write_text(f"{POD}---\n{POD.replace('Pod', 'Service')}")
    chance = random.Random(1)
    return Phases(
        objects=cast("Objects", objects),
        templates=Templates(tmp_path, chance),
        values={"X": "outer"},
        prefix="test",
        pacing=Pacing([ONE_AT_A_TIME], chance),
        progress=Progress(io.StringIO()),
    )


def phase(replicas: int, *names: str, **more: Any) -> Phase:
    given: dict[str, Any] = {"namespace_range": NamespaceRange(min=1, max=1)} | more
    bundle = [BundledObject(basename=name, object_template_path="pod.yaml") for name in names]
    return Phase(replicas_per_namespace=replicas, tuning_set="One", object_bundle=bundle, **given)


async def test_missing_replicas_are_created(phases: Phases, objects: FakeObjects) -> None:
    assert await phases.run(phase(2, "a")) == []
    assert objects.taken() == ["create test-1/a-0", "create test-1/a-1"]

    await phases.run(phase(3, "a"))
    assert objects.taken() == ["create test-1/a-2"]


async def test_replicas_too_many_are_deleted(phases: Phases, objects: FakeObjects) -> None:
    await phases.run(phase(3, "a"))
    objects.taken()

    await phases.run(phase(1, "a"))
    assert objects.taken() == ["delete test-1/a-1 Pod", "delete test-1/a-2 Pod"]

    await phases.run(phase(2, "a"))
    assert objects.taken() == ["create test-1/a-1"]


async def test_the_same_number_patches_all(phases: Phases, objects: FakeObjects) -> None:
    await phases.run(phase(2, "a"))
    objects.taken()

    await phases.run(phase(2, "a"))

    assert objects.taken() == ["patch test-1/a-0", "patch test-1/a-1"]


async def test_a_bundle_is_made_in_order_and_taken_away_in_reverse(
    phases: Phases, objects: FakeObjects
) -> None:
    await phases.run(phase(1, "a", "b"))
    assert objects.taken() == ["create test-1/a-0", "create test-1/b-0"]

    await phases.run(phase(0, "a", "b"))
    assert objects.taken() == ["delete test-1/b-0 Pod", "delete test-1/a-0 Pod"]


@pytest.mark.parametrize(
    ("where", "namespaces"),
    [
        pytest.param(
            {"namespace_range": NamespaceRange(min=2, max=3)}, ["test-2", "test-3"], id="a range"
        ),
        pytest.param(
            {"namespace_range": NamespaceRange(min=0, max=1, basename="own")},
            ["own-0", "own-1"],
            id="a range of other namespaces",
        ),
        pytest.param(
            {"namespace_range": None, "namespace_list": ["x", "y"]}, ["x", "y"], id="a list"
        ),
        pytest.param({"namespace_range": None}, [""], id="the cluster"),
    ],
)
async def test_where(
    phases: Phases, objects: FakeObjects, where: dict[str, Any], namespaces: list[str]
) -> None:
    await phases.run(phase(1, "a", **where))

    assert objects.taken() == [f"create {each}/a-0" for each in namespaces]


async def test_what_templates_know(phases: Phases, objects: FakeObjects) -> None:
    bundle = BundledObject(
        basename="a", object_template_path="pod.yaml", template_fill_map={"X": "inner"}
    )

    await phases.run(
        Phase(
            namespace_range=NamespaceRange(min=1, max=1),
            replicas_per_namespace=2,
            tuning_set="One",
            object_bundle=[bundle],
        )
    )

    labels = objects.made["test-1/a-1"]["metadata"]["labels"]
    assert labels == {"base": "a", "index": "1", "in": "test-1", "x": "inner"}


async def test_all_objects_of_a_template_are_deleted(phases: Phases, objects: FakeObjects) -> None:
    both = BundledObject(basename="a", object_template_path="two.yaml")
    there = Phase(replicas_per_namespace=1, tuning_set="One", object_bundle=[both])
    gone = Phase(replicas_per_namespace=0, tuning_set="One", object_bundle=[both])

    await phases.run(there)
    await phases.run(gone)

    assert objects.taken()[2:] == ["delete /a-0 Pod", "delete /a-0 Service"]


async def test_a_failure_skips_the_rest_of_its_bundle_only(
    phases: Phases, objects: FakeObjects
) -> None:
    objects.failing = "a-0"

    errors = await phases.run(phase(2, "a", "b"))

    assert errors == ["namespace test-1 object a-0: no a-0"]
    assert objects.taken() == ["create test-1/a-1", "create test-1/b-1"]


async def test_a_bundle_of_different_numbers_is_refused(
    phases: Phases, objects: FakeObjects
) -> None:
    await phases.run(phase(1, "a"))
    objects.taken()

    errors = await phases.run(phase(2, "a", "b"))

    assert errors == ["bundle error: there are different numbers of a, b in test-1"]
    assert objects.taken() == []
