"""How a release says where it comes from, and who made it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from release.provenance import NAME, PINS, built_from, statement
from tests.deploy.places import ROOT
from tests.missing import missing

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SUMS = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}" for name in ("a.whl", "b.tgz")]
OPENSSL, BASH = shutil.which("openssl") or "", shutil.which("bash") or ""
GIVEN = {"url": "https://example.com/v1", "homepage": ""}
SOURCES = "git+https://example.com"

DIGEST = {"type": "object", "minProperties": 1, "additionalProperties": {"pattern": "^[0-9a-f]+$"}}
DESCRIPTORS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [{"required": ["name"]}, {"required": ["uri"]}],
        "required": ["digest"],
        "properties": {"digest": DIGEST, "uri": {"pattern": "^[a-z+]+:"}},
    },
}
V1 = {
    "required": ["_type", "subject", "predicateType", "predicate"],
    "additionalProperties": False,
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": DESCRIPTORS,
        "predicateType": {"const": "https://slsa.dev/provenance/v1"},
        "predicate": {
            "required": ["buildDefinition", "runDetails"],
            "additionalProperties": False,
            "properties": {
                "buildDefinition": {
                    "required": ["buildType", "externalParameters"],
                    "additionalProperties": False,
                    "properties": {
                        "buildType": {"pattern": "^[a-z]+:"},
                        "externalParameters": {"type": "object"},
                        "internalParameters": {"type": "object"},
                        "resolvedDependencies": DESCRIPTORS,
                    },
                },
                "runDetails": {
                    "required": ["builder"],
                    "properties": {"builder": {"required": ["id"]}},
                },
            },
        },
    },
}
"""What the specifications of in-toto's Statement and of SLSA's predicate require."""


def test_the_statement_is_as_slsa_wants_it_and_names_every_file_and_pin() -> None:
    made = statement(SUMS, GIVEN, COMMIT, SOURCES)
    Draft202012Validator(V1).validate(made)
    assert [f"{each['digest']['sha256']}  {each['name']}" for each in made["subject"]] == SUMS
    definition = made["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"url": "https://example.com/v1"}
    source, *pins = definition["resolvedDependencies"]
    assert source == {"uri": f"{SOURCES}@{COMMIT}", "digest": {"gitCommit": COMMIT}}
    assert len(pins) == len(PINS)
    for name, each in zip(PINS, pins, strict=True):
        content = (ROOT / name).read_bytes()
        assert each["digest"] == {"sha256": hashlib.sha256(content).hexdigest()}
    assert json.dumps(made) == json.dumps(statement(SUMS, GIVEN, COMMIT, SOURCES))


def test_what_is_no_commit_has_no_provenance(tmp_path: Path) -> None:
    assert built_from(tmp_path) is None, "no repository"
    git = shutil.which("git") or missing("git is not installed")
    for line in ("init --quiet", "-c user.name=a -c user.email=a@b commit -qm a --allow-empty"):
        subprocess.run([git, *line.split()], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{40}", built_from(tmp_path) or "")
    (tmp_path / "new.py").touch()
    assert built_from(tmp_path) is None


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Make a key that is thrown away."""
    if not OPENSSL:
        missing("openssl is not installed")
    path = tmp_path / "key.pem"
    made = ("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
    openssl(*map(str, made))
    return path


def openssl(*arguments: str) -> None:
    subprocess.run([OPENSSL, *arguments], check=True, capture_output=True)


def signed(key: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "release" / "sign.sh")
    command = [script, str(key), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def checked(folder: Path) -> bool:
    """Carry out the line by which the docs check a release."""
    page = (ROOT / "docs" / "development" / "releases.md").read_text()
    (line,) = re.findall(r"^    (openssl dgst .*)$", page, re.MULTILINE)
    done = subprocess.run([BASH, "-c", line], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def test_what_is_signed_is_checked_as_the_docs_say(key: Path, tmp_path: Path) -> None:
    sums, told = tmp_path / "SHA256SUMS", tmp_path / NAME
    sums.write_text("\n".join(SUMS))
    told.write_text("{}")
    assert signed(key, sums, told).stdout.split() == [f"{sums}.sig", f"{told}.sig"]
    assert checked(tmp_path)
    # An ASN.1 sequence in one line of base64: what cosign reads.
    assert base64.b64decode((tmp_path / "SHA256SUMS.sig").read_text(), validate=True)[0] == 0x30
    assert (tmp_path / "cosign.pub").read_text().startswith("-----BEGIN PUBLIC KEY-----\n")
    sums.write_text(sums.read_text().replace("a", "b", 1))
    assert not checked(tmp_path), "another file"


def test_a_key_of_another_kind_signs_nothing(tmp_path: Path, key: Path) -> None:
    other = tmp_path / "other.pem"
    openssl("genpkey", "-algorithm", "ED25519", "-out", str(other))
    for wrong in (other, tmp_path / "nowhere.pem"):
        done = signed(wrong, key)
        assert done.returncode == 2
        assert "is no private key on P-256" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"key.pem", "other.pem"}
