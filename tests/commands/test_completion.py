"""Scripts for completion, as the shells run them."""

from __future__ import annotations

import subprocess

import pytest

from affinityctl import cli
from affinityctl.cli import affinity_extender, kubectl_affinity
from affinityctl.terminal.completion import SHELLS, script

ASK = """
COMP_WORDS=({words}); COMP_CWORD={last}; COMP_LINE="{line}"; COMP_POINT={point}
command=$(complete -p {program} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$command"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(line: str, program: str = "affinity-extender") -> set[str]:
    """Return what bash offers for the last word of a line."""
    of = affinity_extender() if program == "affinity-extender" else kubectl_affinity()
    words = line.split(" ")
    ask = ASK.format(
        words=" ".join(f"'{word}'" for word in words),
        last=len(words) - 1,
        line=line,
        point=len(line),
        program=program,
    )
    text = f"compopt() {{ :; }}\n{script(of, program, 'bash')}\n{ask}"
    done = subprocess.run(
        ["bash", "--norc", "-c", text],  # noqa: S607 - the user's own
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("affinity-extender ser", {"serve"}, id="a command"),
        pytest.param("affinity-extender quota --what", {"--what-if"}, id="a flag"),
        pytest.param("affinity-extender serve --mode re", {"replace"}, id="a value of the schema"),
        pytest.param(
            "affinity-extender quota -o ",
            {"text", "json", "yaml", "name"},
            id="a value of the command's own",
        ),
        pytest.param("affinity-extender completion z", {"zsh"}, id="a shell"),
    ],
)
def test_bash(line: str, expected: set[str]) -> None:
    assert complete(line) == expected


def test_the_plugin_completes_under_its_own_name() -> None:
    assert complete("kubectl-affinity quo", "kubectl-affinity") == {"quota"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_commands_and_flags(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert [name for name in ("serve", "quota", "what-if", "replace") if name not in text] == []
