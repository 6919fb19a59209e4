"""What the command line does, says, and ends with."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import clusterload.cli
import extender
from affinityctl import cli
from extender.core import config
from extender.core.config.options import all_options
from extender.core.errors import ApiError

ROOT = Path(__file__).parents[2]
HEADER = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep settings of whoever runs the tests out."""
    for name in os.environ:
        if name.startswith("AFFINITY_EXTENDER_"):
            monkeypatch.delenv(name)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[config.Config]:
    """Collect the configurations that would have been served; none is."""
    calls: list[config.Config] = []

    def serve(loaded: config.Config) -> int:
        calls.append(loaded)
        return 0

    replace_runtime(monkeypatch, serve)
    return calls


def replace_runtime(monkeypatch: pytest.MonkeyPatch, serve: Callable[[config.Config], int]) -> None:
    fake = types.ModuleType("extender.runtime")
    vars(fake)["serve"] = serve
    monkeypatch.setitem(sys.modules, "extender.runtime", fake)
    monkeypatch.setattr(extender, "runtime", fake, raising=False)


def test_serve_runs_the_configuration(served: list[config.Config]) -> None:
    flags = "serve --cluster a --cluster b.gz --mode replace --port 0 -v 3 --logging-format json"
    assert cli.main(flags.split()) == 0
    [loaded] = served
    assert (loaded.mode, [str(one) for one in loaded.cluster_files]) == ("replace", ["a", "b.gz"])
    assert (loaded.serving.port, loaded.logging.verbosity) == (0, 3)


