"""Settings for the whole suite."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# First of all: the tests get kubernetes_asyncio as the program does, without its models.
import extender.core.kube  # noqa: F401

pytest_plugins = ("tests.serving", "tests.kube.rig")
"""Fixtures that tests in several folders ask for."""

# Whole clusters are large values to draw; that they are is no sign of a bad strategy.
_SUPPRESSED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

# The same examples on every run: a red build is about the change, never about luck.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=100,
    stateful_step_count=25,
    suppress_health_check=_SUPPRESSED,
)
# Few of them: what `make mutants` runs thousands of times.
settings.register_profile(
    "few",
    settings.get_profile("ci"),
    max_examples=30,
)
# Other examples on every run, and many: HYPOTHESIS_PROFILE=deep, for a search overnight.
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=5000,
    stateful_step_count=60,
    suppress_health_check=_SUPPRESSED,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


if sys.version_info[:2] in {(3, 12), (3, 13)}:
    # With these the server refuses to watch a cluster; all else is tested as with others.
    pytest.MonkeyPatch().setattr("extender.core.source.check_depth", lambda: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the test begin first that takes as long as many others, which run beside it."""
    items.sort(key=lambda each: not each.name.startswith("test_everything_holds_in_many"))


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Undo what a command that ran in this process did to logging: its stream closes with it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)
