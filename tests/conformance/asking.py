"""Cases put to the scheduler's own plugins, in a Go program that stays for many of them."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INTER_POD_AFFINITY = "interPodAffinity"


class InTree:
    """The scheduler's plugins of one release; `conformance/README.md` has the shape of a case."""

    def __init__(self, release: str, cases: IO[bytes], replies: IO[bytes]) -> None:
        self.release = release
        self._cases = cases
        self._replies = replies

    def answers(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return for each question of a case what each plugin says."""
        self._cases.write(json.dumps(case).encode() + b"\n")
        self._cases.flush()
        line = self._replies.readline()
        assert line, f"the program with Kubernetes {self.release} ended"
        reply = json.loads(line)
        # The API server would not have stored such a pod, or the case is malformed.
        assert "error" not in reply, f"Kubernetes {self.release}: {reply['error']}"
        answers: list[dict[str, Any]] = reply["answers"]
        return answers


@contextmanager
def in_tree(release: str, program: str) -> Iterator[InTree]:
    """Run the program that `programs.answering` built."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield InTree(release, process.stdin, process.stdout)
