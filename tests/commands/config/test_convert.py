"""`config convert` writes a configuration of an older version as one of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from affinityctl import cli
from extender.core.config import API_VERSION, KIND
from extender.core.config.schema import OLD_API_VERSION
from tests.config.test_versions import NEW, OLD

ESCAPED = OLD_API_VERSION.replace("/", "\\/")


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
        pytest.param(
            f'{{"kind": "{KIND}", "apiVersion": "{ESCAPED}"}}\n',
            f'{{"kind": "{KIND}", "apiVersion": "{API_VERSION}"}}\n',
            id="JSON that escapes slashes",
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


def test_a_file_from_windows_loads_from_standard_output_and_keeps_its_line_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(OLD.replace("\n", "\r\n").encode())
    assert convert(path) == 0
    assert capsys.readouterr().out == NEW
    assert convert(path, "--write") == 0
    assert path.read_bytes() == NEW.replace("\n", "\r\n").encode()


def test_what_takes_a_flag_beside_it_is_converted(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        f"apiVersion: {OLD_API_VERSION}\nkind: {KIND}\nserving: {{bindAddress: 0.0.0.0}}\n"
    )
    assert convert(path, "--write") == 0
    serve = ["serve", "--validate-only", "--config", str(path)]
    assert [cli.main(serve), cli.main([*serve, "--insecure-serving"])] == [2, 0]


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


def test_the_help_names_both_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["config", "--help"]) == 0
    assert {OLD_API_VERSION, API_VERSION} <= set(capsys.readouterr().out.replace(",", "").split())
