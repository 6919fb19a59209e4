"""Folders and archives as people have them, and those that strangers make."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from affinityctl.reading import sources
from affinityctl.reading.sources import ArchiveLimits
from tests.builders import HOST, namespace, node, pod, quota, selector, term, workload

Files = Mapping[str, str]

APART = term(HOST, selector(app="web"))
WEB = pod("web", "shop").labels(app="web").anti_affinity(APART).on("n")
NEW = pod("new", "shop").labels(app="web").anti_affinity(APART)
NODE = node("n", {HOST: "n"})
HIDDEN = {
    "kind": "Secret",
    "apiVersion": "v1",
    "metadata": {"name": "key"},
    "data": {"k": "czNjcmV0"},
}


def listed(kind: str, *items: Any) -> dict[str, Any]:
    """Build a typed list as client-go writes it: its items say no kind."""
    plain = [{name: value for name, value in each.items() if name != "kind"} for each in items]
    return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {}, "items": plain}


def as_yaml(*objects: Any) -> str:
    return yaml.safe_dump_all([json.loads(json.dumps(each)) for each in objects])


def as_json(found: Any) -> str:
    return json.dumps(found, indent=4) + "\n"


IMAGE = "must-gather.local.1/quay-io-openshift-sha256-1"
MUST_GATHER: Files = {
    f"{IMAGE}/version": "4.17",
    f"{IMAGE}/cluster-scoped-resources/core/nodes/n.yaml": "---\n" + as_yaml(NODE),
    f"{IMAGE}/cluster-scoped-resources/core/namespaces/shop.yaml": as_yaml(namespace("shop")),
    f"{IMAGE}/namespaces/shop/core/pods.yaml": "---\n" + as_yaml(listed("Pod", WEB, NEW)),
    f"{IMAGE}/namespaces/shop/core/events.yaml": as_yaml(listed("Event", {"reason": "x"})),
    f"{IMAGE}/namespaces/shop/core/secrets.yaml": "---\n" + as_yaml(listed("Secret", HIDDEN)),
    f"{IMAGE}/namespaces/shop/pods/web/web.yaml": as_yaml(WEB),
    f"{IMAGE}/namespaces/shop/pods/web/c/c/logs/current.log": "{\n",
    f"{IMAGE}/namespaces/shop/pods/web/c/c/logs/previous.log": "{\n",
}
SUPPORT_BUNDLE: Files = {
    "support-bundle-1/version.yaml": "apiVersion: x\nkind: SupportBundle\n",
    "support-bundle-1/cluster-resources/nodes.json": as_json(listed("Node", NODE)),
    "support-bundle-1/cluster-resources/pods/shop.json": as_json(listed("Pod", WEB, NEW)),
    "support-bundle-1/cluster-resources/pods-errors.json": "[]",
    "support-bundle-1/cluster-resources/secrets/shop.json": as_json(HIDDEN),
    "support-bundle-1/cluster-resources/pods/logs/shop/web/c.log": "hello",
    "support-bundle-1/inner.tar.gz": "x",
}
CLUSTER_INFO: Files = {
    "nodes.json": as_json(listed("Node", NODE)),
    "shop/pods.json": as_json(listed("Pod", WEB, NEW)),
    "shop/events.json": as_json(listed("Event", {"reason": "x"})),
    "shop/web/logs.txt": "==== START logs for container c of pod shop/web ====\n{\n",
}
LAYOUTS = {
    "a must-gather": MUST_GATHER,
    "a support bundle": SUPPORT_BUNDLE,
    "a folder of cluster-info dump": CLUSTER_INFO,
}


def folder(files: Files, place: Path) -> Path:
    for name, text in files.items():
        (place / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "folder" / name).write_text(text)
    return place / "folder"


def tar(files: Files, place: Path, mode: Any = "w:gz") -> Path:
    path = place / "files.tgz"
    with tarfile.open(path, mode) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def plain_tar(files: Files, place: Path) -> Path:
    return tar(files, place, "w:")


def zipped(files: Files, place: Path) -> Path:
    path = place / "files.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


Pack = Callable[[Files, Path], Path]
PACKED = [
    pytest.param(folder, id="a folder"),
    pytest.param(tar, id="tar.gz"),
    pytest.param(plain_tar, id="tar"),
    pytest.param(zipped, id="zip"),
]


class Ran:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object) -> tuple[int, str, str]:
        code = cli.main(list(map(str, words)))
        return code, *self._capsys.readouterr()


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    return Ran(capsys)


@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pod_is_explained_from_what_people_send(
    layout: str, pack: Pack, tmp_path: Path, ran: Ran
) -> None:
    path = pack(LAYOUTS[layout], tmp_path)
    code, out, err = ran("explain", "new", "-n", "shop", "--cluster", path)
    assert code == 1
    assert "shop/new does not fit on n\n" in out
    assert "blocked by shop/web" in " ".join(out.split())
    assert err.count("\n") == 1, "what is passed over is one line"
    assert "czNjcmV0" not in out + err


def test_what_is_passed_over_is_counted_by_kind_and_listed_when_asked_for(
    tmp_path: Path, ran: Ran
) -> None:
    path = tar(MUST_GATHER, tmp_path)
    line = ("explain", "new", "-n", "shop", "--cluster", path)
    _, _, err = ran(*line)
    assert "; passed over: 1 EventList, 1 SecretList, 2 log files, 1 other file, 1 repeated " in err
    _, _, err = ran(*line, "-v")
    assert err.count("\n") == 7
    assert f"passed over: {path}: {IMAGE}/namespaces/shop/core/secrets.yaml (SecretList)" in err


@pytest.mark.parametrize(
    "command", ["simulate", "violations", "quota", "lint", "advise", "dump -o small.json"]
)
def test_every_command_reads_an_archive(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Ran
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {**MUST_GATHER, "quota.yaml": as_yaml(quota("q", {"pods": "1"}))}
    path = tar(files, tmp_path)
    code, out, err = ran(*command.split(), "--cluster", path)
    assert code in {0, 1, 4}
    written = "".join(each.read_text() for each in tmp_path.glob("*.json"))
    assert "czNjcmV0" not in out + err + written


def test_a_pod_that_is_there_twice_counts_once(tmp_path: Path, ran: Ran) -> None:
    template = pod("t", "shop").labels(app="web")
    made = pod("one", "shop").labels(app="web").owned_by("Job/work").on("n")
    files = {
        "nodes.yaml": as_yaml(NODE),
        "pods.yaml": as_yaml(listed("Pod", made)),
        "one.yaml": as_yaml(made),
        "job.yaml": as_yaml(workload("Job", "work", template, parallelism=2)),
    }
    code, out, _ = ran("simulate", "--cluster", tar(files, tmp_path))
    assert (code, "1 pod that is not made yet by controllers" in out) == (0, True)


def test_two_clusters_in_one_folder_are_told(tmp_path: Path, ran: Ran) -> None:
    """The first that has a name counts, as of a dump that is there twice."""
    for name, uid in (("first", "1"), ("second", "2"), ("third", "1")):
        node = NODE | {"metadata": NODE["metadata"] | {"uid": uid}}
        (tmp_path / f"{name}.yaml").write_text(as_yaml(node, pod("new")))
    _, _, err = ran("explain", "new", "--cluster", tmp_path)
    assert "1 repeated Node of another time or cluster" in err
    assert "1 repeated Node," in err


LOG = '==== START logs for container c of pod shop/web ====\n{"kind": "Pod"}\n}\n{ a\n'
ENDS = "==== END logs for container c of pod shop/web ====\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            as_json(listed("Node", NODE))
            + as_json(listed("Pod", WEB, NEW))
            + LOG
            + ENDS
            + LOG
            + ENDS,
            id="logs at the end",
        ),
        pytest.param(
            as_json(listed("Node", NODE)) + LOG + ENDS + as_json(listed("Pod", WEB, NEW)),
            id="logs between",
        ),
        pytest.param(
            as_json(listed("Node", NODE)) + as_json(listed("Pod", WEB, NEW)) + LOG,
            id="logs that are cut off",
        ),
        pytest.param(
            as_json(listed("Node", NODE))
            + LOG
            + "no end of line"
            + ENDS
            + as_json(listed("Pod", WEB, NEW)),
            id="a log without a last end of line",
        ),
    ],
)
def test_cluster_info_dump_with_logs_in_it(text: str, tmp_path: Path, ran: Ran) -> None:
    path = tmp_path / "info.txt"
    path.write_text(text)
    code, out, _ = ran("explain", "new", "-n", "shop", "--cluster", path)
    assert (code, "blocked by shop/web" in " ".join(out.split())) == (1, True)


STUCK = workload("Deployment", "web", pod("t").labels(app="web").affinity(term(HOST, selector())))
TEMPLATE = (
    f"---\n# Source: c/templates/empty.yaml\n---\n# Source: c/templates/web.yaml\n{as_yaml(STUCK)}"
)
ROLLOUT = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Rollout",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
}
CONFIG = ROLLOUT | {"apiVersion": "apps.openshift.io/v1", "kind": "DeploymentConfig"}
CLONES = ROLLOUT | {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEMPLATE, id="helm template"),
        pytest.param(f"{TEMPLATE}\nNOTES:\n1. Go to: http://{{x\n", id="with notes"),
        pytest.param(
            f"NAME: c\nLAST DEPLOYED: Mon Jan  1 00:00:00 2024\nHOOKS:\nMANIFEST:\n{TEMPLATE}\n"
            "NOTES:\n  : hello\n",
            id="helm install --dry-run",
        ),
    ],
)
def test_what_helm_prints(text: str, tmp_path: Path, ran: Ran) -> None:
    path, dump = tmp_path / "chart.yaml", tmp_path / "dump.json"
    path.write_text(text)
    dump.write_text(as_json({"kind": "List", "items": [NODE]}))
    code, out, _ = ran("lint", path)
    assert "1 object" in out
    code, out, _ = ran("explain", "-f", path, "--cluster", dump)
    assert (code, "default/deployment/web" in out) == (0, True)


@pytest.mark.parametrize("thing", [ROLLOUT, CONFIG, CLONES], ids=lambda thing: thing["kind"])
def test_a_controller_that_is_not_known_is_named(
    thing: dict[str, Any], tmp_path: Path, ran: Ran
) -> None:
    path, dump = tmp_path / "thing.yaml", tmp_path / "dump.json"
    path.write_text(as_yaml(thing))
    dump.write_text(as_json({"kind": "List", "items": [NODE]}))
    said = f"not judged: {thing['kind']} shop/web"
    code, out, _ = ran("lint", path)
    assert (code, out) == (0, f"{said}\n")
    _, out, _ = ran("lint", path, "-o", "json")
    assert json.loads(out)["summary"]["notJudged"] == [f"{thing['kind']} shop/web"]
    for command in ("explain", "simulate"):
        code, _, err = ran(command, "-f", path, "--cluster", dump)
        assert (code, said in err) == (2, True)
        path.write_text(as_yaml(thing, pod("p")))
        code, _, err = ran(command, "-f", path, "--cluster", dump)
        assert (code, said in err) == (0, True)
        path.write_text(as_yaml(thing))


@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize("command", ["lint", "explain -f", "simulate -f"])
def test_manifests_may_be_in_a_folder_or_an_archive(
    command: str, pack: Pack, tmp_path: Path, ran: Ran
) -> None:
    files = {
        "web/deployment.yaml": as_yaml(STUCK),
        "web/rollout.yaml": as_yaml(ROLLOUT),
        "values.yaml": "replicas: 3",
        "README.md": "# Web",
    }
    path, dump = pack(files, tmp_path), tmp_path / "dump.json"
    dump.write_text(as_json({"kind": "List", "items": [NODE]}))
    code, out, err = ran(*command.split(), path, "--cluster", dump)
    assert (code, "web" in out) == (command == "lint", True), "lint finds the required affinity"
    assert f"{path}" in err
    assert "passed over: 2 other files; the first: " in err
    assert err.endswith("values.yaml: kind: an object needs a kind\n")
    assert "not judged: Rollout shop/web" in out + err


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow little, so that tests need not make much."""
    limits = ArchiveLimits(
        members=20,
        member=1 << 20,
        all_read=3 << 20,
        unpacked=8 << 20,
        header=1 << 10,
        directory=1 << 16,
    )
    monkeypatch.setattr(sources, "MOST", limits)


