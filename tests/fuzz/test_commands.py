"""The commands over files that strangers send: an answer or a refusal, and nothing else."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from extender.core.plain_yaml import FastLoader
from tests.cases import test_cases, test_public_reports
from tests.commands.test_sources import LOG, MUST_GATHER, Ran, ran
from tests.deploy.places import MANIFESTS, ROOT, SCHEDULER_CONFIG
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutating import Pieces, broken, changed, mutated, pieces
from tests.fuzz.parsers import NODE, POD, STATUS, TABLE

pytestmark = pytest.mark.thorough

__all__ = ["ran"]

Bytes = dict[str, bytes]

WORDS = [line.split() for each in (test_cases, test_public_reports) for line, *_ in each.CASES]
"""Of command lines, with names of files among them."""
MORE = (
    *("lint --cluster FILE", "lint FILE -o sarif", "lint FILE --fix", "lint FILE --config FILE"),
    *("advise --cluster FILE", "advise --cluster FILE -o json"),
    "quota --cluster FILE --what-if pods=0 -o json",
    "violations --cluster FILE --plain-rules= -o json",
    *("explain -A --cluster FILE -o json", "explain -A --cluster FILE -o yaml"),
    *("explain -A --cluster FILE --scheduler-config FILE", "explain -f FILE --cluster FILE"),
    *("simulate --cluster FILE -o json", "simulate -f FILE --cluster FILE"),
    *("simulate --drain a --lose b --cluster FILE", "simulate --roll FILE --cluster FILE"),
    *("dump --cluster FILE -o OUT", "leftovers --cluster FILE -o json"),
)
MOST_TEXT = 1 << 24
"""Characters of an answer, of an input of some hundred thousand."""
KUBEADM_SCHEDULER = ROOT / "tests/deploy/kubeadm-scheduler.yaml"
FOLDERS = (test_cases.HERE, test_public_reports.HERE)
TERMINAL = frozenset(map(chr, (*range(8), *range(11, 32), *range(127, 160))))
"""What would drive a terminal."""


@cache
def documents(path: Path) -> list[Any]:
    """Return the objects of a file."""
    return [each for each in yaml.load_all(path.read_bytes(), FastLoader) if each]


@cache
def files() -> list[Path]:
    of_cases = (path for folder in FOLDERS for path in folder.glob("*.yaml"))
    ours = (*SCHEDULER_CONFIG.glob("*.yaml"), *MANIFESTS.rglob("*.yaml"), KUBEADM_SCHEDULER)
    return sorted((*of_cases, *ours))


@cache
def known() -> Pieces:
    return pieces([POD, NODE, TABLE, STATUS, *map(documents, files())])


def test_no_file_breaks_a_command(tmp_path: Path, ran: Ran) -> None:
    campaign = Campaign("commands")
    for number, dice in enumerate(campaign):
        folder = tmp_path / str(number % 10)
        _clear(folder)
        words = dice.choice((*WORDS, *WORDS, *map(str.split, MORE)))
        objects = 0
        for at, word in enumerate(words):
            if word == "FILE" or Path(word).suffix in {".yaml", ".json"}:
                found = _objects(dice, word)
                objects += len(found)
                words = [*words[:at], str(written(dice, found, folder / str(at))), *words[at + 1 :]]
        words = [str(folder / "dump.json") if word == "OUT" else word for word in words]
        if not objects:
            continue
        with campaign.telling((words, [*_contents(folder)]), objects):
            code, out, err = ran(*words)
            assert code in range(5), err
            assert len(out) + len(err) < MOST_TEXT
            assert "Traceback" not in err
            assert not TERMINAL & {*out, *err}
            if out and words[-2:] == ["-o", "json"]:
                json.loads(out, parse_constant=_no_number)


def _objects(dice: random.Random, name: str) -> list[Any]:
    """Return objects of a case, some of them changed, and perhaps of another one."""
    named = [each / name for each in FOLDERS if (each / name).is_file()]
    found = documents(named[0] if named else dice.choice(files()))
    if dice.random() < 0.3:
        found = [*found, *documents(dice.choice(files())), *dice.sample((POD, NODE, TABLE), 1)]
    changes = {dice.randrange(len(found)) for _ in range(dice.choice((1, 1, 1, 4)))}
    return [
        changed(dice, each, known()) if at in changes else each for at, each in enumerate(found)
    ]


def written(dice: random.Random, found: list[Any], path: Path) -> Path:
    """Write objects in one of the ways in which people send them."""
    if dice.random() < 0.5:
        path.write_bytes(json.dumps({"kind": "List", "items": found}).encode())
        return path
    content = dice.choice(WAYS)(dice, found)
    if isinstance(content, bytes):
        path.write_bytes(broken(dice, content) if dice.random() < 0.5 else content)
        return path
    for name, each in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(each)
    return path


def _yaml(dice: random.Random, found: list[Any]) -> bytes:
    del dice
    return yaml.safe_dump_all(found).encode(errors="surrogatepass")


def _helm(dice: random.Random, found: list[Any]) -> bytes:
    return b"NAME: c\nMANIFEST:\n---\n# Source: c\n" + _yaml(dice, found) + b"\nNOTES:\n : {x\n"


def _info(dice: random.Random, found: list[Any]) -> bytes:
    del dice
    return b"".join(json.dumps(each, indent=4).encode() + LOG.encode() for each in found)


def _table(dice: random.Random, found: list[Any]) -> bytes:
    rows = [{"cells": [], "object": each} for each in found]
    return mutated(dice, {**TABLE, "rows": rows})


def _files(dice: random.Random, found: list[Any]) -> Bytes:
    """Lay objects out as a bundle has them."""
    names = [name for name in MUST_GATHER if name.endswith(".yaml")]
    return {
        f"{at}/{dice.choice(names)}": json.dumps(each).encode() for at, each in enumerate(found)
    }


def _tar(dice: random.Random, found: list[Any]) -> bytes:
    packed = io.BytesIO()
    form = dice.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for name, each in _files(dice, found).items():
            long = "x" * 200 if form != tarfile.USTAR_FORMAT and dice.random() < 0.3 else ""
            member = tarfile.TarInfo(f"{name}{long}.json")
            member.size = len(each)
            member.type = dice.choice(
                (tarfile.REGTYPE,) * 8 + (tarfile.SYMTYPE, tarfile.GNUTYPE_SPARSE)
            )
            archive.addfile(member, io.BytesIO(each))
    content = packed.getvalue()
    return broken(dice, content) if dice.random() < 0.3 else content


def _zip(dice: random.Random, found: list[Any]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(
        packed, "w", dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as to:
        for name, each in _files(dice, found).items():
            to.writestr(name, each)
    return packed.getvalue()


WAYS: tuple[Callable[[random.Random, list[Any]], bytes | Bytes], ...] = (
    *(_yaml, _helm, _info, _table, _files, _tar, _zip),
    lambda dice, found: gzip.compress(_yaml(dice, found)),
    lambda dice, found: gzip.compress(_tar(dice, found)),
)


def _clear(folder: Path) -> None:
    for each in sorted(folder.rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() else each.unlink()
    folder.mkdir(exist_ok=True)


def _contents(folder: Path) -> Iterator[bytes]:
    for each in sorted(folder.rglob("*")):
        if each.is_file():
            yield each.read_bytes()


def _no_number(name: str) -> float:
    raise AssertionError(name)
