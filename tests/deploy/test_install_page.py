"""The commands of docs/install.md and its like that need no cluster: the rest is in tests/e2e."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import sys
import textwrap
from pathlib import Path

import aiohttp
import pytest

from tests.deploy.places import EVERY_OVERLAY, OVERLAYS, ROOT, SAMPLES, SERVICE, read_yaml
from tests.deploy.starting import started
from tests.missing import missing

PAGE = (ROOT / "docs" / "install.md").read_text()
MANAGED = (ROOT / "docs" / "managed.md").read_text()
CHART = (ROOT / "charts" / "affinity-extender" / "README.md").read_text()
NAME = "affinity-extender.kube-system.svc"


def block(beginning: str) -> str:
    """Return the commands from one line of the page on, up to the next line without a margin."""
    (start,) = re.finditer(rf"^ +{re.escape(beginning)}", PAGE, re.MULTILINE)
    lines = []
    for line in PAGE[start.start() :].splitlines():
        if not line.startswith("    "):
            break
        lines.append(line)
    return textwrap.dedent("\n".join(lines))


def test_every_overlay_that_is_named_is_there_and_every_overlay_is_named() -> None:
    applied = set(re.findall(r"kubectl (?:apply|delete|diff) -k (\S+?)[`.\s]", PAGE))
    folders = {str(path.relative_to(ROOT)) for path in EVERY_OVERLAY}
    assert applied <= folders
    assert len(applied) >= 4
    in_words = {f"{OVERLAYS.relative_to(ROOT)}/{name}" for name in re.findall(r"`([\w-]+)`", PAGE)}
    assert folders <= applied | in_words


def test_every_target_of_make_that_is_named_is_there() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([\w-]+)`", PAGE)) <= set(targets)


@pytest.mark.parametrize("page", [CHART, MANAGED], ids=["chart", "managed"])
def test_every_value_of_the_chart_that_is_set_is_there(page: str) -> None:
    named = re.findall(
        r"(?:--set |`)((?:image|scheduler|annotationPolicy)\.[\w.]+|mode)[=:`]", page
    )
    assert named
    for path in named:
        value = read_yaml(ROOT / "charts" / "affinity-extender" / "values.yaml")
        for key in path.split("."):
            assert key in value, path
            value = value[key]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def make_certificates(folder: Path) -> Path:
    """Make the certificates as the page says."""
    if shutil.which("openssl") is None:
        missing("openssl is not installed")
    commands = block("new=")
    subprocess.run(
        ["bash", "-eu", "-c", commands],  # noqa: S607 - wherever it is installed
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder


def serve(certificates: Path) -> list[str]:
    """Return the command of the overlay, with the certificates where they are in this test."""
    return [
        *(sys.executable, "-m", "extender", "serve"),
        f"--config={SERVICE / 'config.yaml'}",
        f"--cluster={SAMPLES / 'cluster.yaml'}",
        f"--tls-cert-file={certificates / 'extender.crt'}",
        f"--tls-private-key-file={certificates / 'extender.key'}",
        f"--client-ca-file={certificates / 'ca.crt'}",
        *("--bind-address=127.0.0.1", "--port=0", "--ops-port=0"),
    ]


async def called(url: str, certificates: Path, client: str) -> int:
    """Ask for scores as this client, and return the status."""
    context = ssl.create_default_context(cafile=certificates / "ca.crt")
    if client:
        context.load_cert_chain(certificates / f"{client}.crt", certificates / f"{client}.key")
    question = (SAMPLES / "refused.json").read_bytes()
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{url}/prioritize", data=question, ssl=context, server_hostname=NAME
        ) as answer,
    ):
        await answer.read()
        return answer.status


async def test_the_certificates_let_the_scheduler_in_and_nobody_else(certificates: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path))}
    async with started(serve(certificates), environ) as program:
        assert await called(program.callbacks, certificates, "scheduler") == 200
        for other in ("extender", ""):
            with pytest.raises(aiohttp.ClientError):
                await called(program.callbacks, certificates, other)
