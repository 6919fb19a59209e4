"""Bugs to plant where profiles have a mode of their own, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a group that is created again is taken for the one before it",
        "features.groups.ledger",
        "                tell(group)\n",
        '                tell("")\n',
        "features/groups/test_gangs.py::test_a_group_that_is_created_again_under_its_name_is_another_one",
    ),
    Bug(
        "of two profiles of one name, the later counts for nothing",
        "features.groups.section",
        "elif name in names[:index]:",
        "elif False:",
        "features/groups/test_section.py::test_a_profile_that_cannot_be_used_is_named",
    ),
    Bug(
        "of a gang that falls short, those that stand keep their places",
        "features.groups.gangs",
        "    _undo(standing)\n    members",
        "    members",
        "features/groups/test_gangs.py::test_all_are_refused_where_one_that_the_gang_needs_is",
    ),
    Bug(
        "a refused gang is answered at once, in any order",
        "features.groups.gangs",
        "each.answered_after = place * apart",
        "each.answered_after = 0.0",
        "features/groups/test_gangs.py::test_a_refused_gang_comes_back_in_an_order_in_which_it_can_be_bound",
    ),
    Bug(
        "a gang is decided before as many are there as it needs",
        "features.groups.gangs",
        "len(keys) >= lacking:",
        "len(keys) >= lacking - 1:",
        "features/groups/test_gangs.py::test_the_first_waits_for_as_many_as_the_gang_needs",
    ),
    Bug(
        "members that have their places do not count for the gang",
        "features.groups.gangs",
        "placed = sum(map(self._members.has_place, others))",
        "placed = 0",
        "features/groups/test_gangs.py::test_members_that_have_their_places_count_for_the_gang",
    ),
    Bug(
        "a worker whose bind comes before its leader's is refused at once",
        "features.groups.gangs",
        "        left = refused\n",
        "        left = refused\n        break\n",
        "features/groups/test_gangs.py::test_the_order_in_which_binds_come_does_not_matter",
    ),
    Bug(
        "members that do not come hold the others until their calls end",
        "features.groups.gangs",
        "                self._look(group, gathering, over=True)",
        "                pass",
        "features/groups/test_gangs.py::test_and_are_refused_again_where_one_of_them_is",
    ),
    Bug(
        "a caller that gives up still counts as one of the gang",
        "features.groups.gangs",
        "                gathering.members.remove(member)",
        "                pass",
        "features/groups/test_gangs.py::test_nothing_is_kept_of_a_caller_that_gives_up",
    ),
    Bug(
        "a gang of which too few came once is never refused as a whole again",
        "features.groups.gangs",
        "            self._too_few.pop(group)\n",
        "",
        "features/groups/test_gangs.py::test_a_gang_that_was_there_as_a_whole_is_refused_once_more",
    ),
    Bug(
        "a pod that was there before under a member's name counts beside it",
        "features.groups.gangs",
        "if key not in keys]",
        "if True]",
        "features/groups/test_gangs.py::test_a_pod_does_not_count_twice_where_the_watch_shows_its_namesake",
    ),
    Bug(
        "two binds of one pod count as two of the gang",
        "features.groups.gangs",
        "number = len({each.key for each in standing})",
        "number = len(standing)",
        "features/groups/test_gangs.py::test_two_binds_of_one_pod_are_one_of_the_gang",
    ),
    Bug(
        "nobody asks again how many a gang needs if the first call ends",
        "features.groups.gangs",
        "                    if gathering.needed is None:",
        "                    if len(gathering.members) == 1:",
        "features/groups/test_gangs.py::test_another_asks_if_the_call_of_the_first_ends",
    ),
    Bug(
        "a large gang takes all connections",
        "features.groups.gangs",
        "self._make_room()",
        "pass",
        "features/groups/test_gangs.py::test_where_too_many_are_held_the_largest_group_is",
    ),
    Bug(
        "a gang of Kubernetes 1.36 is not found",
        "features.groups.pod_groups",
        '("v1beta1", "v1alpha2"))',
        '("v1beta1",))',
        "features/groups/test_pod_groups.py::test_a_server_of_1_36_is_asked_in_its_version",
    ),
    Bug(
        "a chain of members is tried again as often as it has members",
        "features.groups.gangs",
        " or len(refused) > gathering.again:",
        ":",
        "features/groups/test_gangs.py::test_the_work_for_a_long_chain_of_members_is_bounded",
    ),
    Bug(
        "a pod that has ended is a member for ever",
        "features.groups.ledger",
        " and not pod.status.terminal:",
        ":",
        "features/groups/test_ledger.py::test_who_waits_after_an_event",
    ),
    Bug(
        "a reserved place is none",
        "features.groups.ledger",
        "return member.node is not None or bool(",
        "return member.node is not None and bool(",
        "features/groups/test_ledger.py::test_a_reserved_place_is_one",
    ),
    Bug(
        "an answer about a group is never asked for again",
        "features.groups.pod_groups",
        "if known is not None and self._clock() - known[1] < KNOWN_SECONDS:",
        "if known is not None:",
        "features/groups/test_pod_groups.py::test_an_answer_is_good_for_a_moment",
    ),
    Bug(
        "members of a profile of mode bind wait as in any other",
        "features.groups.judging",
        "if pod.spec.requirements.scheduler in names:",
        "if False:",
        "features/groups/test_profiles.py::test_a_member_may_be_bound_by_its_profile",
    ),
    Bug(
        "what was said of a group is said again when a member has come",
        "features.groups.ledger",
        "now = self._state.version, self._changes",
        "now = self._state.version, 0",
        "features/groups/test_annotated.py::test_a_group_is_compared_once_while_nothing_changes",
    ),
    Bug(
        "rules in annotations among members are judged one by one",
        "features.groups.judging",
        "return PodGroups(entangled)",
        "return PodGroups(lambda *_: None)",
        "features/groups/test_profiles.py::test_rules_in_annotations_among_members_are_an_error",
    ),
    Bug(
        "the time of a gang that was decided is that of its next try",
        "features.groups.gangs",
        "            if not gathering.members and self._gatherings.get(group) "
        "is gathering:\n"
        "                del self._gatherings[group]\n",
        "",
        "features/groups/test_gangs.py::test_nothing_is_kept_of_a_caller_that_gives_up",
    ),
    Bug(
        "a gang that was complete since is still known to have been too small",
        "features.groups.gangs",
        "            self._too_few.pop(group)\n",
        "",
        "features/groups/test_gangs.py::test_a_gang_that_was_there_as_a_whole_is_refused_once_more",
    ),
    Bug(
        "a member whose bind is tried again counts as placed and as here",
        "features.groups.gangs",
        "others = [each for key, each in self._members.of(group).items() if "
        "key not in keys]\n"
        "        placed = sum(map(self._members.has_place, others))",
        "others = [each for key, each in self._members.of(group).items() if "
        "key not in keys]\n"
        "        placed = sum(map(self._members.has_place, "
        "self._members.of(group).values()))",
        "features/groups/test_gangs.py"
        "::test_a_pod_does_not_count_twice_where_the_watch_shows_its_namesake",
    ),
    Bug(
        "what was said of a group is said again when a member has gone",
        "features.groups.ledger",
        "            self._changes += 1\n            members = self._of[group]\n",
        "            members = self._of[group]\n",
        "features/groups/test_ledger.py::test_what_is_found_of_a_group_is_looked_for_again_after",
    ),
    Bug(
        "without the right to read pod groups every bind waits",
        "features.groups.pod_groups",
        "_FINAL: Final = frozenset((HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN))",
        "_FINAL: Final = frozenset((HTTPStatus.UNAUTHORIZED,))",
        "features/groups/test_pod_groups.py::test_how_many_have_to_be_placed_together",
    ),
    Bug(
        "only the first profile lets pods of groups through",
        "features.groups.judging",
        "if pod.spec.requirements.scheduler in names:",
        "if names and pod.spec.requirements.scheduler == names[0]:",
        "features/groups/test_profiles.py::test_a_member_may_be_bound_by_its_profile",
    ),
    Bug(
        "gangs may hold every connection",
        "features.groups.part",
        "most // 2",
        "most",
        "features/groups/test_gangs.py::test_gangs_hold_half_of_the_connections_at_most",
    ),
    Bug(
        "a member is judged by what the watch has of it, whatever the scheduler sends",
        "features.groups.annotated",
        "if known is not None and known.node is None and known.pod_class == pod.pod_class:",
        "if known is not None and known.node is None:",
        "features/groups/test_annotated.py::test_a_group_is_compared_once_while_nothing_changes",
    ),
    Bug(
        "each member that comes has the others wait as long again",
        "features.groups.gangs",
        "            until = asyncio.get_running_loop().time() + HOLD_SECONDS\n"
        "            gathering = self._gatherings[group] = _Gathering(until)\n",
        "            gathering = self._gatherings[group] = _Gathering(0.0)\n"
        "        gathering.until = asyncio.get_running_loop().time() + HOLD_SECONDS\n",
        "features/groups/test_gangs.py::test_the_time_counts_from_the_first_that_came",
    ),
    Bug(
        "rules in annotations that do not count entangle a group",
        "features.groups.annotated",
        "state.class_in_force(pod_class).by_annotation for key",
        "pod_class.by_annotation for key",
        "features/groups/test_annotated.py"
        "::test_rules_in_annotations_that_do_not_count_leave_a_group_alone",
    ),
    Bug(
        "nobody hears that the last member of a group has ended",
        "features.groups.ledger",
        "        if group is not None and group not in self._of:\n",
        "        if pod is None and group is not None and group not in self._of:\n",
        "features/groups/test_ledger.py::test_the_end_of_a_group_is_told_once_its_last_member",
    ),
    Bug(
        "limits in annotations entangle nobody",
        "features.groups.annotated",
        "rule = (*affinity.required_anti, *affinity.limits)",
        "rule = affinity.required_anti",
        "features/groups/test_annotated.py::test_a_limit_of_one_member_speaks_of_another",
    ),
)
