"""Cases put to the scheduler's own plugins, in a Go program that stays for many of them."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Ask = Callable[[Mapping[str, Any]], Any]

INTER_POD_AFFINITY, NODE_AFFINITY = "interPodAffinity", "nodeAffinity"
PLUGINS = (INTER_POD_AFFINITY, NODE_AFFINITY)


@dataclass(frozen=True, slots=True)
class Release:
    """A Kubernetes version, and the feature gates that are switched on beyond its defaults."""

    version: str
    gates: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "1.37.2", or "1.37.2+Gate+AnotherGate"."""
        version, *gates = text.split("+")
        return cls(version, tuple(gates))

    def __str__(self) -> str:
        return "+".join((self.version, *self.gates))

    @property
    def minor(self) -> int:
        """The second number of the version."""
        return int(self.version.split(".")[1])

    @property
    def empty_selects_all(self) -> bool:
        """Whether an empty selector of a spread constraint or of a budget means every pod."""
        return self.minor >= 38

    def flags(self) -> list[str]:
        """Return the command-line flags that switch the gates on."""
        return [f"--feature-gates={','.join(f'{gate}=true' for gate in self.gates)}"]


class InTree:
    """The scheduler's plugins of one release; `conformance/README.md` has the shape of a case."""

    def __init__(self, release: Release, put: Ask) -> None:
        self.release = release
        self._put = put

    def answers(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return for each question of a case what each plugin says."""
        answers: list[dict[str, Any]] = self._ask(case)["answers"]
        return answers

    def preemptions(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return for each preemptor of a case what comes of scheduling it."""
        attempts: list[dict[str, Any]] = self._ask(case)["preemptions"]
        return attempts

    def verdicts(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return for each judged pod of a case why each node is refused that does not fit."""
        judged: list[dict[str, Any]] = self._ask(case)["judged"]
        return judged

    def _ask(self, case: Mapping[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = self._put(case)
        # The API server would not have stored such a pod, or the case is malformed.
        assert "error" not in reply, f"Kubernetes {self.release}: {reply['error']}"
        return reply


@contextmanager
def in_tree(release: Release, program: str) -> Iterator[InTree]:
    """Run the program that `programs.answering` built for this release."""
    with asking(program, *(release.flags() if release.gates else ())) as put:
        yield InTree(release, put)


@contextmanager
def asking(*command: str) -> Iterator[Ask]:
    """Run a program that answers each line of JSON by one; what is given puts a question to it."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions, replies = process.stdin, process.stdout

        def ask(question: Mapping[str, Any]) -> Any:
            questions.write(json.dumps(question).encode() + b"\n")
            questions.flush()
            line = replies.readline()
            assert line, f"{command} ended"
            return json.loads(line)

        yield ask
