"""Flags over file over defaults."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from extender.core import config
from extender.core.config import layers
from extender.core.config.features import features
from extender.core.config.options import Option, all_options, refuse_variables
from extender.core.errors import ConfigError

HEADER = "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"


def load(flags: dict[str, object] | None = None, file: str | None = None) -> config.Config:
    given = dict(flags or {})
    if file is not None:
        given["config"] = "extender.yaml"
    return layers.load(argparse.Namespace(**given), lambda _: HEADER + (file or ""))


@pytest.mark.parametrize(
    ("flags", "file", "expected"),
    [
        pytest.param({}, None, 10280, id="the default"),
        pytest.param({}, "serving: {port: 1}", 1, id="the file over the default"),
        pytest.param({"port": "3"}, "serving: {port: 1}", 3, id="the flag over everything"),
        pytest.param({"port": None}, "serving: {port: 1}", 1, id="a flag not given is none"),
        pytest.param({"port": "3"}, "serving:", 3, id="a flag over an empty block"),
    ],
)
def test_precedence(flags: dict[str, object], file: str | None, expected: int) -> None:
    assert load(flags, file).serving.port == expected


GOOD_VALUES: dict[str, tuple[str, object]] = {
    "kubeconfig": ("/k", Path("/k")),
    "context": ("prod", "prod"),
    "mode": ("replace", config.Mode.REPLACE),
    "bind-address": ("::1", "::1"),
    "port": ("81", 81),
    "ops-bind-address": ("127.0.0.9", "127.0.0.9"),
    "ops-port": ("82", 82),
    "insecure-serving": ("true", True),
    "tls-cert-file": ("crt", Path("crt")),
    "tls-private-key-file": ("key", Path("key")),
    "client-ca-file": ("ca", Path("ca")),
    "logging-format": ("json", config.LogFormat.JSON),
    "v": ("4", 4),
}
NEEDED = {
    "tls-cert-file": {"tls_private_key_file": "x"},
    "tls-private-key-file": {"tls_cert_file": "x"},
    "client-ca-file": {"tls_cert_file": "x", "tls_private_key_file": "x"},
}


def find(loaded: config.Config, path: str) -> object:
    value: object = config.effective(loaded)
    for name in path.split("."):
        assert isinstance(value, dict)
        value = value.get(name)
    return value


@pytest.mark.parametrize("flag", GOOD_VALUES)
def test_a_flag_sets_its_field(flag: str) -> None:
    option = next(one for one in all_options() if one.flag == flag)
    text, expected = GOOD_VALUES[flag]
    needed: dict[str, object] = dict(NEEDED.get(flag, {}))
    spelled = str(expected) if isinstance(expected, Path) else expected
    assert find(load({**needed, option.dest: text}), option.path) == spelled
    assert find(load(), option.path) != spelled, "a default would prove nothing"


def test_every_setting_has_been_tried() -> None:
    completing = {flag.flag for each in features() if each.completion for flag in each.flags}
    apart = {"config", "cluster", "feature-gates", *completing}
    assert {option.flag for option in all_options()} == apart | GOOD_VALUES.keys()


@pytest.mark.parametrize(
    ("flags", "file"),
    [
        pytest.param({"cluster": ["a", "b"]}, None, id="the flag, repeated"),
        pytest.param({}, "clusterFiles: [a, b]", id="the file"),
        pytest.param(
            {"cluster": ["a", "b"]},
            "clusterFiles: [d, e, f]",
            id="the flag instead of the file, not added to it",
        ),
    ],
)
def test_cluster_files(flags: dict[str, object], file: str | None) -> None:
    assert load(flags, file).cluster_files == (Path("a"), Path("b"))


@pytest.mark.parametrize(
    ("flags", "file", "expected"),
    [
        pytest.param(
            {"port": "x"},
            None,
            "serving.port: 'x' is not a whole number in 0..65535 (from --port)",
            id="a flag that is no number",
        ),
        pytest.param(
            {"port": "99999"},
            "serving: {port: 1}",
            "serving.port: 99999 is not in 0..65535 (from --port)",
            id="a flag out of range",
        ),
        pytest.param(
            {"v": "-1"},
            None,
            "logging.verbosity: -1 is not in 0..10 (from -v)",
            id="the flag of one letter",
        ),
        pytest.param(
            {"ops_port": "1"},
            "serving: {port: true}",
            "extender.yaml: serving.port: true is not a whole number in 0..65535",
            id="a mistake in the file, beside a flag",
        ),
        pytest.param(
            {"port": "1"},
            "serving: 5",
            "extender.yaml: serving: 5 is not a mapping of fields",
            id="a flag over a broken block",
        ),
        pytest.param(
            {"cluster": ["a", ""]},
            None,
            "clusterFiles[1]: '' is not the name of a file (from --cluster)",
            id="an empty file name",
        ),
        pytest.param(
            {"feature_gates": "PodAffinityNamespaceSelector"},
            None,
            "--feature-gates: 'PodAffinityNamespaceSelector' is not NAME=true or NAME=false",
            id="a gate without value",
        ),
        pytest.param(
            {"feature_gates": "Nope=true"},
            None,
            "featureGates.Nope: no such field; known: MatchLabelKeysInPodAffinity, "
            "PodAffinityNamespaceSelector (from --feature-gates)",
            id="an unknown gate",
        ),
    ],
)
def test_an_error_says_where_the_value_came_from(
    flags: dict[str, object], file: str | None, expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(flags, file)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            FileNotFoundError(2, "No such file or directory"),
            "c.yaml: cannot read the configuration file: No such file or directory",
            id="no such file",
        ),
        pytest.param(
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            "c.yaml: cannot read the configuration file: 'utf-8' codec can't decode byte 0xff in "
            "position 0: invalid start byte",
            id="no text",
        ),
    ],
)
def test_a_file_that_cannot_be_read(error: Exception, expected: str) -> None:
    def read(_: Path) -> str:
        raise error

    with pytest.raises(ConfigError) as caught:
        layers.load(argparse.Namespace(config="c.yaml"), read)
    assert str(caught.value) == expected


def test_gates_are_merged_one_by_one() -> None:
    file = "featureGates: {PodAffinityNamespaceSelector: false, MatchLabelKeysInPodAffinity: false}"
    flags: dict[str, object] = {
        "feature_gates": "PodAffinityNamespaceSelector=True, MatchLabelKeysInPodAffinity=true"
    }
    assert load(flags, file=file).feature_gates == load().feature_gates


@pytest.mark.parametrize("option", all_options(), ids=lambda option: option.flag)
def test_a_variable_that_was_a_setting_names_what_to_write(option: Option) -> None:
    name = f"AFFINITY_EXTENDER_{option.flag.replace('-', '_').upper()}"
    with pytest.raises(ConfigError) as caught:
        refuse_variables({name: "x", "PATH": "/bin"})
    field = f", or {option.path} in the configuration file" if option.path else ""
    give = f"give {'-' if option.flag == 'v' else '--'}{option.flag}{field}"
    assert str(caught.value) == f"{name}: this variable is no longer read; {give}"


def test_all_variables_that_were_settings_are_named() -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_variables({"AFFINITY_EXTENDER_V": "1", "AFFINITY_EXTENDER_MODE": "replace"})
    found = str(caught.value).splitlines()
    assert [each.partition(":")[0] for each in found] == [
        "AFFINITY_EXTENDER_MODE",
        "AFFINITY_EXTENDER_V",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("MODE", "", id="empty, which was no setting either"),
        pytest.param("PORT", "tcp://10.96.0.7:80", id="the kubelet's, for a Service of our name"),
        pytest.param("OPS_PORT", "udp://10.96.0.7:80", id="for affinity-extender-ops"),
        pytest.param("SERVICE_HOST", "10.0.0.1", id="the kubelet's, of a name that was no setting"),
        pytest.param("IMAGE", "1.0", id="somebody else's"),
    ],
)
def test_other_variables_hinder_nothing(name: str, value: str) -> None:
    refuse_variables({f"AFFINITY_EXTENDER_{name}": value})
