"""The image is built, and runs as its user where nothing can be written."""

from __future__ import annotations

import re
import struct
import subprocess
from hashlib import sha256
from importlib.util import source_from_cache
from pathlib import Path

import aiohttp
import pytest

from tests.deploy.places import OF_WHEELS, ROOT
from tests.deploy.sandbox import GROUP, USER, contained
from tests.deploy.starting import started, until_ready
from tests.e2e.images import PINNED, Image, unpacked

CANNOT_BE_HAD = 3
"""What image.sh ends with where no builder is installed, or Debian's packages cannot be fetched."""

HASHED = 0b11
"""It names the hash of its source, and that is checked."""
_BUILD_TIMEOUT_S = 900


@pytest.fixture(scope="module")
def archive() -> Path:
    return built()


def built(*folder: str) -> Path:
    """Build the image. Without a builder, or a base to build on, this skips; in CI, too."""
    done = subprocess.run(
        [str(ROOT / "release" / "image.sh"), *folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=_BUILD_TIMEOUT_S,
    )
    if done.returncode == CANNOT_BE_HAD:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return ROOT / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def image(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    return unpacked(archive, tmp_path_factory.mktemp("image"))


def test_it_says_how_it_runs(image: Image) -> None:
    config = image.config
    assert config["User"] == f"{USER}:{GROUP}"
    assert config["Entrypoint"] == ["affinity-extender"]
    assert config["Cmd"] == ["serve"]
    assert set(config["ExposedPorts"]) == {"10280/tcp", "10281/tcp"}


@pytest.mark.long
def test_built_again_on_the_same_base_it_is_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    again = built(str(tmp_path))
    assert sha256(again.read_bytes()).digest() == sha256(archive.read_bytes()).digest()


def assert_it_can_do_little(process: int) -> None:
    status = Path(f"/proc/{process}/status").read_text()
    assert re.search(rf"^Uid:\s+{USER}\s", status, re.MULTILINE)
    for rights in ("CapEff", "CapPrm"):
        assert re.search(rf"^{rights}:\s+0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)


async def test_it_gets_ready_as_its_user_where_nothing_can_be_written(image: Image) -> None:
    environ = dict(variable.split("=", 1) for variable in image.config["Env"])
    arguments = [f"--cluster={image.sample}", "--mode=replace", "--port=0", "--ops-port=0"]
    command = [*image.config["Entrypoint"], *image.config["Cmd"], *arguments]
    async with started(contained(command, image.root), environ) as program:
        await until_ready(program.operations)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{program.operations}/livez") as alive,
        ):
            assert alive.status == 200
        assert_it_can_do_little(program.process.pid)
        program.process.terminate()
        assert await program.process.wait() == 0


def test_it_has_the_pinned_packages_and_no_installer(image: Image) -> None:
    there = {tuple(folder.stem.rsplit("-", 1)) for folder in image.packages.glob("*.dist-info")}
    assert {(name.lower().replace("_", "-"), version) for name, version in there} == {
        ("affinity-extender", OF_WHEELS),
        *PINNED,
    }


def test_no_module_has_to_be_compiled_at_each_start(image: Image) -> None:
    compiled = [*image.root.glob("usr/lib/python3*/**/*.pyc"), *image.packages.rglob("*.pyc")]
    assert len(compiled) > 1000
    assert [path for path in compiled if not is_current(path)] == []


def is_current(compiled: Path) -> bool:
    """Tell whether Python takes a compiled module for that of its source, as PEP 552 has it."""
    flags, seconds = struct.unpack("<4xII", compiled.read_bytes()[:12])
    source = Path(source_from_cache(str(compiled)))
    return bool(flags == HASHED or (flags == 0 and seconds == int(source.stat().st_mtime)))
