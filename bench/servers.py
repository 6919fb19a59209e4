"""The processes that are measured, with their start-up time and memory."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.e2e.controlplane.process import free_port

_START_LIMIT = 120.0
"""Seconds until a server has to be ready; one that never is, is a failure, not a result."""
_STOP_LIMIT = 20.0
_POLL = 0.02
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    port: int
    ops_port: int
    pid: int
    ready_after: float
    """Seconds from the start of the process until /readyz said yes."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def total(self, metric: str) -> float:
        with urlopen(f"http://127.0.0.1:{self.ops_port}/metrics") as answer:
            text = answer.read().decode()
        found = re.findall(rf"^{metric}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))

    def memory(self) -> tuple[float, float]:
        """Return the resident memory now and at its highest, in MiB."""
        return memory_of(self.pid)


def memory_of(pid: int) -> tuple[float, float]:
    """Return the resident memory of a process now and at its highest, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return _mebibytes(status, "VmRSS"), _mebibytes(status, "VmHWM")


@contextmanager
def echo_server(name: str) -> Iterator[Server]:
    """Run the server that answers at once."""
    port = free_port()
    with _running(name, [sys.executable, "-m", "bench.echo", str(port)], port, port) as server:
        yield server


def extender_server(
    name: str, cluster: Path, *options: str, tree: Path = _ROOT
) -> AbstractContextManager[Server]:
    """Run the extender as users do, on a cluster file, enforcing every rule itself.

    `tree` may be another checkout, with its own .venv.
    """
    return _extender(name, "--cluster", str(cluster), *options, tree=tree)


def extender_at(name: str, kubeconfig: Path) -> AbstractContextManager[Server]:
    """Run the extender over an API server."""
    return _extender(name, "--kubeconfig", str(kubeconfig))


@contextmanager
def _extender(name: str, *options: str, tree: Path = _ROOT) -> Iterator[Server]:
    port, ops_port = free_port(), free_port()
    python = sys.executable if tree == _ROOT else str(tree / ".venv" / "bin" / "python")
    command = [
        python, "-m", "extender", "serve", "--mode", "replace",
        "--port", str(port), "--ops-port", str(ops_port), *options,
    ]  # fmt: skip
    with _running(name, command, port, ops_port, tree) as server:
        yield server


@contextmanager
def _running(
    name: str, command: Sequence[str], port: int, ops_port: int, folder: Path = _ROOT
) -> Iterator[Server]:
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_ready(name, process, f"http://127.0.0.1:{ops_port}/readyz")
        yield Server(name, port, ops_port, process.pid, time.perf_counter() - start)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(name: str, process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _START_LIMIT
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with {process.returncode} before it was ready")
        try:
            with urlopen(url, timeout=1.0):  # noqa: S310 # a URL of ours, on loopback
                return
        except (URLError, OSError):
            time.sleep(_POLL)
    raise TimeoutError(f"{name} was not ready after {_START_LIMIT:.0f} s")


def _mebibytes(status: str, field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"no {field} in /proc")
    return int(found[1]) / 1024
