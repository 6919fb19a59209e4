"""Every fault of a configuration is told at once, each with its file and its path."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from extender.core.config import layers
from extender.core.config.faults import MOST_FAULTS
from extender.core.errors import ConfigError
from tests.config.test_decoding import PLUGINS

HEADER = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"


def faults(text: str, **flags: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        layers.load(argparse.Namespace(config="c.yaml", **flags), lambda _: text)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "serving: {port: 99999, prot: 1, bindAddress: localhost}\nmode: fast\n",
            [
                "mode: 'fast' is not one of shadow, assist, replace",
                "serving.port: 99999 is not in 0..65535",
                "serving.prot: no such field, did you mean port?",
            ],
            id="values and fields",
        ),
        pytest.param(
            "serving: {bindAddress: localhost, tlsCertFile: a}\nschedulerVersion: 'x'\n",
            [
                "schedulerVersion: 'x' is not like '1.37'",
                "serving.bindAddress: 'localhost' is not an IP address, such as 127.0.0.1",
                "serving.tlsPrivateKeyFile: missing; tlsCertFile needs it",
            ],
            id="fields that do not go together",
        ),
        pytest.param(
            "plugins: [Nope, InterPodAffinity, Nein]\nfilter: {resolvable: true}\n",
            [
                f"plugins[{index}]: '{name}' is not one of {PLUGINS}"
                for index, name in ((0, "Nope"), (2, "Nein"))
            ],
            id="members of a list keep their places, and nothing follows from what is wrong",
        ),
        pytest.param(
            "serving: 5\nlogging: [text]\n",
            [
                "serving: 5 is not a mapping of fields",
                "logging: a list is not a mapping of fields",
            ],
            id="whole blocks",
        ),
    ],
)
def test_all_faults_are_told(text: str, expected: list[str]) -> None:
    found = faults(HEADER + text)
    assert sorted(found[: len(expected)]) == sorted(f"c.yaml: {each}" for each in expected)


def test_missing_fields_are_told_together() -> None:
    assert faults("mode: fast\n") == [
        "c.yaml: mode: 'fast' is not one of shadow, assist, replace",
        "c.yaml: apiVersion: missing; expected affinity-extender.io/v1",
        "c.yaml: kind: missing; expected AffinityExtenderConfiguration",
    ]


def test_faults_of_flags_and_of_the_file_are_told_together() -> None:
    found = faults(HEADER + "mode: fast\n", port="x", feature_gates="A=1,B")
    assert found == [
        "--feature-gates: 'A=1' is not NAME=true or NAME=false",
        "c.yaml: mode: 'fast' is not one of shadow, assist, replace",
        "serving.port: 'x' is not a whole number in 0..65535 (from --port)",
    ]


def test_there_is_an_end() -> None:
    text = HEADER + "".join(f"field{number}: 1\n" for number in range(MOST_FAULTS * 2))
    assert len(faults(text)) == MOST_FAULTS
    assert len(faults(HEADER + "'a.b[0]': 1\n'c': 1\n")) == 2, "a name that is no path"


@pytest.mark.parametrize(
    "name", ["", ".", "a.b", "[0]", "a\nb", "`", "$", "%s", "x" * 1000, "\U0001f600"]
)
def test_a_field_of_any_name_is_told(name: str) -> None:
    text = HEADER + json.dumps(name, ensure_ascii=False) + ": 1\nmode: fast\n"
    with pytest.raises(ConfigError, match=r"(?s)no such field|not one of|is not"):
        layers.load(argparse.Namespace(config="c.yaml"), lambda _: text)


@pytest.mark.parametrize("flag", ["mode", "context", "cluster", "feature_gates"])
def test_a_flag_that_is_not_utf_8_is_told(flag: str) -> None:
    # As Python has the bytes of a command line that it cannot decode.
    value = ["\udcff"] if flag == "cluster" else "\udcff"
    with pytest.raises(ConfigError, match=r"is not UTF-8|is not NAME="):
        layers.load(argparse.Namespace(**{flag: value}), lambda _: "")
