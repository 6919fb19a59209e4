"""The extender's own configuration, as a rule needs it: whole and valid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from extender.config import Config
from extender.config.checks import faults
from extender.config.document import decode_all
from extender.errors import ConfigError, ConfigFaultsError
from extender.lint.finding import Place
from extender.lint.linting import Configured


def read_configs(found: Iterable[tuple[Place, msgspec.Raw]]) -> list[Configured]:
    """Read configurations; ConfigError says all that is wrong with one."""
    return [Configured(place, _read(place, msgspec.json.decode(raw))) for place, raw in found]


def _read(place: Place, document: Any) -> Config:
    config, wrong = decode_all(document)
    if config is not None and not wrong:
        wrong = list(faults(config))
    if config is None or wrong:
        raise ConfigFaultsError.of(
            [ConfigError(each.path, each.message, place.file) for each in wrong]
        )
    return config
