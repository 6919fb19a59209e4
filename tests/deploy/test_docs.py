"""What the documents name exists: links, files, metrics, dependencies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from bench.shape import questions
from extender.core.metrics import PREFIX
from tests.deploy.places import EXAMPLES, ROOT
from tests.features.every import all_metrics

DOCS = sorted((ROOT / "docs").rglob("*.md"))

in_every_document = pytest.mark.parametrize(
    "path", [pytest.param(path, id=str(path.relative_to(ROOT / "docs"))) for path in DOCS]
)


def anchors(path: Path) -> set[str]:
    """Name each heading as the common renderers do."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def links(path: Path) -> Iterator[tuple[Path, str]]:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text()):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            yield (path.parent / name if name else path), anchor


def test_the_first_screen_runs_the_program_and_its_tests() -> None:
    screen = (ROOT / "README.md").read_text().splitlines()[:24]
    assert {"    make run", "    make test"} <= set(screen)


@in_every_document
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in links(path):
        assert target.exists()
        assert not anchor or anchor in anchors(target)


@in_every_document
def test_files_of_ours_that_are_named_are_there(path: Path) -> None:
    named = re.findall(
        r"(?:REPOSITORY/|[ `])((?:manifests|scheduler-config)/[\w./+-]*)", path.read_text()
    )
    missing = [name for name in named if not (ROOT / name.rstrip(".")).exists()]
    assert missing == []


MAP = (ROOT / "docs" / "development" / "architecture.md").read_text()
PROGRAM = ROOT / "extender"
CORE = PROGRAM / "core"
COMMANDS = ROOT / "affinityctl"
ROOMS = [
    ROOT,
    *(
        room
        for whole in (PROGRAM, CORE, COMMANDS)
        for room in (whole, *whole.iterdir())
        if room.is_dir()
    ),
    *(COMMANDS / "commands").iterdir(),
]


def test_every_path_of_the_map_is_there() -> None:
    named = {*re.findall(r"`([\w/.]*(?:\.py|/))`", MAP)}
    assert len(named) > 60
    assert [name for name in named if not any((room / name).exists() for room in ROOMS)] == []
    rooms = set(re.findall(r"^\| `(\w+)/` \|", MAP, re.MULTILINE))
    packages = (each for whole in (CORE, COMMANDS) for each in whole.iterdir() if each.is_dir())
    assert rooms == {each.name for each in packages if (each / "__init__.py").exists()}


TWELVE = {
    "Where is a filter call answered?": ["class Filters"],
    "Where is a node refused for inter-pod affinity?": [
        "class InterPodAffinity",
        "def united_rules",
    ],
    "Where is a term matched with a pod?": ["    def matches("],
    "Where are the counters of a topology domain kept?": ["class DomainTable"],
    "How does a pod event change the counters?": [
        *("def upsert_pod(", "class Counters", "class PlacedClass"),
    ],
    "Where is the first-pod exception?": ["def is_first", ".is_first"],
    "Where is a node scored?": ["def prioritize("],
    "Where is a bind decided and sent?": ["may_bind(", "    async def bind("],
    "Where is a placement reserved, and for how long?": ["RESERVATION_SECONDS ="],
    "Where is a pod's JSON decoded?": ["class PodReader"],
    "Where are lists and watches received?": ["class Reflector"],
    "Where is everything started and stopped?": ["async def running("],
}
"""The questions of a newcomer, with what is in each file that answers one."""


def test_the_twelve_questions_of_a_newcomer_lead_to_their_answers() -> None:
    answers = questions()
    assert [*answers] == [*TWELVE]
    for question, holds in TWELVE.items():
        for path, text in zip(answers[question], holds, strict=True):
            assert text in path.read_text(), (question, path)


def test_one_file_answers_most_of_the_twelve_and_three_any() -> None:
    counts = [len(each) for each in questions().values()]
    assert (len(counts), median(counts), max(counts)) == (12, 1, 3)


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (
            "How long is a place reserved, and what if the answer to a bind is lost?",
            "RESERVATION_SECONDS = 180.0",
        ),
        ("What happens on 410 Gone?", "self.status == HTTPStatus.GONE"),
        ("When do two pods get in each other's way?", "def interact("),
        ("Which nodes does node affinity match", "class NodeRules"),
        ("What is sent to the API server next", "class FlowControl"),
        ("When does Python's garbage collector run?", "def keep_collecting("),
        ("Whose requests are answered at all, and how large may they be?", "class Callers"),
        ("Why is the extender not ready?", "def report("),
        ("What does this field of the configuration mean?", "class Config"),
        ("a rule that refuses nodes", "class FilterPlugin(Plugin, ABC)"),
        ("a new field of a Kubernetes object", "class PodManifest"),
        ("a resource to watch", "RESOURCES: Final"),
        ("a counter per topology domain", "def recount("),
        ("work that no call waits for", "class Reconciler"),
        ("something to ask of the API server", "class ClusterReader(Protocol)"),
        ("a field of the configuration", "class Config"),
        ("an endpoint for programs", "def ops_app("),
        ("something on the page for people", "class Pages"),
    ],
)
def test_a_row_of_the_map_leads_to_what_it_says(row: str, holds: str) -> None:
    (line,) = [each for each in MAP.splitlines() if each.startswith(f"| {row}")]
    linked = re.findall(r"\]\((?:\.\./){2}([\w/.]+\.py)\)", line)
    assert any(holds in (ROOT / path).read_text() for path in linked)


def test_every_example_is_listed_tested_and_whole() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    tests = (ROOT / "tests" / "e2e" / "test_examples.py").read_text()
    folders = [path for path in sorted(EXAMPLES.iterdir()) if path.is_dir()]
    assert len(folders) == 9
    for folder in folders:
        text = (folder / "README.md").read_text()
        assert f"({folder.name}/README.md)" in listed
        for path in folder.glob("*.yaml"):
            assert path.name in text, "what is not named is not found"
            assert path.name in tests, "what is not tested does not work"


def test_metrics_that_are_named_are_ours() -> None:
    ours = {
        f"{metric.name}{suffix}"
        for metric in all_metrics().collect()
        for suffix in ("", "_total", "_sum", "_count")
    }
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    named = set(re.findall(r"(?<![\w/.])[a-z_]+_(?:total|seconds|objects|count|sum)\b", text))
    named = {name for name in named if not name.startswith("scheduler_")}
    assert len(named) > 5
    assert {f"{PREFIX}_{name.removeprefix(f'{PREFIX}_')}" for name in named} <= ours


def test_each_dependency_says_how_it_earns_its_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    text = (ROOT / "docs" / "development" / "dependencies.md").read_text().lower()
    absent = [name for name in wanted if re.split(r"[<>=\[; ]", name)[0].lower() not in text]
    assert absent == []
