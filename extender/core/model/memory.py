"""How much memory caches may take: every budget, in one place.

What has to be known of the cluster itself (pods, nodes, namespaces and the counters of the rules
that placed pods carry) comes on top, for as long as it exists:
docs/development/memory.md says how much that is.
"""

from __future__ import annotations

from typing import Final

MIB: Final = 1 << 20

# Read from JSON, known by its bytes

CLASSES: Final = 32 * MIB
"""Namespace, labels and affinity of pods: some 7,000 workloads with a rule each."""
AFFINITIES: Final = 8 * MIB
NODE_AFFINITIES: Final = 8 * MIB
ANNOTATIONS: Final = 16 * MIB
"""Rules in annotations: the largest that an API server stores takes some megabytes."""
REQUESTS: Final = 4 * MIB
CHARGES: Final = 4 * MIB
REQUIREMENTS: Final = MIB
"""Tolerations and whatever else such pods ask of their placing."""
OF_A_READER: Final = (
    CLASSES + AFFINITIES + NODE_AFFINITIES + ANNOTATIONS + REQUESTS + CHARGES + REQUIREMENTS
)
READERS: Final = 6
"""Each has these caches to itself: those of the watch, of calls and of explanations, and three for
large objects, which threads read for the watch, for calls and for acts on single pods."""

# Answers, and what they are made of

PREFILTER_STATES: Final = 32 * MIB
"""The counters that pods of a class are compared with: those of some 4,000 classes."""
MATCHING_SETS: Final = 64 * MIB
"""Pods that terms of incoming pods speak of, counted by domain."""
MATCHING_ENTRIES: Final = MATCHING_SETS // 128
"""Domains and classes in these sets: each takes 128 bytes. A selector counts as 8, a condition as 4
and a value as one, for they are found by these as well."""
NODE_RULES: Final = 32 * MIB
"""What node affinity says of each node; 5 KiB a rule with 5,000 nodes, 40 KiB if preferred. The
longest rules take some megabytes."""
VICTIMS: Final = 4 * MIB
"""The victims that preempt has just named."""
EXPECTED: Final = 8 * MIB
"""Pods that were just nominated, until a watch shows it."""
REFUSALS: Final = 8 * MIB
"""Refused pods, as hints need them."""
FRUITLESS: Final = 4 * MIB
"""Refused pods for which hints know no node."""
PREEMPTORS: Final = 8 * MIB
"""Refused pods, as preemption needs them, with the nodes that they were refused on."""
WITHOUT_VICTIMS: Final = 4 * MIB
"""Refused pods for which no eviction would help."""
RANKINGS: Final = 4 * MIB
"""Nodes in the order of their victims, for refused pods that are alike."""

# By number, where the size of an entry is bounded

MOST_NAMES: Final = 15_000
"""Names of nodes, namespaces and pod groups, one object each: 0.5 KiB for the longest."""
MOST_OWNERS: Final = 1_200
"""Controllers of pods that wait, and of all where pods may be evicted: 2.5 KiB at most."""
MOST_ASKED: Final = 16_384
"""Waiting pods with rules in annotations, and which they were when they were asked about last."""
MOST_RECORDED: Final = 2_048
"""What was put on record lately of the rules in annotations of pods that were about to be bound."""
MOST_SPENT_SETS: Final = 2_300
"""Preemptors whose victims have gone for nothing, and how often."""
BY_NUMBER: Final = 21 * MIB
"""What all of these take at most."""

TOTAL: Final = sum(
    budget
    for name, budget in list(vars().items())
    if name.isupper()
    and name not in {"MIB", "MATCHING_ENTRIES", "OF_A_READER", "READERS"}
    and not name.startswith("MOST_")
) + OF_A_READER * (READERS - 1)
"""What all caches may hold together. Sizes are estimated with a margin, so they take less."""
