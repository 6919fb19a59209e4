"""Each parser of what others have written, called directly: it reads, or raises its own error."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from extender.core.errors import MESSAGE_BYTES, ConfigFaultsError, ExtenderError
from extender.core.resources import of_features
from tests.features.every import parsers
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutating import Pieces, broken, changed, mutated, pieces, respelled
from tests.fuzz.parsers import in_process

pytestmark = pytest.mark.thorough

BROKEN_VALUES = (b'"\xff"', b'{"\xff": 1}', b"[" * 2_000 + b"]" * 2_000, b"1e999", b"1e30", b"{}")
SLOW = ("configuration", "admission configuration", "credential of a plugin")
"""Those that take tens of milliseconds for an input; the random ones have to do."""
NAMES = (
    *("pod", "pod without gates", "node", "namespace", "budget", "list", "watch", "status"),
    *("leftovers", "leftover lease"),
    *("version", "scheduler's file", "configuration", "admission configuration", "kubeconfig"),
    *("credential of a plugin", "lease", "certificate", "key", "load test", "selector of a flag"),
    *("duration", "duration of a load test", "time", "quantity", "proxy"),
    *("metrics of a scheduler", "answer of Prometheus", "rules in an annotation"),
    *parsers(),
    *(each.name for each in of_features()),
)


def test_every_parser_has_a_driver(tmp_path: Path) -> None:
    assert {*in_process(tmp_path)} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_it_raises_its_own_errors_alone(name: str, tmp_path: Path) -> None:
    run(name, tmp_path)


@pytest.mark.parametrize("name", [each for each in NAMES if each not in SLOW])
def test_each_place_may_be_broken(name: str, tmp_path: Path) -> None:
    """No chance in it: what is decoded later than the rest is refused like the rest."""
    parser = in_process(tmp_path)[name]
    documents = [each for each in parser.seeds if not isinstance(each, str | bytes)]
    for document in sorted(documents, key=lambda each: len(json.dumps(each)))[-1:]:
        for place in places(document):
            for value in BROKEN_VALUES:
                raw = json.dumps(place).encode().replace(b'"MARK"', value)
                try:
                    parser.read(raw)
                except ExtenderError:
                    continue
                except parser.refusals:
                    continue
                except Exception as error:
                    error.add_note(f"with {raw[:4000]!r}")
                    raise


def places(document: Any) -> Iterator[Any]:
    """Yield copies of a document, each with another value marked."""
    yield "MARK"
    if isinstance(document, dict):
        for key, value in document.items():
            yield from ({**document, key: each} for each in places(value))
    elif isinstance(document, list | tuple):
        for at, value in enumerate(document):
            for each in places(value):
                yield [*document[:at], each, *document[at + 1 :]]


def run(name: str, folder: Path) -> None:
    """Give a parser what is mutated from its seeds, and look at how it refuses that."""
    parser = in_process(folder)[name]
    known = pieces(each for each in parser.seeds if not isinstance(each, str | bytes))
    campaign = Campaign(name)
    for dice in campaign:
        raw = written(dice, dice.choice(parser.seeds), known)
        with campaign.telling(raw):
            try:
                parser.read(raw)
            except ExtenderError as error:
                check(error)
            except parser.refusals as error:
                check_size(error, raw)


def written(dice: random.Random, seed: Any, known: Pieces) -> bytes:
    match seed:
        case bytes():
            return broken(dice, seed)
        case str():
            return respelled(dice, seed).encode(errors="surrogatepass")
        case _ if dice.random() < 0.1:
            return yaml.safe_dump(changed(dice, seed, known)).encode(errors="surrogatepass")
        case _:
            return mutated(dice, seed, known)


def check_size(error: Exception, raw: bytes) -> None:
    """Those of a library may quote what they are about."""
    assert len(str(error)) < 2 * len(raw) + MESSAGE_BYTES


def check(error: ExtenderError) -> None:
    """Each message is a line that can be logged, and sent."""
    for fault in error.faults if isinstance(error, ConfigFaultsError) else (error,):
        assert str(fault).isprintable()
        assert len(str(fault).encode()) <= MESSAGE_BYTES
        json.dumps(str(fault)).encode()
