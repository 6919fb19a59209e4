"""What the project says to those who report, review and build it is as the tools want it."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import chain
from typing import Any

import pytest

from tests.deploy.places import ROOT, read_yaml
from tests.deploy.test_docs import anchors, links

PAGES = ("SECURITY.md", "CONTRIBUTING.md", "SUPPORT.md", "CHANGELOG.md", "README.md")
FORMS = [
    path
    for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").iterdir())
    if path.name != "config.yml"
]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target, anchor in links(ROOT / name):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), anchor


def test_the_workflow_runs_ci_on_the_oldest_and_the_newest_python() -> None:
    (job,) = read_yaml(ROOT / ".github/workflows/ci.yml")["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    oldest, newest = job["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={oldest}"
    krew = (ROOT / "release/krew.py").read_text()
    assert re.findall(r'^PYTHONS = \("(.*?)".*"(.*?)"\)$', krew, re.MULTILINE) == [(oldest, newest)]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_is_one_and_asks_for_what_shows_the_fault(form: Any) -> None:
    written = read_yaml(form)
    assert {"name", "description", "body"} <= written.keys()
    asking = [each for each in written["body"] if each["type"] != "markdown"]
    ids = [each["id"] for each in asking]
    assert len(set(ids)) == len(ids)
    assert all(each["type"] in {"textarea", "input"} for each in asking)
    assert all(each["attributes"]["label"] for each in asking)
    text = form.read_text()
    assert "-o json" in text
    assert "affinity-extender dump" in text


def test_a_commit_is_checked_with_the_tools_of_make_lint() -> None:
    (local,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local", "others are fetched"
    hooks = local["hooks"]
    assert {each["language"] for each in hooks} == {"system"}
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^lint: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    linted = [line.replace("@$(BIN)/", "").split() for line in recipe.splitlines()]
    checked = [each["entry"].removeprefix(".venv/bin/").split() for each in hooks]
    plain = [[word for word in line if word != "--force-exclude"] for line in checked]
    assert plain == [[word for word in line if word != "."] for line in linted]


def test_renovate_sees_every_lock() -> None:
    managers = json.loads((ROOT / "renovate.json").read_text())["enabledManagers"]
    assert managers == ["pip_requirements", "github-actions"]
    # Its own pattern, of that manager.
    pattern = re.compile(r"(^|/)[\w-]*requirements([-._]\w+)?\.(txt|pip)$")
    makefile = (ROOT / "Makefile").read_text()
    locks = re.findall(r"-o (requirements[\w-]*\.txt)$", makefile, re.MULTILINE)
    assert len(locks) == 4
    assert all(pattern.search(each) for each in locks)


def test_contributing_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 60


def test_packages_say_that_they_are_typed() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    packages = tools["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert [each for each in packages if not (ROOT / each / "py.typed").exists()] == []


def test_the_files_are_as_editorconfig_says() -> None:
    files = chain(
        *(ROOT.glob(each) for each in ("*.md", ".github/**/*.yml", "docs/**/*.md", ".ci/*"))
    )
    for path in files:
        text = path.read_text()
        assert text.endswith("\n"), path
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path
