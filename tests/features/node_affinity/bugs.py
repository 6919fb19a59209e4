"""Bugs to plant in what is added to node affinity, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "what the scheduler's file prefers counts although the scheduler scores by it",
        "features.node_affinity.section",
        "if not scores(config):\n        added =",
        "if scores(config):\n        added =",
        "features/node_affinity/test_scheduler_file.py::test_what_is_preferred_counts_where_the_extender_scores",
    ),
    Bug(
        "what is added is not known where the scheduler enforces it",
        "features.node_affinity.section",
        "return judging or not",
        "return judging and not",
        "features/node_affinity/test_added.py::test_no_node_is_chosen_that_the_scheduler_would_refuse",
    ),
    Bug(
        "profiles may add different terms",
        "features.node_affinity.scheduler",
        "if each != found[0]:",
        "if each != found[number]:",
        "features/node_affinity/test_scheduler_file.py::test_a_fault_names_the_field_and_the_file",
    ),
    Bug(
        "lint compares what is preferred where the scheduler scores",
        "features.node_affinity.section",
        "if scores(config):\n        return theirs",
        "if not scores(config):\n        return theirs",
        "features/node_affinity/test_lint.py::test_arguments_that_nobody_here_goes_by_are_no_fault",
    ),
    Bug(
        "who names the scheduler's file has the default weight",
        "features.node_affinity.section",
        "    block = structs.replace(config.section(NodeAffinityArgs), added_affinity=added)\n",
        "    block = NodeAffinityArgs(added_affinity=added)\n",
        "features/node_affinity/test_scheduler_file.py::test_the_file_changes_no_other_argument",
    ),
)
