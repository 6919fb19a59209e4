"""What a feature builds has the numbers of its own block, and waits for what the program waits for.

Nothing here knows what they are for: what a part is made of is gone through from the part on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType
from typing import Any, Final

import msgspec
import pytest

from extender.core.config.document import decode
from extender.core.config.features import Feature, features
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.history import History
from extender.core.enabled import filter_plugins
from extender.core.kube.client import ApiClient
from extender.core.kube.reader import ObjectReader
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts, part_of
from extender.core.source import ApiServer, Source, StillPicture, pod_reader
from extender.core.warm_up import WarmUp
from tests.builders import empty_state
from tests.features.every import switched_on
from tests.kube.rig import credentials_for
from tests.leading import Leader

ODD: Final = (37, 41)
"""Numbers that nothing has by itself: one of them in one program, and the other in another."""
HEADER: Final = {"apiVersion": API_VERSION, "kind": KIND}
PLAIN: Final = (bool, int, float, str, bytes, type(None), type)


def numbers() -> Iterator[tuple[Feature, str, str, str]]:
    """Yield each number in a block of a feature: the block and the field as files have them.

    And, last, the name that both have in the program.
    """
    for feature in features():
        for block, of in zip(feature.fields, feature.blocks.values(), strict=False):
            for each in msgspec.structs.fields(of):
                if type(each.default) in {int, float} or str(each.default).endswith("%"):
                    yield feature, block, each.encode_name, each.name


NUMBERS = [pytest.param(*each, id=".".join(each[1:3])) for each in numbers()]


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a configuration with others put in."""
    both = {**one, **other}
    for name in one.keys() & other.keys():
        if isinstance(one[name], dict) and isinstance(other[name], dict):
            both[name] = merged(one[name], other[name])
    return both


def context(client: ApiClient, fields: Mapping[str, Any]) -> Context:
    """Return what parts share in a program with an API server and the lead."""
    config = decode({**HEADER, **fields})
    api = ApiServer(client, ObjectReader(client, pod_reader(config)))
    source = Source("a test", StillPicture({}, {}), leadership=Leader(), api=api)
    state, metrics = empty_state(), Metrics()
    return Context(config, source, state, metrics, lambda: None, WarmUp(state, metrics), History())


def made_of(*roots: object, without: tuple[object, ...]) -> Iterator[tuple[str, object]]:
    """Yield all that objects are made of, each with where it is, but for what others share."""
    seen = {id(each) for each in without}
    left = [(type(each).__name__, each) for each in roots]
    while left:
        where, it = left.pop()
        yield where, it
        if isinstance(it, PLAIN) or id(it) in seen or isinstance(it, msgspec.Struct):
            continue
        seen.add(id(it))
        left += [(f"{where}.{name}", each) for name, each in _parts(it)]


def _parts(it: object) -> Iterator[tuple[str, object]]:
    if isinstance(it, Mapping):
        yield from ((str(key), each) for key, each in it.items())
    elif isinstance(it, (list, tuple, set, frozenset)):
        yield from ((str(number), each) for number, each in enumerate(it))
    elif isinstance(it, FunctionType):
        for name, cell in zip(it.__code__.co_freevars, it.__closure__ or (), strict=True):
            yield name, cell.cell_contents
    elif isinstance(it, MethodType):
        yield "self", it.__self__
    elif type(it).__module__.startswith(("extender", "functools")):
        slots = {name for each in type(it).__mro__ for name in getattr(each, "__slots__", ())}
        named = {name: getattr(it, name, None) for name in slots - {"__weakref__"}}
        yield from {**named, **getattr(it, "__dict__", {})}.items()


def built(shared: Context, feature: Feature) -> list[tuple[str, object]]:
    """Return what the part and the plugins of a feature are made of."""
    parts = [each for each in build_parts(shared) if isinstance(each, part_of(feature))]
    plugins = [each for each in filter_plugins(shared.config) if each.name == feature.plugin]
    common = (shared, shared.config, shared.state, shared.metrics, shared.source)
    return [*made_of(*parts, *plugins, without=common)]


@pytest.mark.parametrize(("feature", "block", "field", "name"), NUMBERS)
async def test_each_number_of_a_block_is_what_is_built_with(
    feature: Feature, block: str, field: str, name: str
) -> None:
    percent = str(getattr(decode(HEADER).section(feature.blocks[_attribute(feature, block)]), name))
    share = percent.endswith("%")
    found: list[dict[str, object]] = []
    for odd in ODD:
        fields = merged(switched_on(feature.name), {block: {field: f"{odd}%" if share else odd}})
        async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
            found.append(dict(built(context(client, fields), feature)))
    one, other = found
    wanted = tuple(each / 100 if share else each for each in ODD)
    there = [where for where in one if (one[where], other.get(where)) == wanted]
    assert there, "it is nowhere"
    elsewhere = [
        where
        for where, it in one.items()
        if where.rpartition(".")[2].lstrip("_") == name
        and isinstance(it, (int, float))
        and where not in there
    ]
    assert elsewhere == []


def _attribute(feature: Feature, block: str) -> str:
    return dict(zip(feature.fields, feature.blocks, strict=False))[block]


@pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in features()])
async def test_all_that_acts_waits_until_the_cluster_is_known(feature: Feature) -> None:
    async with ApiClient(credentials_for("http://127.0.0.1:1")) as client:
        shared = context(client, switched_on(feature.name))
        checks = [
            it for where, it in built(shared, feature) if where.endswith(("unready", "unsynced"))
        ]
    assert all(it is shared.unsynced for it in checks)
