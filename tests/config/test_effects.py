"""For every field and mode: it has an effect, or a value of its own is refused with the reason."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
import yaml
from msgspec import structs

from extender.core import config
from extender.core.config import layers
from extender.core.config.conditions import ALWAYS, REPLACE, WRITING
from extender.core.config.connections import Block
from extender.core.config.effects import effects
from extender.core.config.features import features, whole
from extender.core.errors import ConfigError
from tests.beside import needs_rules
from tests.features.every import values_of

HEADER = {"apiVersion": config.API_VERSION, "kind": config.KIND}
DEFAULT = whole()(api_version=config.API_VERSION, kind=config.KIND)


def leaves(block: Block, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the path of each field that is no block, and its default."""
    for each in structs.fields(block):
        value, name = getattr(block, each.name), f"{path}{each.encode_name}"
        if isinstance(value, Block):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value


FIELDS = dict(leaves(DEFAULT))
OTHERS: dict[str, Any] = {
    "plugins": ["InterPodAffinity", *(each.plugin for each in features() if each.plugin)],
    "schedulerVersion": "1.38",
    **{each.completion.field: "a.yaml" for each in features() if each.completion},
    "filter.resolvable": False,
    "annotations.namespaceSelector": {},
    **dict(chain.from_iterable(values_of(each.name).items() for each in features())),
    "featureGates": {"MatchLabelKeysInPodAffinity": False},
    "serving.bindAddress": "::1",
    "serving.opsBindAddress": "::1",
    "serving.maxConnections": 7,
    "serving.allowedClientNames": ["scheduler"],
    "serving.allowedHosts": ["extender.example.com"],
    "logging.format": "json",
    "clusterFiles": ["a.yaml"],
}
"""Values that are not the defaults; those of numbers, switches and texts follow from these."""


def another(path: str) -> object:
    if path in OTHERS:
        return OTHERS[path]
    default = FIELDS[path]
    if default is None or isinstance(default, bool):
        return not default
    return default + 1 if isinstance(default, int | float) else "another"


def idle_in(mode: str, path: str, value: object, **fields: Any) -> list[str]:
    """Return what is refused for having no effect where one field is set."""
    document: dict[str, Any] = copy.deepcopy({**HEADER, **fields, "mode": mode})
    *blocks, last = path.split(".")
    inner = document
    for name in blocks:
        inner = inner.setdefault(name, {})
    inner[last] = value
    text = yaml.safe_dump(document)
    try:
        layers.load(argparse.Namespace(config="c.yaml"), lambda _: text)
    except ConfigError as error:
        return [each for each in str(error).split("; ") if "has no effect" in each]
    return []


WITHIN = {path for path in effects() if any(path.startswith(f"{each}.") for each in FIELDS)}
"""Parts of fields that have an effect of their own."""
NOWHERE = {"serving.allowedClientNames"}
NOWHERE |= {
    path
    for each in features()
    if each.plugin
    for path, when in {**dict.fromkeys(each.fields, each.effect), **each.effects}.items()
    if when is not ALWAYS
}
"""Without the plugin, or the CA of clients, in every mode."""
OF_REPLACE = [name for each in features() if each.effect is REPLACE for name in each.fields]
IDLE = {
    "shadow": {
        *NOWHERE,
        "filter",
        *OF_REPLACE,
        *(path for each in features() for path, when in each.effects.items() if when is WRITING),
        *(name for each in features() if each.effect is WRITING for name in each.fields),
    },
    "assist": {*NOWHERE, "filter", *OF_REPLACE},
    "replace": NOWHERE,
}
"""Fields and blocks that have no effect with the default plugins."""


@pytest.mark.parametrize("mode", IDLE)
@pytest.mark.parametrize(
    "path", [each for each in (*FIELDS, *WITHIN) if each not in {*HEADER, "mode"}]
)
def test_a_field_has_an_effect_or_is_refused(path: str, mode: str) -> None:
    told = idle_in(mode, path, another(path))
    if any(path == each or path.startswith(f"{each}.") for each in IDLE[mode]):
        (fault,) = told
        assert fault.startswith(f"c.yaml: {path}: has no effect ")
    else:
        assert told == []


ANNOTATED: dict[str, Any] = {"annotations": {"namespaceSelector": {}}}


@pytest.mark.parametrize(
    ("path", "mode", "fields"),
    [
        pytest.param(
            "serving.allowedClientNames",
            "assist",
            {"serving": {"tlsCertFile": "c", "tlsPrivateKeyFile": "k", "clientCAFile": "ca"}},
            id="names in certificates that are checked",
        ),
        pytest.param(
            "filter.resolvable",
            "assist",
            ANNOTATED,
            id="annotated anti-affinity",
            marks=needs_rules,
        ),
    ],
)
def test_what_gives_a_field_an_effect(path: str, mode: str, fields: dict[str, Any]) -> None:
    assert idle_in(mode, path, another(path)) != []
    assert idle_in(mode, path, another(path), **fields) == []


def test_a_rule_of_a_plugin_that_is_off_is_refused() -> None:
    (fault,) = idle_in("assist", "interPodAffinity.weight", 7, plugins=[])
    assert "unless InterPodAffinity is among the plugins" in fault


def test_the_table_has_every_field_once_and_no_other() -> None:
    rows = effects().keys() - WITHIN
    for path in FIELDS:
        assert any(path == each or path.startswith(f"{each}.") for each in rows), path
    assert all(any(f"{path}.".startswith(f"{each}.") for path in FIELDS) for each in rows)


@pytest.mark.parametrize("version", ["1.32", "1.39", "1.9", "1.100", "1.038"])
def test_a_scheduler_that_is_not_known_is_refused(version: str) -> None:
    text = yaml.safe_dump({**HEADER, "schedulerVersion": version})
    with pytest.raises(ConfigError, match=r"is none of those known, 1\.33 to 1\.38"):
        layers.load(argparse.Namespace(config="c.yaml"), lambda _: text)


@pytest.mark.parametrize(
    ("version", "mode", "fields", "resolves"),
    [
        ("1.33", "replace", {}, False),
        ("1.37", "replace", {}, False),
        ("1.38", "replace", {}, True),
        ("1.37", "replace", {"filter": {"resolvable": True}}, True),
        ("1.38", "replace", {"filter": {"resolvable": False}}, False),
        ("1.37", "assist", {}, False),
    ],
)
def test_whether_refusals_are_resolvable_follows_from_the_scheduler_unless_it_is_said(
    version: str, mode: str, fields: dict[str, Any], *, resolves: bool
) -> None:
    document = {**HEADER, **fields, "mode": mode, "schedulerVersion": version}
    text = yaml.safe_dump(document)
    loaded = layers.load(argparse.Namespace(config="c.yaml"), lambda _: text)
    assert loaded.resolves_refusals == resolves
