"""Go's templates; what is expected here is what Go 1.26's text/template prints."""

from __future__ import annotations

from typing import Any

import pytest

from clusterload.gotemplate import Template, TemplateError
from clusterload.gotemplate.values import to_text

VALUES = {
    "A": 3.0,
    "S": "x",
    "M": {"b": 2.0, "a": "q"},
    "L": [1.0, "z"],
    "T": True,
    "Nodes": 5000,
    "Empty": "",
}


def render(template: str, **functions: Any) -> str:
    return Template(template, "test.yaml", functions).render(VALUES)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("a: b\n", "a: b\n", id="text stays as it is"),
        pytest.param("{{.A}} {{.S}} {{.T}} {{.Nodes}}", "3 x true 5000", id="values are printed"),
        pytest.param("{{.M.b}}", "2", id="a field of a field"),
        pytest.param("{{.Missing}}", "<no value>", id="a missing value prints as Go's nil"),
        pytest.param("{{.Missing.a}}", "<no value>", id="a field of a missing value"),
        pytest.param("{{.M}} {{.L}}", "map[a:q b:2] [1 z]", id="collections, keys in order"),
        pytest.param("{{$v := .A}}{{$v}}{{$v}}", "33", id="a variable keeps its value"),
        pytest.param("{{$m := .M}}{{$m.a}}", "q", id="a field of a variable"),
        pytest.param("{{range .L}}{{$.S}}{{end}}", "xx", id="the dollar sign is the outermost dot"),
        pytest.param(
            "{{$v := 1}}{{if .T}}{{$v = 2}}{{end}}{{$v}}", "2", id="assignment reaches out"
        ),
        pytest.param(
            "{{$v := 1}}{{if .T}}{{$v := 2}}{{end}}{{$v}}", "1", id="declaration stays inside"
        ),
        pytest.param('{{"a\\tb"}} {{`c\\d`}}', "a\tb c\\d", id="strings, raw ones too"),
        pytest.param('{{"}}"}}', "}}", id="braces in a string"),
        pytest.param(
            "{{0x10}} {{010}} {{-3}} {{1e3}}",
            "16 8 -3 1000",
            id="numbers",
        ),
        pytest.param("a {{- .S -}} b", "axb", id="trim marks take the space around"),
        pytest.param("{{/* {{.S}} is not printed */}}{{.S}}", "x", id="a comment"),
        pytest.param("{{if .Empty}}a{{else if .T}}b{{else}}c{{end}}", "b", id="else if"),
        pytest.param("{{if .Missing}}a{{else}}b{{end}}", "b", id="what is missing is false"),
        pytest.param("{{with .M}}{{.a}}{{else}}none{{end}}", "q", id="with moves the dot"),
        pytest.param("{{with .Empty}}a{{else}}{{.S}}{{end}}", "x", id="else of a with does not"),
        pytest.param("{{range .L}}<{{.}}>{{end}}", "<1><z>", id="range over a list"),
        pytest.param(
            "{{range $i, $e := .L}}{{$i}}={{$e}};{{end}}", "0=1;1=z;", id="with its index"
        ),
        pytest.param("{{range $k, $e := .M}}{{$k}}={{$e}};{{end}}", "a=q;b=2;", id="over a map"),
        pytest.param("{{range 3}}{{.}}{{end}}", "012", id="over a number"),
        pytest.param("{{range .Missing}}a{{else}}none{{end}}", "none", id="over nothing"),
        pytest.param('{{.S | printf "%s-%s" "a"}}', "a-x", id="a pipe brings the last argument"),
        pytest.param('{{printf "%d-%s-%v-%.2f%%" 3 "a" .A 1.5}}', "3-a-3-1.50%", id="printf"),
        pytest.param('{{index .L 1}} {{index .M "a"}} {{len .L}}', "z q 2", id="index and len"),
        pytest.param('{{(index .M "b")}}', "2", id="a call in parentheses"),
        pytest.param("{{and .Missing (gt .Missing 3.0)}}", "<no value>", id="and stops early"),
        pytest.param('{{or .Missing "d"}} {{and 1 0}}', "d 0", id="or and and give a value"),
        pytest.param("{{not .Missing}}", "true", id="not"),
        pytest.param('{{eq .S "y" "x"}} {{ne .S "x"}}', "true false", id="eq of several"),
        pytest.param('{{ge .A 3.0}} {{lt .S "y"}}', "true true", id="comparison by order"),
        pytest.param("{{eq .Missing nil}}", "true", id="nil equals nil"),
    ],
)
def test_renders_like_go(template: str, text: str) -> None:
    assert render(template) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (5000.0, "5000"),
        (999999.0, "999999"),
        (1000000.0, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-3.0, "-3"),
        (123456.789, "123456.789"),
        (float("inf"), "+Inf"),
    ],
)
def test_floats_print_like_gos(number: float, text: str) -> None:
    assert to_text(number) == text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("a\n{{.A", "line 2: '{{' without '}}'", id="an action without its end"),
        pytest.param("{{}}", "an action with nothing in it", id="an empty action"),
        pytest.param("{{if .A}}", "{{if}} without {{end}}", id="a block without its end"),
        pytest.param("{{end}}", "{{end}} without a block", id="an end without its block"),
        pytest.param("{{if .A}}{{else}}{{else}}{{end}}", "expected {{end}}", id="two else"),
        pytest.param("{{range .L}}{{else if .A}}{{end}}", "does not belong to a range", id="range"),
        pytest.param('{{define "x"}}{{end}}', "'define' is not supported", id="define"),
        pytest.param("{{Unheard .A}}", "function 'Unheard' is not known here", id="a function"),
        pytest.param("{{$x}}", "undefined variable '$x'", id="a variable that nobody declared"),
        pytest.param("{{$x = 1}}", "undefined variable '$x'", id="assignment without declaration"),
        pytest.param("{{.S.a}}", "can't evaluate field a in string", id="a field of a text"),
        pytest.param("{{nil}}", "nil is not a command", id="nil alone"),
        pytest.param("{{range .S}}{{end}}", "range can't iterate over x", id="range over a text"),
        pytest.param("{{eq .A 3}}", "incompatible types for comparison: float64 and int", id="int"),
        pytest.param("{{len 3}}", "len: len of type int", id="len of a number"),
        pytest.param("{{index .L 2}}", "index out of range: 2", id="behind the end"),
        pytest.param(
            "{{index .L 1.0}}", "cannot index slice with type float64", id="a float index"
        ),
        pytest.param("{{lt 1}}", "lt does not take 1 arguments", id="an argument too few"),
        pytest.param("{{(.A}}", "'(' without ')'", id="a parenthesis left open"),
        pytest.param("{{.A)}}", "unexpected ')'", id="a parenthesis too many"),
        pytest.param("{{.A .S}}", "only a function takes arguments", id="a field with arguments"),
        pytest.param(
            "{{.A | .S}}", "only a function can stand after '|'", id="a pipe into a field"
        ),
        pytest.param("{{.A | }}", "a value is missing", id="a pipe into nothing"),
        pytest.param("{{$a, $b := .L}}", "too many variables", id="two variables outside a range"),
        pytest.param("{{a & b}}", "cannot read '& b'", id="a character that means nothing"),
        pytest.param('{{printf "%d" "x"}}', "cannot print string as %d", id="a text as a number"),
    ],
)
def test_says_what_is_wrong_and_where(template: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(template)

    assert str(caught.value).startswith("test.yaml, line ")
    assert message in str(caught.value)


def test_the_line_of_an_error_counts_all_lines_before() -> None:
    with pytest.raises(TemplateError, match=r"^test\.yaml, line 3: "):
        render("{{.A}}\n{{/* two\nlines */}}{{.S.a}}\n")


def test_a_failing_function_is_an_error_of_the_template() -> None:
    def fail(value: Any) -> None:
        raise ValueError(f"{value} is bad")

    with pytest.raises(TemplateError, match=r"line 1: Fail: 3\.0 is bad"):
        render("{{Fail .A}}", Fail=fail)
