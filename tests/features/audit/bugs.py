"""Bugs to plant in the audit, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a wrong counter is logged, and not counted",
        "features.audit.part",
        "                row.count()\n",
        "                pass\n",
        "features/audit/test_part.py::test_a_wrong_counter_is_counted_and_logged",
    ),
    Bug(
        "what ledgers of features book is not audited",
        "features.audit.recount",
        "        yield from ledger.audit()\n",
        "        pass\n",
        "features/audit/test_recount.py::test_what_each_of_several_ledgers_finds_is_told",
    ),
    Bug(
        "room that is booked on a node that is gone is not audited",
        "features.audit.recount",
        "    names = iter({**dict.fromkeys(state.nodes), "
        "**dict.fromkeys(state.node_resources.in_use)})\n"
        "    while some := list(islice(names, AUDITED_NODES)):\n"
        "        wrong",
        "    names = iter(list(state.nodes))\n"
        "    while some := list(islice(names, AUDITED_NODES)):\n"
        "        wrong",
        "features/audit/test_recount.py::test_room_that_nobody_uses_is_noticed",
    ),
    Bug(
        "a nomination that is shown no more is not audited",
        "features.audit.ledgers",
        "for uid in truth.keys() | shown.keys() if truth",
        "for uid in truth.keys() if truth",
        "features/audit/test_recount.py::test_a_nomination_that_slipped_through_is_noticed",
    ),
    Bug(
        "only one column of node affinity is audited",
        "features.audit.ledgers",
        "    for column in list(state.node_columns):\n",
        "    for column in list(state.node_columns)[:1]:\n",
        "features/audit/test_recount.py::test_a_column_that_says_wrong_is_noticed",
    ),
    Bug(
        "a table that changes while it is recounted is wrong",
        "features.audit.recount",
        "copied = [(weight, dict(on_nodes))",
        "copied = [(weight, on_nodes)",
        "features/audit/test_recount.py::test_a_class_on_many_nodes_is_counted_some_at_a_time",
    ),
    Bug(
        "reserved pods are no pods of their node to the audit",
        "features.audit.recount",
        "    pods = (*state.pods_on(node), *state.reservations.on(node))\n    return dict",
        "    pods = state.pods_on(node)\n    return dict",
        "features/audit/test_recount.py::test_a_sound_state_is_found_sound",
    ),
    Bug(
        "one ledger of several is audited",
        "features.audit.recount",
        "    for ledger in state.ledgers:\n        yield from ledger.audit()",
        "    for ledger in state.ledgers[:1]:\n        yield from ledger.audit()",
        "features/audit/test_recount.py::test_what_each_of_several_ledgers_finds_is_told",
    ),
    Bug(
        "nominations by node are not audited",
        "features.audit.ledgers",
        "    for index in (of_class, on):",
        "    for index in (of_class,):",
        "features/audit/test_recount.py::test_a_nomination_that_slipped_through_is_noticed",
    ),
    Bug(
        "a nomination that ends within a round is wrong",
        "features.audit.ledgers",
        '    yield "nominated pods" if wrong else None',
        '    yield "nominated pods" if wrong or len(now) != len(found) else None',
        "features/audit/test_recount.py"
        "::test_nominations_and_columns_that_end_within_a_round_are_nothing_wrong",
    ),
    Bug(
        "a column that is given up within a round is wrong",
        "features.audit.ledgers",
        " and state.node_rules.keeps(column):",
        ":",
        "features/audit/test_recount.py"
        "::test_nominations_and_columns_that_end_within_a_round_are_nothing_wrong",
    ),
    Bug(
        "a round ends with what is wrong first",
        "features.audit.part",
        "            if finding is not None:\n"
        "                row.count()\n"
        '                _log.error("counters differ from a recount: %s; '
        'restart to count anew", finding)\n',
        "            if finding is not None:\n"
        "                row.count()\n"
        '                _log.error("counters differ from a recount: %s; '
        'restart to count anew", finding)\n'
        "                break\n",
        "features/audit/test_part.py::test_a_round_goes_on_after_what_is_wrong",
    ),
    Bug(
        "pods by class on a node that is gone are not audited",
        "features.audit.recount",
        "    names = iter({**dict.fromkeys(state.nodes), "
        "**dict.fromkeys(state.node_resources.in_use)})\n"
        "    while some := list(islice(names, AUDITED_NODES)):\n        sound",
        "    names = iter(list(state.nodes))\n"
        "    while some := list(islice(names, AUDITED_NODES)):\n        sound",
        "features/audit/test_recount.py::test_what_is_wrong_is_noticed_on_nodes_that_are_gone_as_well",
    ),
    Bug(
        "one term of several is audited",
        "features.audit.recount",
        "        yield from _audit_terms(state, together)\n",
        "        yield from _audit_terms(state, together[:1])\n",
        "features/audit/test_recount.py::test_what_is_wrong_is_noticed_whichever_of_several_it_is",
    ),
)
