"""The rights that a feature declares: its component and the chart give them, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.config.conditions import REPLACE
from extender.core.config.features import Feature, features
from tests.commands.lint.asking import found, linted, ours
from tests.deploy.places import MANIFESTS, ROOT, read_objects
from tests.features.every import switch_in_chart, switched_on

CHART = ROOT / "charts/affinity-extender"
WITH_RIGHTS = pytest.mark.parametrize(
    "feature", [pytest.param(each, id=each.name) for each in features() if each.rights]
)


def roles(*folders: str) -> list[dict[str, Any]]:
    """Return the objects about rights of some folders."""
    return [one for folder in folders for one in read_objects(MANIFESTS / folder / "rbac.yaml")]


@WITH_RIGHTS
def test_the_component_has_what_is_declared_and_no_more(feature: Feature) -> None:
    fields = {"mode": "assist", **switched_on(feature.name)}
    replacing = (each for each in features() if each.effect is REPLACE and each.rights)
    others = [each for each in replacing if each is not feature]
    replaces = fields["mode"] == "replace"
    of_mode = ["base", *(f"components/{each.component}" for each in others if replaces)]
    component = f"components/{feature.component}"
    on, off = ours(**fields), ours("assist")
    assert found(linted(*roles(*of_mode, component), on)) == []
    assert found(linted(*roles(*of_mode), on)) == ["right-missing"]
    assert found(linted(*roles("base", component), off)) == ["right-without-use"]
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
def test_the_chart_gives_them_with_a_value_of_its_name_or_with_the_mode(feature: Feature) -> None:
    template = (CHART / "templates/rbac.yaml").read_text()
    file = f'"components/{feature.component}/rbac.yaml"'
    if feature.effect is REPLACE:
        switch = '{{- if eq .Values.mode "replace" }}'
    else:
        assert f"\n{feature.field}:\n" in (CHART / "values.yaml").read_text()
        switch = f"{{{{- if {switch_in_chart(feature.name)} }}}}"
    given = f"{{{{- $files = append $files {file} }}}}"
    assert given in template.partition(f"{switch}\n")[2].partition("{{- end }}")[0]