MIB = 1 << 20


@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param(
            {f"{number}.yaml": "" for number in range(21)}, "more than 20 members", id="many"
        ),
        pytest.param({"large.yaml": "#" * 2 * MIB}, "more than 1 MiB in one member", id="large"),
        pytest.param(
            {f"{number}.yaml": "#" * MIB for number in range(5)},
            "more than 3 MiB of objects",
            id="large together",
        ),
    ],
)
@pytest.mark.usefixtures("small")
def test_what_is_too_much_names_the_limit(
    files: Files, says: str, pack: Pack, tmp_path: Path, ran: Ran
) -> None:
    path = pack(files, tmp_path)
    code, out, err = ran("explain", "-A", "--cluster", path)
    assert (code, out) == (2, "")
    assert err == f"affinity-extender: {path}: {says}, which is the limit\n"


@pytest.mark.usefixtures("small")
def test_a_bomb_of_logs_names_the_limit(tmp_path: Path, ran: Ran) -> None:
    path = tar({"web.log": "x" * 9 * MIB}, tmp_path)
    assert path.stat().st_size < MIB // 10
    code, _, err = ran("explain", "-A", "--cluster", path)
    assert (code, "more than 8 MiB unpacked" in err) == (2, True)


@pytest.mark.parametrize("mode", ["w:bz2", "w:xz"])
def test_an_archive_that_is_packed_otherwise_is_to_be_unpacked(
    mode: str, tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tar({"nodes.yaml": as_yaml(NODE)}, tmp_path, mode)
    code, _, err = ran("explain", "-A", "--cluster", path)
    assert (code, "is not read; unpack it into a folder" in err) == (2, True)
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        code, _, err = ran("explain", "-A", "--cluster", "-")
    assert (code, "is not read; unpack it into a folder" in err) == (2, True)


@pytest.mark.usefixtures("small")
def test_a_header_that_is_too_long_is_not_read(tmp_path: Path, ran: Ran) -> None:
    path = tar({"x" * 5_000 + ".yaml": as_yaml(NODE)}, tmp_path)
    code, _, err = ran("explain", "-A", "--cluster", path)
    assert (code, "a broken archive" in err) == (2, True)


@pytest.mark.usefixtures("small")
def test_a_directory_that_is_too_long_is_not_read(tmp_path: Path, ran: Ran) -> None:
    path = zipped({f"{number}.log": "" for number in range(2_000)}, tmp_path)
    code, _, err = ran("explain", "-A", "--cluster", path)
    assert (code, "a broken archive: a directory of more than" in err) == (2, True)


def test_a_member_may_be_in_utf_16(tmp_path: Path, ran: Ran) -> None:
    path = tmp_path / "files.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nodes.yaml", as_yaml(NODE, WEB).encode("utf-16"))
        archive.writestr("odd.yaml", b"\xff\xfe\x00")
    code, _, err = ran("explain", "web", "-n", "shop", "--cluster", path)
    assert (code, "not a text" in err) == (0, True)


