"""The Dockerfile, as far as it can be checked without a container engine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from extender.core.config import Serving
from tests.deploy.places import KUBEADM, ROOT, read_yaml
from tests.missing import missing

DOCKERFILE = (ROOT / "Dockerfile").read_text()


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} +(.*)$", joined, re.MULTILINE)


def test_hadolint_has_no_remark() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        missing("hadolint is not installed beside Python")
    report = subprocess.run(
        [str(hadolint), "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (report.returncode, report.stdout) == (0, "")


def test_the_user_is_the_one_that_the_manifests_name() -> None:
    (user,) = instructions("USER")
    pod = read_yaml(KUBEADM / "static-pod.yaml")["spec"]["securityContext"]
    assert user == f"{pod['runAsUser']}:{pod['runAsGroup']}"


def test_it_is_built_on_what_is_named_and_never_on_a_tag_of_its_own() -> None:
    assert {*instructions("FROM")} == {"${BASE} AS build", "${BASE}"}
    assert {*instructions("ARG")} == {"BASE", "SOURCE_DATE_EPOCH", 'WITHOUT=""'}
    (build,) = re.findall(r"docker build .*", (ROOT / "docs" / "install.md").read_text())
    assert '--build-arg BASE="$BASE"' in build


def test_the_ports_are_the_defaults() -> None:
    (ports,) = instructions("EXPOSE")
    assert ports == f"{Serving().port} {Serving().ops_port}"


def test_it_serves_when_nothing_else_is_said() -> None:
    assert (instructions("ENTRYPOINT"), instructions("CMD")) == (
        ['["affinity-extender"]'],
        ['["serve"]'],
    )


def test_every_download_is_checked_by_hash() -> None:
    (dependencies, _, build) = instructions("RUN")
    installs = re.findall(r"pip (?:--python \S+ )?install ([^&]*)", dependencies)
    assert len(installs) == 2
    assert all("--no-deps --require-hashes" in install for install in installs)
    assert "--no-index" in build


def test_what_it_copies_is_sent_and_little_else() -> None:
    sent = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = {
        name
        for copy in instructions("COPY")
        if not copy.startswith("--from")
        for name in copy.split()[:-1]
    }
    assert copied == sent
    assert all((ROOT / name).exists() for name in sent)
