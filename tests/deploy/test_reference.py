"""The reference in docs/ is what the program itself goes by."""

from __future__ import annotations

import json
import re

import pytest

from affinityctl.cli import affinity_extender
from clusterload.cli import clusterload
from extender.core.command_line import Parser
from extender.core.config import Config
from extender.core.config.options import all_options
from release import reference, values_schema
from release.chart import CHART
from tests.deploy.places import ROOT, read_yaml
from tests.features.every import all_metrics

REFERENCE = ROOT / "docs" / "reference"


PAGES = reference.pages() | reference.schemas()


@pytest.mark.parametrize("name", PAGES)
def test_it_is_up_to_date(name: str) -> None:
    assert (REFERENCE / name).read_text() == PAGES[name], "run `make reference`"


def test_the_chart_has_the_schema_of_the_configuration() -> None:
    assert values_schema.FILE.read_text() == values_schema.written(), "run `make reference`"


def test_it_has_no_other_page() -> None:
    there = {str(page.relative_to(REFERENCE)) for page in REFERENCE.rglob("*.*")}
    assert there == PAGES.keys()


@pytest.mark.parametrize(
    "program", [affinity_extender(), clusterload()], ids=lambda program: program.prog
)
def test_it_has_every_flag(program: Parser) -> None:
    flags = {
        flag
        for command in program.commands().values()
        for _, actions in command.groups()
        for action in actions
        for flag in action.option_strings
    }
    flags -= {"-h"}
    assert {flag for flag in flags if f"`{flag}`" not in PAGES["command-line.md"]} == set()


def test_it_has_the_flag_of_every_field() -> None:
    settings = [option for option in all_options() if option.path]
    absent = [each for each in settings if f"`{each.spelled}`" not in PAGES["configuration.md"]]
    assert absent == []


def test_it_has_every_metric_as_prometheus_reads_it() -> None:
    ours = {
        f"{metric.name}{'_total' if metric.type == 'counter' else ''}"
        for metric in all_metrics().collect()
        if not metric.name.startswith(("process_", "python_")) and metric.type != "info"
    }
    assert set(re.findall(r"^## `(\w+)`$", PAGES["metrics.md"], re.MULTILINE)) == ours


def test_every_field_says_what_it_means() -> None:
    entries = re.split(r"^### ", reference.configuration(), flags=re.MULTILINE)[1:]
    assert len(entries) > len(Config.__struct_fields__)
    assert [entry for entry in entries if len(entry.splitlines()[2]) < 20] == []


def test_the_schema_of_the_chart_has_all_its_values_and_no_more() -> None:
    schema = json.loads(values_schema.FILE.read_text())
    of_helm = {"global"}
    assert read_yaml(CHART / "values.yaml").keys() == schema["properties"].keys() - of_helm


def test_what_the_schema_of_the_chart_refers_to_is_there() -> None:
    text = values_schema.written()
    defined = json.loads(text)["definitions"]
    referred = set(re.findall(r'"\$ref": "([^"]+)"', text))
    within = {f"#/properties/{name}" for name in json.loads(text)["properties"]}
    assert referred <= {f"#/definitions/{name}" for name in defined} | within
