"""Runs a program under valgrind's callgrind, and lets it say which of its instructions count."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ARCHITECTURE: Final = "x86_64"
_NAME: Final = "valgrind"
_ROOT: Final = Path(__file__).resolve().parents[2]
_LIMIT: Final = 120.0
"""Seconds until the program has to be through."""
_COUNTED: Final = re.compile(
    r"^desc: Trigger: Client Request: (\S+)$.*^totals: (\d+)$", re.MULTILINE | re.DOTALL
)

_REQUEST: Final = bytes.fromhex(
    "4889f8"  # mov rax, rdi: six words, the request and its arguments
    "31d2"  # xor edx, edx: what comes back from a processor that is no valgrind
    "48c1c70348c1c70d48c1c73d48c1c733"  # rol rdi by 3, 13, 61, 51: in all, nothing
    "4887db"  # xchg rbx, rbx
    "4889d0c3"  # mov rax, rdx; ret
)
"""A client request, as valgrind.h writes it for x86-64: what ordinary processors do nothing at."""
_CALLGRIND: Final = ord("C") << 24 | ord("T") << 16
_DUMP_AS: Final = _CALLGRIND + 3
_START: Final = _CALLGRIND + 4


def why_not() -> str | None:
    """Say why nothing can be counted on this machine, None when it can."""
    if platform.machine() != ARCHITECTURE:
        return f"instructions are counted on {ARCHITECTURE}, and this is {platform.machine()}"
    if shutil.which(_NAME) is None:
        return "valgrind is not installed (Debian: apt-get install valgrind)"
    return None


class Counter:
    """Counts the instructions of this process, which callgrind runs; nothing before `start`."""

    def __init__(self) -> None:
        self._code = mmap.mmap(
            -1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        )
        self._code.write(_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        self._ask = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)

    def start(self) -> None:
        """Count from now on: until then the program runs ten times as fast."""
        self._request(_START)

    def end(self, name: str) -> None:
        """Report what was counted since the last report, and begin anew."""
        self._request(_DUMP_AS, name.encode())

    def _request(self, code: int, text: bytes = b"") -> None:
        kept = ctypes.create_string_buffer(text)
        words = (ctypes.c_uint64 * 6)(code, ctypes.addressof(kept))
        self._ask(ctypes.addressof(words))


def count(module: str, *arguments: str) -> Mapping[str, int]:
    """Run a module under callgrind; return the instructions that it reported, by name."""
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        command = [
            _NAME, "--tool=callgrind", "--instr-atstart=no", "--quiet",
            f"--callgrind-out-file={folder}/out",
            sys.executable, "-m", module, *arguments,
        ]  # fmt: skip
        # Without a seed the order of sets, and so what is done, differs from run to run.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        ended = subprocess.run(
            command,
            cwd=_ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        if ended.returncode:
            raise RuntimeError(f"{module} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        dumps = (_COUNTED.search(each.read_text()) for each in Path(folder).iterdir())
        return {found[1]: int(found[2]) for found in dumps if found is not None}
