"""YAML text <-> the schema, as Go's encoding/json reads it, save that nothing unknown passes."""

from __future__ import annotations

from typing import Any, TypeVar

import yaml
from msgspec import Struct, inspect

from clusterload.durations import SECOND, Duration, parse_duration
from clusterload.gotemplate.values import as_json
from clusterload.schema import Config
from extender.core.config import parse_yaml
from extender.core.config.faults import convert
from extender.core.errors import ConfigError, ConfigFaultsError

T = TypeVar("T")


def decode(text: str, source: str, kind: type[T]) -> T:
    """Read one document; the error names the file and every field that is wrong."""
    document = fold_case(parse_yaml(text, source) or {}, inspect.type_info(kind))
    value, faults = convert(document, kind, _custom)
    if value is None:
        named = [ConfigError(fault.path, fault.message, source) for fault in faults]
        raise ConfigFaultsError.of(named)
    return value


def fold_case(document: Any, kind: inspect.Type) -> Any:
    """Spell keys as the schema does, as Go takes any case; leave out nulls.

    What has no schema (parameters) stays as it is, with the numbers that JSON would make of it.
    """
    match kind, document:
        case inspect.UnionType(types=kinds), _ if document is not None:
            one = next(each for each in kinds if not isinstance(each, inspect.NoneType))
            return fold_case(document, one)
        case inspect.ListType(item_type=item), list():
            return [fold_case(each, item) for each in document]
        case inspect.StructType(fields=fields), dict():
            known = {each.encode_name.casefold(): each for each in fields}
            folded = {}
            for key, value in document.items():
                member = known.get(key.casefold())
                if member is None:
                    folded[key] = value
                elif value is not None:
                    folded[member.encode_name] = fold_case(value, member.type)
            return folded
        case ((inspect.DictType() | inspect.AnyType()), _):
            return as_json(document)
        case _:
            return document


def to_yaml(config: Config) -> str:
    """Spell the whole test out as clusterloader2 does: names in small letters, nanoseconds."""
    return yaml.safe_dump(_spelled_out(config), sort_keys=False, default_flow_style=False)


def _spelled_out(value: Any) -> Any:
    match value:
        case Struct():
            names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            return {encoded.lower(): _spelled_out(getattr(value, name)) for encoded, name in names}
        case Duration():
            return round(value.seconds * SECOND)
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _spelled_out(value[key]) for key in sorted(value)}
        case list():
            return [_spelled_out(each) for each in value]
        case _:
            return value


def _custom(kind: type, value: object) -> Duration:
    del kind  # there is only one
    if not isinstance(value, str):
        raise TypeError("not a string")
    return Duration(parse_duration(value))
