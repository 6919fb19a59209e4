"""Files that are none, that never end, that are too large, or that no text is in."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path

import pytest

from affinityctl import cli
from extender.core import files, plain_yaml
from extender.core.cluster.state import ClusterState
from extender.core.config import parse_stream, parse_yaml
from extender.core.errors import MESSAGE_BYTES, ConfigError
from extender.core.offline import ClusterFileError, ClusterFiles
from extender.core.wire.objects import PodReader
from tests.builders import node, pod

LIST = json.dumps({"kind": "List", "items": [node("a", {}), pod("p").on("a")]})


def bomb(last: str) -> str:
    """Write nine aliases of nine aliases and so on: a few lines that come to billions."""
    lines = [
        "a0: &a0 lol",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
    return "\n".join([*lines, last])


MERGED = "\n".join(
    [
        "a0: &a0 {x: 1}",
        *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)),
    ]
)

BROKEN_YAML = [
    pytest.param(bomb("end: 1"), "aliases are written out", id="a billion laughs"),
    pytest.param(MERGED, "aliases are written out", id="a billion merges"),
    pytest.param("a: &a [*a]", "part of", id="an alias of itself"),
    pytest.param("[" * 100_000, "nested deeper", id="deep lists"),
    pytest.param("x: " + "{a: " * 100_000, "nested deeper", id="deep mappings"),
    pytest.param("- " * 100_000, "nested deeper", id="a deep list in one line"),
    pytest.param("? " * 100_000, "nested deeper", id="deep keys"),
    pytest.param("\n".join(" " * n + "a:" for n in range(2000)), "nested deeper", id="deep blocks"),
    pytest.param("a: !!int x", "does not fit its tag", id="a wrong tag"),
    pytest.param("a: !!bool 5", "does not fit its tag", id="another wrong tag"),
    pytest.param("a: !!set {b, c}", "could not determine", id="a tag that JSON does not know"),
    pytest.param("a: 0x" + "f" * 100_000, "more than 64 bits", id="an endless number"),
    pytest.param("a: " + "9" * 100_000, "does not fit its tag", id="too many digits"),
    pytest.param("a: .inf", "a number that JSON does not have", id="no end of a number"),
    pytest.param("a: \0", "not allowed", id="NUL"),
    pytest.param('a: "\\ud800"', "surrogate|invalid Unicode", id="a lone surrogate"),
    pytest.param("a: *b", "undefined alias", id="an alias of nothing"),
    pytest.param("? [a]\n: b", "unhashable key|is not a (text|string)", id="a list for a key"),
]


@pytest.mark.parametrize(("text", "says"), BROKEN_YAML)
def test_broken_yaml_is_an_error_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(ClusterFileError, match=rf"^{path}: .*({says})"):
        ClusterFiles(ClusterState(), PodReader()).load(path)
    for read in (parse_yaml, parse_stream):
        with pytest.raises(ConfigError, match=rf"^{path}.*({says})"):
            read(text, str(path))


def test_a_date_is_a_text(tmp_path: Path) -> None:
    text = (
        "kind: Pod\nmetadata:\n  name: p\n  creationTimestamp: 2026-13-45T00:00:00Z\n"
        "  labels: {day: 2026-01-02}"
    )
    (tmp_path / "pod.yaml").write_text(text)
    state = ClusterState()
    ClusterFiles(state, PodReader()).load(tmp_path / "pod.yaml")
    assert dict(state.pods["default/p"].pod_class.labels) == {"day": "2026-01-02"}
    assert parse_yaml(text, "pod.yaml")["metadata"]["creationTimestamp"] == "2026-13-45T00:00:00Z"


def test_few_aliases_are_taken() -> None:
    text = "a: &a {x: [1, 2]}\nb: [*a, *a]\nc: {<<: *a, z: 3}"
    assert parse_yaml(text, "x") == {
        "a": {"x": [1, 2]},
        "b": [{"x": [1, 2]}] * 2,
        "c": {"x": [1, 2], "z": 3},
    }


def test_brackets_in_texts_are_no_nesting() -> None:
    text = "a: '" + "[{" * 1000 + "'\nb: |\n" + " " * 200 + "x\n"
    assert parse_yaml(text, "x") == {"a": "[{" * 1000, "b": "x\n"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_text_with_a_byte_order_mark_is_read(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding.endswith("e") else ""
    for name, pack in (("plain", bytes), ("packed", gzip.compress)):
        path = tmp_path / name
        path.write_bytes(pack((mark + LIST).encode(encoding)))
        state = ClusterState()
        ClusterFiles(state, PodReader()).load(path)
        assert list(state.pods) == ["default/p"]
    assert files.read_text(tmp_path / "plain") == LIST


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(gzip.compress(LIST.encode())[:-9], "broken gzip", id="gzip cut off"),
        pytest.param(gzip.compress(LIST.encode())[:12] + b"xxxxxxxxxx", "broken gzip", id="gzip"),
        pytest.param(os.urandom(0) + b"\x7fELF\x02\x01\x01\0\0", "neither JSON nor", id="binary"),
        pytest.param(b"\xff\xfe\0\xd8", "not a text", id="broken UTF-16"),
        pytest.param(b"\x80\x81", "neither JSON nor YAML", id="no UTF-8"),
        pytest.param(b'{"kind": "Pod", "metadata": {"name": "\\ud800"}}', "JSON", id="surrogate"),
        pytest.param(b'{"x":' + b"[" * 1_000_000, "JSON", id="deep JSON"),
        pytest.param(b'{"kind": "' + b"x" * 10_000_000, "JSON", id="endless"),
        pytest.param(b'{"kind": "Pod", "metadata": {"name": 5}}', "metadata.name", id="a type"),
    ],
)
def test_a_broken_cluster_file_is_one_line_that_names_it(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "cluster"
    path.write_bytes(content)
    with pytest.raises(ClusterFileError, match=rf"^{path}: .*{says}") as raised:
        ClusterFiles(ClusterState(), PodReader()).load(path)
    assert len(str(raised.value).encode()) <= MESSAGE_BYTES
    assert str(raised.value).isprintable()


def test_what_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = files.ClusterFileLimits(most=1 << 20, yaml=1 << 20)
    monkeypatch.setattr(files, "OF_CLUSTERS", small)
    (tmp_path / "bomb").write_bytes(gzip.compress(b" " * (64 << 20)))
    with pytest.raises(ClusterFileError, match="larger than 1 MiB"):
        ClusterFiles(ClusterState(), PodReader()).load(tmp_path / "bomb")
    (tmp_path / "yaml").write_bytes(b"#" * (2 << 20))
    with pytest.raises(ClusterFileError, match="2 MiB of YAML, 1 MiB at most"):
        ClusterFiles(ClusterState(), PodReader()).load(tmp_path / "yaml")


def test_a_pipe_is_read_and_one_that_nobody_writes_to_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "OF_CLUSTERS", files.ClusterFileLimits(patience=0.1))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match=r"nothing was written to it for 0 s"):
        files.read_bytes(pipe, patience=0.01)
    with pytest.raises(ClusterFileError, match=r"pipe: nothing was written to it"):
        ClusterFiles(ClusterState(), PodReader()).load(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(LIST,))
    writer.start()
    assert files.read_bytes(pipe, patience=10.0) == LIST.encode()
    writer.join()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(Path.mkdir, "[Ii]s a directory", id="a directory"),
        pytest.param(lambda path: path.symlink_to(path), "symbolic links", id="a circle of links"),
        pytest.param(Path.exists, "No such file", id="nothing"),
        pytest.param(
            lambda path: path.symlink_to("/dev/zero"), "larger than", id="an endless file"
        ),
    ],
)
def test_what_is_no_file_is_said(
    tmp_path: Path, make: object, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(make)
    monkeypatch.setattr(files, "OF_CLUSTERS", files.ClusterFileLimits(most=1 << 20))
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(OSError, match=says):
        files.read_text(path)
    with pytest.raises(ClusterFileError, match=rf"thing: .*{says}"):
        ClusterFiles(ClusterState(), PodReader()).load(path)


@pytest.mark.parametrize(
    "flag", ["--config", "--cluster", "--kubeconfig", "--admission-control-config-file"]
)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x1f\x8bnonsense", id="broken gzip"),
        pytest.param(b"\0" * 1000, id="NULs"),
        pytest.param(b"\xff" * 1000, id="binary"),
        pytest.param(bomb("end: 1").encode(), id="a bomb"),
        pytest.param(b"{a: " * 100_000, id="nesting"),
        pytest.param(b"[" * 100_000, id="more nesting"),
        pytest.param(b"a: !!int x", id="a wrong tag"),
        pytest.param(None, id="a directory"),
    ],
)
def test_every_flag_that_names_a_file_ends_in_one_line(
    tmp_path: Path, flag: str, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "given"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    more = ["--port=0", "--ops-port=0"]
    if flag == "--admission-control-config-file":
        config = tmp_path / "config.yaml"
        plugins = "plugins: [InterPodAffinity, CrossNamespacePodAffinity]\n"
        head = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"
        config.write_text(head + plugins)
        more = ["--config", str(config), "--cluster", str(path)]
    code = cli.main(["serve", flag, str(path), *more])
    said = capsys.readouterr().err
    assert code in {1, 2, 3}
    assert str(path) in said
    assert len(said.splitlines()) == 1
    assert len(said) <= 2 * MESSAGE_BYTES


def test_the_limit_of_nesting_is_far_from_the_end_of_the_stack() -> None:
    deepest = "[" * plain_yaml.MOST_DEPTH + "]" * plain_yaml.MOST_DEPTH
    assert parse_yaml(deepest, "x")
