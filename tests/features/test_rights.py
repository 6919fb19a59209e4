"""The rights that a feature declares: its component and the chart give them, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from extender.config.features import Feature, features
from tests.commands.lint.asking import found, linted, ours
from tests.deploy.places import MANIFESTS, ROOT, read_objects
from tests.features.every import switched_on

CHART = ROOT / "charts/affinity-extender"
WITH_RIGHTS = pytest.mark.parametrize(
    "feature", [pytest.param(each, id=each.name) for each in features() if each.rights]
)


def roles(*folders: str) -> list[dict[str, Any]]:
    """Return the objects about rights of some folders."""
    return [one for folder in folders for one in read_objects(MANIFESTS / folder / "rbac.yaml")]


@WITH_RIGHTS
def test_the_component_has_what_is_declared_and_no_more(feature: Feature) -> None:
    base, whole = roles("base"), roles("base", f"components/{feature.component}")
    on, off = ours("assist", **switched_on(feature.name)), ours("assist")
    assert found(linted(*whole, on)) == []
    assert found(linted(*base, on)) == ["right-missing"]
    assert found(linted(*whole, off)) == ["right-without-use"]
    given = {
        (group, resource, verb)
        for one in roles(f"components/{feature.component}")
        for rule in one.get("rules", ())
        if one["kind"] == "ClusterRole"
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert given == {tuple(each) for each in feature.rights}


@WITH_RIGHTS
def test_the_chart_has_a_value_of_its_name_for_them(feature: Feature) -> None:
    assert f"\n{feature.field}:\n" in (CHART / "values.yaml").read_text()
    template = (CHART / "templates/rbac.yaml").read_text()
    files = f'"components/{feature.component}/rbac.yaml"'
    switch = f"{{{{- if .Values.{feature.field}.enabled }}}}"
    assert f"{switch}\n{{{{- $files = append $files {files} }}}}" in template