def test_nothing_is_written_and_no_link_is_followed(tmp_path: Path, ran: Ran) -> None:
    outside, path = tmp_path / "outside.yaml", tmp_path / "evil.tgz"
    outside.write_text(as_yaml(NEW))
    with tarfile.open(path, "w:gz") as archive:
        for name, target in (("a.yaml", str(outside)), ("b.yaml", "/etc/passwd")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name in ("../../escaped.yaml", "/abs.yaml"):
            content = as_yaml(NODE if name == "/abs.yaml" else WEB).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    before = sorted(tmp_path.rglob("*"))
    code, _, err = ran("explain", "web", "-n", "shop", "--cluster", path)
    assert (code, sorted(tmp_path.rglob("*"))) == (0, before)
    assert "2 links" in err
    code, _, err = ran("explain", "new", "-n", "shop", "--cluster", path)
    assert (code, "no pod new" in err) == (2, True)


def test_a_link_out_of_a_folder_is_not_followed(tmp_path: Path, ran: Ran) -> None:
    place = folder({"nodes.yaml": as_yaml(NODE), "pods.yaml": as_yaml(WEB)}, tmp_path)
    (tmp_path / "outside.yaml").write_text(as_yaml(NEW))
    (place / "new.yaml").symlink_to(tmp_path / "outside.yaml")
    (place / "again.yaml").symlink_to(place / "pods.yaml")
    (place / "above").symlink_to(tmp_path)
    os.mkfifo(place / "pipe.yaml")
    code, _, err = ran("explain", "new", "-n", "shop", "--cluster", place)
    assert code == 2
    code, _, err = ran("explain", "web", "-n", "shop", "--cluster", place)
    assert (code, "1 link" in err) == (0, True)


EVIL = "\x1b]0;x\x07\u202e\r\nnobody"


@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar.gz", "zip"])
def test_names_of_members_do_not_drive_a_terminal(pack: Pack, tmp_path: Path, ran: Ran) -> None:
    files = {
        "nodes.yaml": as_yaml(NODE, WEB),
        f"{EVIL}.log": "",
        f"{EVIL}.yaml": f"kind: Pod\nmetadata: {{name: [{EVIL!r}]}}",
        f"{EVIL}x.yaml": f"kind: 'Odd {EVIL!r}'\nmetadata: {{name: x}}",
        f"{EVIL}.json": "{",
    }
    path = pack(files, tmp_path)
    for command in ("explain", "lint", "dump"):
        words = ["-o", tmp_path / "small"] if command == "dump" else []
        _, out, err = ran(command, *words, "--cluster", path, "-v")
        assert (out + err).replace("\n", "").isprintable()
        assert not re.search("^nobody", out + err, re.MULTILINE)


ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{to}: &{to} [{','.join(f'*{of}' for _ in range(9))}]\n"
    for of, to in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(f"kind: Pod\n{ALIASES}", "aliases", id="aliases of aliases"),
        pytest.param("kind: Pod\nspec: " + "[" * 5_000, "nested deeper than", id="deep YAML"),
        pytest.param('{"kind": "Pod", "spec": ' + "[" * 100_000, "", id="deep JSON"),
        pytest.param("[" * 100_000, "a list without a kind", id="a deep list"),
        pytest.param("\0\0\0", "", id="no text"),
    ],
)
def test_a_hostile_file_in_an_archive_is_passed_over(
    text: str, says: str, tmp_path: Path, ran: Ran
) -> None:
    path = tar({"nodes.yaml": as_yaml(NODE, WEB), "odd.yaml": text}, tmp_path)
    code, _, err = ran("explain", "web", "-n", "shop", "--cluster", path)
    assert code == 0
    assert "passed over: 1 other file; the first: " in err
    assert says in err


