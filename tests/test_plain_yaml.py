"""Values that are not quoted in YAML mean what they mean to Kubernetes.

tests/e2e/test_manifest_differential.py has a real API server read the same ones.
"""

from __future__ import annotations

import pytest
import yaml

from extender.core.plain_yaml import ClusterLoader, FastDumper, documents

VALUES: dict[str, object] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "OFF", "false", "False"), False),
    **dict.fromkeys(("null", "~", "Null", "NULL", ""), None),
    **{each: each for each in ("tRue", "yEs", "nULL", "v1", "1a", "1e", "0x", "_1", "0.1.2")},
    **{each: each for each in ("1:30", "1:30:00", "190:20:30", "1e1.5", "=", "1e10000")},
    **{each: each for each in ("2001-01-01", "2001-01-01T00:00:00Z")},
    **dict.fromkeys(("1", "01", "+1", "0o1", "0x1", "0b1", "1.0", "1.", "1e0", "1E0", "1_"), 1),
    "-1": -1,
    "-0x10": -16,
    "0123": 83,
    "0o17": 15,
    "0X1f": 31,
    "1_0": 10,
    "1__0": 10,
    "08": 8,
    "09": 9,
    "1e3": 1000,
    "1.5e3": 1500,
    "1E+3": 1000,
    "12345678901234567890": 12345678901234567890,
    ".5": 0.5,
    "+.5": 0.5,
    "1.10": 1.1,
    "1_000.5": 1000.5,
    "1e-3": 0.001,
    "-1.5": -1.5,
}


@pytest.mark.parametrize(("written", "value"), VALUES.items())
def test_a_plain_value(written: str, value: object) -> None:
    (found,) = documents(f"a: {written}\n")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)


@pytest.mark.parametrize("written", VALUES)
def test_a_cluster_file_has_y_and_n_as_texts(written: str) -> None:
    (found,) = documents(f"a: {written}\n", ClusterLoader)
    assert found == {"a": written if written in {"y", "Y", "n", "N"} else VALUES[written]}


def test_keys_are_texts() -> None:
    assert list(documents("{on: a, n: b, 2: c, 1.5: d, z: e}")) == [
        {"true": "a", "false": "b", "2": "c", "1.5": "d", "z": "e"}
    ]


@pytest.mark.parametrize("written", [".inf", "-.Inf", "+.INF", ".nan", ".NaN"])
def test_a_number_that_json_does_not_have(written: str) -> None:
    with pytest.raises(yaml.YAMLError, match="a number that JSON does not have"):
        list(documents(f"a: {written}\n"))


@pytest.mark.parametrize("text", VALUES)
def test_a_text_that_looks_like_another_value_is_written_in_quotes(text: str) -> None:
    written = yaml.dump({"a": text}, Dumper=FastDumper)
    assert list(documents(written)) == [{"a": text}]
    assert yaml.safe_load(written) == {"a": text}
