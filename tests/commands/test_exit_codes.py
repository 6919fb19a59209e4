"""What every command ends with: 0 fine, 1 not fine, 2 wrong usage or input, 3 cannot be read."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from affinityctl import cli
from tests.builders import node, pod, selector, term

HEADER = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with files of each kind, and without a cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    crossing = pod("p").anti_affinity(term("zone", selector(), namespaceSelector={}))
    objects = {"kind": "List", "items": [node("n"), crossing.on("n")]}
    (tmp_path / "cluster.json").write_text(json.dumps(objects))
    (tmp_path / "picky.json").write_text(json.dumps(pod("picky").selects(disk="ssd")))
    (tmp_path / "broken.json").write_text('{"kind":"Pod","metadata":{"name":7}}')
    its = {"name": "affinity-extender", "namespace": "kube-system"}
    (tmp_path / "left.json").write_text(json.dumps({"kind": "Lease", "metadata": its}))
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "good.yaml").write_text(HEADER)
    (tmp_path / "bad.yaml").write_text(HEADER + "mode: fast\n")
    server = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    chosen = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    away = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [server],
        "contexts": [chosen],
        "users": [{"name": "u", "user": {}}],
    }
    (tmp_path / "away.kubeconfig").write_text(json.dumps(away))
    return tmp_path


COMMON = [
    pytest.param("--version", 0, id="--version"),
    pytest.param("--help", 0, id="--help"),
    pytest.param("version", 0, id="version"),
    pytest.param("version -o json", 0, id="version as JSON"),
    pytest.param("version -o xml", 2, id="version in no format"),
    pytest.param("completion bash", 0, id="completion"),
    pytest.param("completion tcsh", 2, id="completion for a shell that is not supported"),
    pytest.param("completion", 2, id="completion for no shell"),
    pytest.param("", 2, id="no command"),
    pytest.param("qouta", 2, id="no such command"),
    pytest.param("explain p --cluster cluster.json", 0, id="explain"),
    pytest.param("explain p --cluster cluster.json --node m", 2, id="explain, no such node"),
    pytest.param("explain q --cluster cluster.json", 2, id="explain, no such pod"),
    pytest.param(
        "explain p --cluster cluster.json --kubeconfig away.kubeconfig", 2, id="explain, of which?"
    ),
    pytest.param("violations --cluster cluster.json --context c", 2, id="violations, of which?"),
    pytest.param("lint --cluster cluster.json --context c", 2, id="lint, of which?"),
    pytest.param("explain --cluster cluster.json", 0, id="explain, nobody waits"),
    pytest.param("explain p -l a=b --cluster cluster.json", 2, id="explain what?"),
    pytest.param("explain -f picky.json --cluster cluster.json", 1, id="explain, fits nowhere"),
    pytest.param("explain -f broken.json --cluster cluster.json", 2, id="explain, broken"),
    pytest.param("explain -f nowhere.json --cluster cluster.json", 3, id="explain, no such file"),
    pytest.param("explain p", 3, id="explain, no kubeconfig"),
    pytest.param("simulate --lose zone=z --cluster cluster.json", 2, id="simulate, no such zone"),
    pytest.param("simulate --cluster cluster.json", 0, id="simulate"),
    pytest.param("simulate -f picky.json --cluster cluster.json", 1, id="simulate, a pod waits"),
    pytest.param("simulate -f broken.json --cluster cluster.json", 2, id="simulate, broken"),
    pytest.param("simulate -f nowhere.json --cluster cluster.json", 3, id="simulate, no such file"),
    pytest.param("simulate", 3, id="simulate, no kubeconfig"),
    pytest.param("advise --cluster cluster.json", 0, id="advise"),
    pytest.param("advise --cluster empty.json", 2, id="advise, nothing to look at"),
    pytest.param("advise", 3, id="advise, no kubeconfig"),
    pytest.param("leftovers --cluster cluster.json", 0, id="leftovers, none"),
    pytest.param("leftovers --cluster left.json", 1, id="leftovers"),
    pytest.param("leftovers --cluster left.json --remove", 2, id="leftovers, not of a file"),
    pytest.param("leftovers --cluster broken.json", 2, id="leftovers, broken objects"),
    pytest.param("leftovers", 3, id="leftovers, no kubeconfig"),
    pytest.param("quota --cluster cluster.json", 0, id="quota"),
    pytest.param("quota --cluster cluster.json --what-if pods=1", 0, id="quota, room enough"),
    pytest.param("quota --cluster cluster.json --what-if pods=0", 1, id="quota would refuse"),
    pytest.param("quota --cluster cluster.json --what-if gpus=1", 2, id="quota of what?"),
    pytest.param("quota --prot", 2, id="quota, an unknown flag"),
    pytest.param("quota --cluster broken.json", 2, id="quota, broken objects"),
    pytest.param("quota --cluster empty.json", 2, id="quota, nothing to ask about"),
    pytest.param("quota --cluster nowhere.json", 3, id="quota, no such file"),
    pytest.param("quota --cluster empty", 2, id="quota, an empty folder"),
    pytest.param("quota", 3, id="quota, no kubeconfig"),
    pytest.param("quota --kubeconfig nowhere", 3, id="quota, no such kubeconfig"),
    pytest.param("quota --kubeconfig good.yaml", 2, id="quota, no kubeconfig in that file"),
    pytest.param("quota --kubeconfig away.kubeconfig", 3, id="quota, no such server"),
]


@pytest.mark.parametrize(("line", "code"), COMMON)
@pytest.mark.usefixtures("folder")
def test_both_programs(line: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    for program in (cli.main, cli.kubectl):
        assert program(line.split()) == code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert bool(captured.err) == (code > 1), "whatever cannot be answered is said"
        assert captured.err.count("\n") <= 1 or captured.err.startswith("usage: ")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("serve --validate-only", 0, id="serve, defaults"),
        pytest.param("serve --config good.yaml --write-config-to -", 0, id="serve, written out"),
        pytest.param("serve --config good.yaml --validate-only", 0, id="serve, a good file"),
        pytest.param("serve --cluster cluster.json --validate-only", 0, id="serve, a cluster"),
        pytest.param("serve --port x", 2, id="serve, a bad value"),
        pytest.param("serve --prot 1", 2, id="serve, an unknown flag"),
        pytest.param("serve --config bad.yaml", 2, id="serve, a bad file"),
        pytest.param("serve --config empty.json", 2, id="serve, an empty file"),
        pytest.param("serve --cluster broken.json", 2, id="serve, broken objects"),
        pytest.param("serve --cluster empty.json", 2, id="serve, an empty cluster file"),
        pytest.param("serve --config nowhere.yaml", 3, id="serve, no such file"),
        pytest.param("serve --cluster nowhere.json", 3, id="serve, no such cluster file"),
        pytest.param("serve --kubeconfig nowhere", 3, id="serve, no such kubeconfig"),
        pytest.param("serve --kubeconfig good.yaml", 2, id="serve, no kubeconfig in that file"),
        pytest.param("serve --write-config-to no/such/folder", 3, id="serve, nowhere to write"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_affinity_extender(line: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = line.split()
    if arguments[0] == "serve":
        arguments += ["--port", "0", "--ops-port", "0"] if "--port" not in arguments else []
    assert cli.main(arguments) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert (code > 1) <= bool(captured.err)


@pytest.mark.parametrize("command", ["serve", "explain p", "simulate", "lint", "advise", "quota"])
@pytest.mark.parametrize("other", ["kubeconfig", "context"])
@pytest.mark.usefixtures("folder")
def test_a_file_and_a_live_cluster_are_not_both_asked(
    command: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{command} --cluster cluster.json --{other} away.kubeconfig"
    assert cli.main(line.split()) == 2
    said = capsys.readouterr().err
    assert f"--{other}: has no use beside --cluster; leave one of them out; see " in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-n shop explain p", "unrecognized arguments: -n; flags come after the command; see "),
        ("explain pod p --cluster cluster.json", "pod is a kind; a name follows a slash: pod/NAME"),
        ("simulate --cluster .", "broken.json: object 0 (Pod): metadata.name: Expected `str`"),
        ("serve --cluster . --port 0 --ops-port 0", ".: is a directory; name the files in it"),
        ("explain p --kubeconfig away.kubeconfig --context d", "name one with --context: c; see "),
        (
            "dump --kubeconfig none.kubeconfig",
            "none.kubeconfig: no context is the current one; name one with --context: c; see ",
        ),
        (
            "explain p --kubeconfig nowhere",
            "no such file: nowhere; name another, or have a file instead of a live cluster with ",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_says_what_to_do(
    line: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = (folder / "away.kubeconfig").read_text()
    (folder / "none.kubeconfig").write_text(away.replace('"current-context": "c",', ""))
    assert cli.main(line.split()) in {2, 3}
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("affinity-extender: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", ["explain p", "simulate", "violations", "advise"])
def test_pods_without_a_node_are_no_cluster(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crossing = pod("p").anti_affinity(term("zone", selector())).on("n")
    (folder / "pods.json").write_text(json.dumps({"kind": "List", "items": [crossing]}))
    assert cli.main([*command.split(), "--cluster", "pods.json"]) == 2
    said = "--cluster: there is no node in it; expected what `kubectl get nodes,namespaces,pods"
    assert said in capsys.readouterr().err


def test_a_port_that_is_taken_is_no_wrong_usage(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        flags = ["--cluster", str(folder / "cluster.json"), "--ops-port", "0"]
        assert cli.main(["serve", *flags, "--port", port]) == 1
    assert "cannot listen on 127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "quota", "version", "completion"])
def test_help_says_what_codes_mean(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    said = {line[0]: line[1] for line in lines if line and line[0] in {"0", "1", "2", "3"}}
    assert said.pop("1")
    assert said == {
        "0": "fine",
        "2": "wrong usage, or broken input",
        "3": "the cluster or a file cannot be read",
    }


@pytest.mark.parametrize("flags", [[], ["--testconfig", "test.yaml"], ["--help"]], ids=str)
def test_load_says_which_program_it_is_now(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["load", *flags]) == 2
    expected = "affinity-extender: load is a program of its own now: use clusterload run\n"
    assert capsys.readouterr() == ("", expected)
