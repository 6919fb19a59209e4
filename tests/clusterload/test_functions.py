"""The template functions of clusterloader2, by the results of its own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from clusterload.functions import functions
from clusterload.gotemplate import Template, TemplateError

VALUES = {"N": 7.0, "Text": "12", "Flag": True}


def render(template: str, folder: Path = Path()) -> str:
    known = functions(folder, random.Random(1))
    return Template(template, "test.yaml", known).render(VALUES)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("AddInt 1 2 .N", "10"),
        ("AddInt 1.9 0", "1"),
        ("AddFloat 1 0.5", "1.5"),
        ("AddInt .Text 1", "13"),
        ("SubtractInt 1 3", "-2"),
        ("SubtractFloat .N 0.5", "6.5"),
        ("MultiplyInt 2 3 4", "24"),
        ("MultiplyFloat 2 0.25", "0.5"),
        ("DivideInt 7 2", "3"),
        ("DivideFloat 7 2", "3.5"),
        ("MaxInt 1 .N 3", "7"),
        ("MinInt 1 .N 3", "1"),
        ("MaxFloat 1 1.5", "1.5"),
        ("MinFloat 1 1.5", "1"),
        ("Mod 7 3", "1"),
        ("Mod -7 3", "-1"),
        ("Ceil 1.2", "2"),
        ("DefaultParam .Missing 5", "5"),
        ("DefaultParam .N 5", "7"),
        ('DefaultParam .Missing ""', ""),
        ('IfThenElse (ge .N 7.0) "a" "b"', "a"),
        ("Loop 3", "[0 1 2]"),
        ("SliceOfZeros 2", "[0 0]"),
        ("Seq 2", "[0 0]"),
        ('StringSplit "a,b"', "[a b]"),
        ('Lowercase "ABC"', "abc"),
        ('Concat "a" "b" "c"', "abc"),
        ('YamlQuote "a: b" 2', "'a: b'\n    "),
        ('RandDataWithSeed 0 "x"', ""),
        ("RandIntRange 4 4", "4"),
        ("RandIntRange 5 4", "5"),
    ],
)
def test_results(call: str, text: str) -> None:
    assert render(f"{{{{{call}}}}}") == text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('AddInt "a" 1', "AddInt: cannot cast a to float64"),
        ("AddInt .Missing 1", "AddInt: cannot cast <no value> to float64"),
        ("AddInt .Flag 1", "AddInt: cannot cast true to float64"),
        ("DivideInt 1 0", "DivideInt: division by zero"),
        ("Mod 1 0", "Mod: division by zero"),
        ("MaxInt", "MaxInt: not defined without a number"),
        ('IfThenElse "yes" 1 2', "got: string want: bool"),
        ("Lowercase 1", "got: int want: string"),
        ('YamlQuote "a" .N', "got: float64 want: int"),
        ('IncludeFile "missing.yaml"', "IncludeFile: "),
        ("DefaultParam 1", "DefaultParam does not take 1 arguments"),
    ],
)
def test_complaints(call: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(f"{{{{{call}}}}}")

    assert message in str(caught.value)


def drawn(call: str) -> list[str]:
    known = functions(Path(), random.Random(1))
    template = Template(f"{{{{{call}}}}}", "test.yaml", known)
    return [template.render({}) for _ in range(200)]


def test_random_numbers_include_both_ends() -> None:
    assert set(drawn("RandInt 3")) == {"0", "1", "2", "3"}
    assert set(drawn("RandIntRange 2 4")) == {"2", "3", "4"}


def test_random_texts_have_the_length_asked_for_and_a_seed_repeats_them() -> None:
    assert {len(each) for each in drawn("RandData 5")} == {5}
    assert len(set(drawn("RandData 5"))) > 1
    assert len(set(drawn('RandDataWithSeed 5 "x"'))) == 1


@pytest.mark.parametrize("name", ["IncludeFile", "IncludeEmbedFile"])
def test_files_are_included_from_the_folder_of_the_test(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part.yaml").write_text("a: b")
    monkeypatch.setenv("PART", "part")

    assert render(f'{{{{{name} "$PART.yaml"}}}}', tmp_path) == "a: b"


def test_what_is_quoted_reads_back() -> None:
    import yaml  # noqa: PLC0415 - only this test needs it

    values: dict[str, Any] = {"Text": '- a: b\n- c: "d"\n'}
    template = Template("x: {{YamlQuote .Text 2}}", "t", functions(Path(), random.Random(1)))
    assert yaml.safe_load(template.render(values))["x"] == values["Text"]
