"""A configuration of an older version: what reads it, what it says, and what converts it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from affinityctl import cli
from extender.core.config import API_VERSION, KIND, effective, layers
from extender.core.config.features import Feature, Maturity, defaults, features
from extender.core.config.schema import OLD_API_VERSION

OLD = f"""\
# ours
apiVersion: {OLD_API_VERSION}  # of the first release
kind: {KIND}
mode: replace   # see {OLD_API_VERSION}
serving: {{port: 1}}
"""
NEW = OLD.replace(OLD_API_VERSION, API_VERSION, 1)


def loaded(text: str, *, said: list[str]) -> dict[str, object]:
    flags = argparse.Namespace(config="c.yaml")
    return effective(layers.load(flags, lambda _: text, said.append))


def test_an_old_file_is_read_as_the_new_one_with_a_warning() -> None:
    said: list[str] = []
    assert loaded(OLD, said=said) == loaded(NEW, said=said)
    how = f"write it as {API_VERSION}: affinity-extender config convert c.yaml"
    assert said == [f"c.yaml: apiVersion {OLD_API_VERSION} is read until release 2.0; {how}"]


def convert(path: Path, *flags: str) -> int:
    return cli.main(["config", "convert", str(path), *flags])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(OLD, NEW, id="an old one, with comments"),
        pytest.param(NEW, NEW, id="a new one"),
        pytest.param(
            f'{{"kind": "{KIND}", "apiVersion": "{OLD_API_VERSION}"}}\n',
            f'{{"kind": "{KIND}", "apiVersion": "{API_VERSION}"}}\n',
            id="JSON",
        ),
    ],
)
def test_it_is_converted_as_it_is_written(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(old)
    assert convert(path) == 0
    assert (capsys.readouterr().out, path.read_text()) == (new, old)
    assert convert(path, "--write") == 0
    assert (capsys.readouterr().out, path.read_text()) == ("", new)
    assert loaded(new, said=[]) == loaded(old, said=[])


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        pytest.param(
            f"{OLD}mod: assist\n", 2, "mod: no such field, did you mean mode?", id="field"
        ),
        pytest.param(f"{OLD}filter: 3\n", 2, "filter: 3 is not a mapping of fields", id="value"),
        pytest.param(
            f"base: &base {{apiVersion: {OLD_API_VERSION}}}\n<<: *base\nkind: {KIND}\n",
            *(2, "apiVersion: comes by a merge key; write it out"),
            id="merged",
        ),
        pytest.param("[]", 2, "not a mapping of fields", id="no configuration"),
        pytest.param(None, 3, "No such file", id="no file"),
    ],
)
def test_what_would_not_start_is_not_converted(
    text: str | None,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "c.yaml"
    if text is not None:
        path.write_text(text)
    assert convert(path, "--write") == code
    captured = capsys.readouterr()
    assert (captured.out, path.read_text() if text else None) == ("", text)
    assert said in captured.err


EACH = pytest.mark.parametrize("feature", [pytest.param(each, id=each.name) for each in features()])


@EACH
def test_what_is_not_stable_is_off_by_default(feature: Feature) -> None:
    assert feature.maturity is Maturity.STABLE or not feature.enabled(defaults())
