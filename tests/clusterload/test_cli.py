"""The command line of clusterload: help, version, completion and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import extender
from affinityctl.terminal.completion import SHELLS
from clusterload.cli import clusterload, main
from tests.clusterload.small_cluster import kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

TEST = """\
name: small
tuningSets: [{name: Fast, parallelismLimitedLoad: {parallelismLimit: 5}}]
steps: [{measurements: [{Identifier: S, Method: Sleep, Params: {duration: 1ms}}]}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with tests, and without a cluster."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "test.yaml").write_text(TEST)
    (tmp_path / "slip.yaml").write_text(TEST.replace("Sleep", "Slip"))
    (tmp_path / "open.yaml").write_text("{{.A")
    (tmp_path / "away.kubeconfig").write_text(json.dumps(kubeconfig("http://127.0.0.1:9")))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("--version", 0, "", id="the version"),
        pytest.param("--help", 0, "", id="help"),
        pytest.param("completion bash", 0, "", id="completion"),
        pytest.param("", 2, "usage: clusterload", id="no command"),
        pytest.param("load", 2, "there is no command load", id="no such command"),
        pytest.param("run", 2, "--testconfig: either this or --testsuite", id="run what?"),
        pytest.param("check", 2, "--testconfig: either this or --testsuite", id="check what?"),
        pytest.param(
            "run --testconfig test.yaml --dry-run",
            2,
            "unrecognized arguments: --dry-run",
            id="run, the flag that became a command",
        ),
        pytest.param("check --testconfig test.yaml --nodes 3", 0, "", id="check, a good test"),
        pytest.param(
            "check --testconfig slip.yaml --nodes 3",
            2,
            "steps[0].measurements[0].method: 'Slip' is not known here",
            id="check, no such measurement",
        ),
        pytest.param(
            "check --testconfig open.yaml --nodes 3",
            2,
            "line 1: '{{' without '}}'",
            id="check, a broken template",
        ),
        pytest.param(
            "check --testconfig no.yaml --nodes 3", 3, "cannot read", id="check, no such test"
        ),
        pytest.param(
            "check --testconfig test.yaml --nodes 3 --kubeconfig nowhere",
            0,
            "",
            id="check, no cluster asked for what is given",
        ),
        pytest.param(
            "check --testconfig test.yaml --kubeconfig away.kubeconfig",
            3,
            "no connection to 127.0.0.1:9",
            id="check, no such server",
        ),
        pytest.param("run --testconfig test.yaml", 3, "kubeconfig", id="run, no kubeconfig"),
        pytest.param(
            "run --testconfig test.yaml --kubeconfig away.kubeconfig",
            3,
            "no connection to 127.0.0.1:9",
            id="run, no such server",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_exit_codes(line: str, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == code
    complaint = capsys.readouterr().err
    assert bool(complaint) == (code > 0)
    assert complaint.count("\n") <= 1 or complaint.startswith("usage: ")
    assert said in complaint


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--help"], ["run", "check", "compare", "plot", "clusterloader2"], id="all"),
        pytest.param(
            ["run", "--help"], ["junit.xml", "CL2_QPS=200", "$KUBECONFIG", "limit"], id="run"
        ),
        pytest.param(
            ["check", "--help"],
            ["generatedConfig", "or 100 where", "default: no cluster is asked"],
            id="check",
        ),
        pytest.param(["compare", "--help"], ["TIMES", "worse by more"], id="compare"),
        pytest.param(["plot", "--help"], ["clusterload.png", "matplotlib", "--by"], id="plot"),
    ],
)
def test_help_teaches(
    arguments: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert [one for one in (*expected, "exit codes") if one not in text] == []


def test_a_command_line_of_run_is_one_of_check() -> None:
    run, check = (clusterload().commands()[name] for name in ("run", "check"))
    flags = [
        {
            flag
            for _, actions in each.groups()
            for action in actions
            for flag in action.option_strings
        }
        for each in (run, check)
    ]
    assert flags[0] == flags[1]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_commands_and_flags(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert [name for name in ("run", "check", "testconfig") if name not in text] == []


def test_the_module_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clusterload", "--version"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.startswith(f"clusterload {extender.__version__} (Python 3")


def test_help_does_not_wait_for_the_client_to_be_imported() -> None:
    program = (
        "import sys; from clusterload.cli import main; main(['--version']); "
        "print({'aiohttp', 'kubernetes_asyncio'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines()[1:] == ["set()"]