@pytest.mark.parametrize("pack", [tar, zipped], ids=["tar.gz", "zip"])
def test_an_archive_that_is_cut_off_is_broken(pack: Pack, tmp_path: Path, ran: Ran) -> None:
    path = pack({"nodes.json": as_json([os.urandom(9_000).hex()])}, tmp_path)
    path.write_bytes(path.read_bytes()[:4_000])
    code, _, err = ran("explain", "-A", "--cluster", path)
    assert (code, err.count("\n"), "broken" in err) == (2, 1, True)


@pytest.mark.parametrize("flipped", range(0, 1_500, 37))
def test_no_damage_is_a_traceback(flipped: int, tmp_path: Path, ran: Ran) -> None:
    for pack in (plain_tar, zipped):
        path = pack({"nodes.yaml": as_yaml(NODE, WEB)}, tmp_path)
        content = bytearray(path.read_bytes())
        content[flipped % len(content)] ^= 0xFF
        path.write_bytes(content)
        code, _, err = ran("explain", "web", "-n", "shop", "--cluster", path)
        assert code in {0, 2, 3}
        assert "Traceback" not in err


def test_an_archive_comes_through_a_pipe_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Ran
) -> None:
    path = tar(CLUSTER_INFO, tmp_path)
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        code, out, _ = ran("explain", "new", "-n", "shop", "--cluster", "-")
    assert (code, "shop/new does not fit on n" in out) == (1, True)


def test_a_packed_dump_is_no_archive(tmp_path: Path, ran: Ran) -> None:
    path = tmp_path / "dump.json.gz"
    path.write_bytes(gzip.compress(as_json({"kind": "List", "items": [NODE, WEB]}).encode()))
    assert ran("explain", "web", "-n", "shop", "--cluster", path)[0] == 0


def test_a_packed_file_of_a_folder_is_no_larger_than_it_looks(tmp_path: Path, ran: Ran) -> None:
    path = folder({"nodes.yaml": as_yaml(NODE)}, tmp_path)
    packed = gzip.compress(as_json({"kind": "List", "items": [WEB]}).encode())
    (path / "pods.json").write_bytes(packed)
    code, out, err = ran("explain", "-A", "--cluster", path)
    assert (code, "No pod waits" in out) == (0, True)
    assert "1 other file; the first: " in err
    assert "pods.json: packed; unpack it, or name it by itself" in err
