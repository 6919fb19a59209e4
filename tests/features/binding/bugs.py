"""Bugs to plant where pods are bound, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a pod's own place is forgotten for the next pod like it",
        "features.binding.rules",
        "if not each.confirmed and attracted(state, each.pod.pod_class, own)",
        "if not each.confirmed and each.pod.uid != pod.uid"
        " and attracted(state, each.pod.pod_class, own)",
        "features/binding/test_rules.py::test_a_place_reserved_for_one_pod_is_company_to_the_next_like_it",
    ),
    Bug(
        "a pod that is read may be a namesake",
        "features.binding.binds",
        "if seen is None or seen.pod.uid != args.uid:",
        "if seen is None:",
        "features/binding/test_binds.py::test_a_pod_that_is_not_to_be_bound_once_it_was_read",
    ),
    Bug(
        "a bind waits for company that cannot come any more",
        "features.binding.binds",
        "while waited_for and all(each.under_way for each in waited_for):",
        "while all(each.under_way for each in waited_for):",
        "features/binding/test_binds.py::test_for_company_that_no_bind_can_bring_any_more_nobody_waits",
    ),
    Bug(
        "each end of a bind has all that wait for one judged again",
        "features.binding.binds",
        "while waited_for and all(each.under_way for each in waited_for):",
        "if waited_for:",
        "features/binding/test_binds.py::test_only_the_end_of_a_bind_that_a_pod_waits_for_has_it_judged_again",
    ),
    Bug(
        "a pod that has gone while its bind waited is bound",
        "features.binding.binds",
        "return seen.pod if seen.version else None",
        "return seen.pod",
        "features/binding/test_binds.py::test_a_bind_that_waited_is_decided_by_what_the_pod_is_by_then",
    ),
    Bug(
        "a pod with a place that comes to be bound changes nothing for those that wait",
        "features.binding.rules",
        "        self._none.clear()\n\n    def of",
        "        pass\n\n    def of",
        "features/binding/test_rules.py::test_who_needs_no_company_is_not_found_out_again_while_nothing_changes",
    ),
    Bug(
        "no time is left to read a pod back",
        "features.binding.binder",
        "within=max(within - WITHIN.look, 0.0)",
        "within=max(within, 0.0)",
        "features/binding/test_binder.py"
        "::test_a_bind_without_an_answer_leaves_time_to_read_the_pod_back",
    ),
    Bug(
        "any answer that blames the client is a clear no",
        "features.binding.binder",
        "if error.status in _CLEAR:",
        "if error.status < 500:",
        "features/binding/test_binder.py::test_the_end_of_a_bind",
    ),
    Bug(
        "a pod that is gone gives up the place of its last bind alone",
        "features.binding.binds",
        "            case BindOutcome.ELSEWHERE | BindOutcome.GONE:\n",
        "            case BindOutcome.GONE:\n"
        "                self._state.release(claim)\n"
        "            case BindOutcome.ELSEWHERE:\n",
        "features/binding/test_binds.py::test_what_is_certain_of_a_pod_ends_all_its_unclear_binds",
    ),
    Bug(
        "a pod that has ended before the watch shows it is bound",
        "features.binding.binds",
        "            if seen.pod.status.terminal:\n",
        "            if seen.pod.status.deleting:\n",
        "features/binding/test_binds.py::test_a_pod_that_is_not_to_be_bound_once_it_was_read",
    ),
    Bug(
        "a bind that fails unexpectedly leaves its pod in flight",
        "features.binding.binds",
        "        finally:\n"
        "            self._in_flight.remove(args.uid)\n"
        "        self._row.count(result)\n",
        "        self._in_flight.remove(args.uid)\n        self._row.count(result)\n",
        "features/binding/test_binds.py::test_a_bind_that_fails_unexpectedly_is_counted_and_over",
    ),
    Bug(
        "a pod of another namespace is named as what is missed",
        "features.binding.binds",
        'name = other.key if own else "a pod of another namespace"',
        'name = other.key if own or support[0].confirmed is False else "a pod '
        'of another namespace"',
        "features/binding/test_binds.py"
        "::test_why_a_bind_is_refused_names_no_pod_of_another_namespace",
    ),
    Bug(
        "a bind that fails unexpectedly is not counted",
        "features.binding.binds",
        '"Bind", "Error")\n        self._row.count("error")\n',
        '"Bind", "Error")\n',
        "features/binding/test_binds.py::test_a_bind_that_fails_unexpectedly_is_counted_and_over",
    ),
    Bug(
        "who waits for a bind that is given up beside others waits on",
        "features.binding.binds",
        "        self._state.release(claim)\n        self._wake()\n",
        "        self._state.release(claim)\n",
        "features/binding/test_binds.py"
        "::test_who_waits_for_a_bind_that_is_given_up_is_judged_again_at_once",
    ),
    Bug(
        "the first hook that writes to a placed pod is the last",
        "features.binding.binds",
        "                pod = hook.placing(pod, node)\n",
        "                placed = hook.placing(pod, node)\n"
        "                if placed is not pod:\n"
        "                    pod = placed\n"
        "                    break\n",
        "features/binding/test_binds.py::test_each_of_several_hooks_has_its_say",
    ),
    Bug(
        "one hook alone is asked before a bind",
        "features.binding.binds",
        "        for hook in self._hooks:\n"
        "            if (why := await hook.before_bind(placed)) is not None:\n"
        "                return why\n"
        "        return None",
        "        for hook in self._hooks[:1]:\n"
        "            if (why := await hook.before_bind(placed)) is not None:\n"
        "                return why\n"
        "        return None",
        "features/binding/test_binds.py::test_each_of_several_hooks_has_its_say",
    ),
    Bug(
        "the time of an unclear bind runs from its beginning",
        "features.binding.binds",
        "self._state.hold(claim, self._clock() + RESERVATION_SECONDS)",
        "self._state.hold(claim, claim.deadline)",
        "features/binding/test_binds.py::test_how_long_a_place_is_held",
    ),
    Bug(
        "a pod that is read as it is being deleted is bound",
        "features.binding.rules",
        "if (known or pod).status.deleting:",
        "if known is not None and known.status.deleting:",
        "features/binding/test_binds.py::test_a_pod_that_is_not_to_be_bound_once_it_was_read",
    ),
    Bug(
        "a pod waits for company because another is nominated there",
        "features.binding.rules",
        "gone=gone, nominated=False)",
        "gone=gone)",
        "features/binding/test_rules.py"
        "::test_a_pod_that_is_nominated_there_is_none_to_wait_for_company_for",
    ),
    Bug(
        "one facet of a pod is written with its bind",
        "features.binding.binder",
        "annotations = [each for facet, value in facets for each in facet.written(value).items()]",
        "annotations = [each for facet, value in facets[:1] for each in "
        "facet.written(value).items()]",
        "features/binding/test_binder.py::test_a_binding_brings_the_annotations_that_facets_write",
    ),
    Bug(
        "a bind is decided while it is unknown where the API server stands",
        "features.binding.binds",
        "None if self._picture.certain else UNCERTAIN",
        "None",
        "features/binding/test_binds.py"
        "::test_where_the_server_does_not_say_it_in_time_nothing_is_bound",
    ),
    Bug(
        "a bind of a gang that waited for its company is decided by what was so before",
        "features.binding.binds",
        "unsupported or self._verdict(seen, node)[1]",
        "unsupported or may_bind(self._state, seen.pod, node, self._plugins)",
        "features/binding/test_binds.py"
        "::test_a_bind_that_waited_for_its_company_is_decided_by_what_is_so_by_then",
    ),
    Bug(
        "a bind does not wait until the API server has said where it stands",
        "features.binding.binds",
        "                    await self._picture.wait_certain()\n",
        "                    pass\n",
        "features/binding/test_binds.py"
        "::test_nothing_is_decided_before_the_server_has_said_where_it_stands",
    ),
    Bug(
        "all binds that are waited for have to end",
        "features.binding.binds",
        "while waited_for and all(each.under_way for each in waited_for):",
        "while waited_for and any(each.under_way for each in waited_for):",
        "features/binding/test_binds.py::test_of_several_pods_that_would_do_the_first_to_be_bound_is_enough",
    ),
    Bug(
        "who waits for company does not hear that a bind is in doubt",
        "core.cluster.state",
        "            self.version += reservation.confirmed\n",
        "",
        "features/binding/test_rules.py::test_whom_a_pod_waits_for_is_what_is_found_anew_whatever_has_happened",
    ),
    Bug(
        "no time is left for a bind once it is known where the API server stands",
        "features.binding.binds",
        "async with asyncio.timeout(deadline - LOOK_SECONDS - self._clock()):",
        "async with asyncio.timeout(deadline - self._clock()):",
        "features/binding/test_binds.py::test_whatever_a_bind_waits_for_time_is_left_to_send_it_and_to_read_it_back",
    ),
    Bug(
        "a bind of a gang waits for its company until no time is left",
        "features.binding.binds",
        "unsupported = await self._unsupported(seen.pod, node, deadline)\n",
        "unsupported = await self._unsupported(seen.pod, node, deadline + LOOK_SECONDS)\n",
        "features/binding/test_binds.py::test_whatever_a_bind_waits_for_time_is_left_to_send_it_and_to_read_it_back",
    ),
)