def test_serve_sets_logging_up_first(
    monkeypatch: pytest.MonkeyPatch,
    served: list[config.Config],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def serve(_: config.Config) -> int:
        logging.getLogger("extender.test").info("up")
        return 0

    replace_runtime(monkeypatch, serve)
    cli.main(["serve", "--logging-format=json"])
    assert served == []
    assert '"msg":"up"' in capsys.readouterr().err


def test_every_flag_reaches_the_configuration(served: list[config.Config]) -> None:
    values = {
        "kubeconfig": "/k",
        "context": "c",
        "mode": "replace",
        "bind-address": "0.0.0.0",
        "port": "1",
        "ops-bind-address": "127.0.0.2",
        "insecure-serving": "true",
        "ops-port": "2",
        "tls-cert-file": "crt",
        "tls-private-key-file": "key",
        "client-ca-file": "ca",
        "logging-format": "json",
        "v": "4",
        "feature-gates": "MatchLabelKeysInPodAffinity=true",
    }
    known = {option.flag for option in all_options()}
    of_kubernetes = {"admission-control-config-file", "scheduler-config"}
    assert values.keys() == known - {"config", "cluster", *of_kubernetes}
    assert cli.main(["serve", *(f"--{flag}={value}" for flag, value in values.items())]) == 0
    spelled = config.effective(served[0])
    assert spelled["clientConnection"] | {"qps": 0, "burst": 0, "staleAfterSeconds": 0} == {
        "kubeconfig": "/k",
        "context": "c",
        "qps": 0,
        "burst": 0,
        "staleAfterSeconds": 0,
    }
    assert (
        spelled["serving"].items()
        >= {
            "bindAddress": "0.0.0.0",
            "port": 1,
            "opsBindAddress": "127.0.0.2",
            "insecureServing": True,
            "opsPort": 2,
            "tlsCertFile": "crt",
            "tlsPrivateKeyFile": "key",
            "clientCAFile": "ca",
        }.items()
    )
    assert (spelled["mode"], spelled["logging"]) == ("replace", {"format": "json", "verbosity": 4})


@pytest.mark.parametrize("value", ["", "=true", "=True"])
def test_a_switch_may_stand_alone(served: list[config.Config], value: str) -> None:
    assert cli.main(["serve", "--bind-address=0.0.0.0", f"--insecure-serving{value}"]) == 0
    assert served[0].serving.insecure_serving


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            "serve --port 99999",
            "affinity-extender: serving.port: 99999 is not in 0..65535 (from --port); see "
            "affinity-extender serve --help\n",
            id="a bad value",
        ),
        pytest.param(
            "serve --prot 1",
            "affinity-extender serve: unrecognized arguments: --prot 1; did you mean --port?; see "
            "affinity-extender serve --help\n",
            id="an unknown flag",
        ),
        pytest.param(
            "serve --logging json",
            "affinity-extender serve: unrecognized arguments: --logging json; did you mean "
            "--logging-format?; see affinity-extender serve --help\n",
            id="half a flag",
        ),
        pytest.param(
            "qouta",
            "affinity-extender: there is no command qouta; did you mean quota?; see "
            "affinity-extender --help\n",
            id="a misspelt command",
        ),
        pytest.param(
            "frobnicate --port 1",
            "affinity-extender: there is no command frobnicate; see affinity-extender --help\n",
            id="no command that is like it",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_ends_with_2(
    arguments: str,
    expected: str,
    served: list[config.Config],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(arguments.split()) == 2
    assert capsys.readouterr() == ("", expected)
    assert served == []


@pytest.mark.parametrize(
    ("line", "taught"),
    [
        pytest.param("", "affinity-extender explain web-7f9c-x2x4z -n shop", id="no command"),
        pytest.param("completion", "source <(affinity-extender completion bash)", id="no shell"),
    ],
)
def test_where_all_is_missing_the_help_is_shown(
    line: str, taught: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: affinity-extender")
    assert taught in captured.err


@pytest.mark.parametrize("program", [cli.main, cli.kubectl], ids=["main", "plugin"])
def test_the_help_has_every_exit_code(
    program: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program(["--help"]) == 0
    codes = capsys.readouterr().out.partition("exit codes:\n")[2]
    assert [line.split()[0] for line in codes.splitlines() if line] == ["0", "1", "2", "3", "4"]


def test_a_mistake_in_the_file_names_its_path(
    tmp_path: Path, served: list[config.Config], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "extender.yaml"
    file.write_text(HEADER + "interPodAffinity: {hardPodAffinityWeight: 150}")
    assert cli.main(["serve", "--config", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"affinity-extender: {file}: interPodAffinity.hardPodAffinityWeight: 150 is not in 0..100; "
    )
    assert served == []


def test_a_cluster_that_refuses_ends_with_3(
    monkeypatch: pytest.MonkeyPatch,
    served: list[config.Config],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def serve(_: config.Config) -> int:
        raise ApiError(403, "Forbidden", "pods is\nforbidden")

    replace_runtime(monkeypatch, serve)
    assert (cli.main(["serve"]), served) == (3, [])
    assert capsys.readouterr().err == "affinity-extender: 403 Forbidden: pods is forbidden\n"


def test_validate_only_says_ok_and_serves_nothing(
    served: list[config.Config], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--validate-only", "--mode", "replace"]) == 0
    expected = "ok: mode replace, plugins InterPodAffinity, objects from the API server\n"
    assert capsys.readouterr() == (expected, "")
    assert served == []


def test_what_is_written_can_be_served(
    tmp_path: Path, served: list[config.Config], capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "effective.yaml")
    flags = ["--cluster", "a", "--ops-port", "7", "--mode", "replace"]
    assert cli.main(["serve", *flags, "--write-config-to", file]) == 0
    assert served == []
    assert cli.main(["serve", *flags]) == 0
    assert cli.main(["serve", "--config", file]) == 0
    assert served[0] == served[1]
    assert capsys.readouterr() == ("", "")


def test_a_place_that_cannot_be_written(
    served: list[config.Config], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["serve", "--write-config-to", "/nonexistent/x"]) == 3
    expected = "affinity-extender: cannot write /nonexistent/x: No such file or directory\n"
    assert capsys.readouterr() == ("", expected)
    assert served == []


@pytest.mark.parametrize("more", [(), ("--mode", "replace"), ("--validate-only",)])
def test_a_variable_that_was_a_setting_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    served: list[config.Config],
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
) -> None:
    monkeypatch.setenv("AFFINITY_EXTENDER_MODE", "replace")
    assert cli.main(["serve", *more]) == 2
    assert served == []
    assert capsys.readouterr().err == (
        "affinity-extender: AFFINITY_EXTENDER_MODE: this variable is no longer read; "
        "give --mode, or mode in the configuration file; see affinity-extender serve --help\n"
    )


def test_other_commands_do_not_mind_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFINITY_EXTENDER_MODE", "replace")
    assert cli.main(["version"]) == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["--help"], ["serve", "quota", "version", "exit codes"], id="the program"),
        pytest.param(
            ["quota", "--help"],
            ["--what-if", "exit codes", "would refuse", "KUBECONFIG"],
            id="quota",
        ),
        pytest.param(
            ["serve", "--help"],
            ["precedence", "/readyz", "assist", "replace", "SIGTERM", "exit codes"]
            + [f"--{option.flag} " for option in all_options()],
            id="serve",
        ),
    ],
)
def test_help_teaches(
    arguments: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    assert [one for one in expected if one not in text] == []


def test_the_scripts_are_installed_by_the_names_that_people_type() -> None:
    found = scripts(ROOT)
    # kubectl finds its plugins by their names.
    assert found.keys() == {"affinity-extender", "kubectl-affinity"}
    assert found["affinity-extender"].load() is cli.main
    assert found["kubectl-affinity"].load() is cli.kubectl
    beside = scripts(ROOT / "clusterload")
    assert beside.keys() == {"clusterload"}
    assert beside["clusterload"].load() is clusterload.cli.main


def scripts(folder: Path) -> dict[str, EntryPoint]:
    """Return the programs that the distribution of a folder installs."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return {name: EntryPoint(name, target, "") for name, target in project["scripts"].items()}


def test_the_module_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "extender", "version"], capture_output=True, check=True, text=True
    )
    assert done.stdout.startswith("affinity-extender ")


def test_help_does_not_wait_for_the_server_to_be_imported() -> None:
    program = (
        "import sys; from affinityctl.cli import main; main(['--help']); "
        "print({'aiohttp', 'kubernetes_asyncio'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_what_the_system_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    served: list[config.Config],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def serve(_: config.Config) -> int:
        raise OSError(24, "Too many open files")

    replace_runtime(monkeypatch, serve)
    assert cli.main(["serve", "--cluster", "x"]) == 3
    assert served == []
    assert capsys.readouterr().err == (
        "affinity-extender: the system refused: [Errno 24] Too many open files\n"
    )
