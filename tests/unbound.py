"""Pods that filter is asked about and that no watch ever shows, as simulators of schedulers ask."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import chain
from logging import Logger
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.config import Config
from extender.core.config.document import decode
from extender.core.config.features import features, left_to_scheduler
from extender.core.config.schema import API_VERSION, KIND
from extender.core.controllers.context import Clocks
from extender.core.controllers.history import History
from extender.core.controllers.upkeep import keep_expiring, keep_forgetting, keep_up_to_date
from extender.core.enabled import enforced
from extender.core.errors import ExtenderError
from extender.core.kube.calls import ApiCall
from extender.core.kube.client import ApiClient
from extender.core.kube.reader import ObjectReader
from extender.core.metrics import Metrics
from extender.core.model.lru_cache import CountedCache, LruCache
from extender.core.model.objects import Pod
from extender.core.parts import Context, Part, build_parts
from extender.core.source import ApiServer, Source, StillPicture, empty_state, lease_key, pod_reader
from extender.core.warm_up import WarmUp
from extender.core.web.app import CALLBACKS, Callback
from extender.wiring import build_callbacks
from tests.annotating import REQUIRED, annotated
from tests.builders import HOST, ZONE, model_node, model_pod, node, pod, selector, term
from tests.features.every import switched_on
from tests.kube.rig import credentials_for
from tests.leading import Leader

Json = Mapping[str, Any]

NODES: Final = [f"n{number}" for number in range(8)]
MARK: Final = "never-bound"
"""In the name, uid and labels of each of these pods, and of no other."""
WEB, RIVALS = selector(app="web"), selector(app="rival")


def everything(mode: str) -> Config:
    """Return a configuration with all features that a mode can have."""
    kinds = {"apiVersion": API_VERSION, "kind": KIND}
    plugins = ["InterPodAffinity", *(each.plugin for each in features() if each.plugin)]
    fixed: dict[str, Any] = {"mode": mode, "plugins": [*dict.fromkeys(plugins)]}
    fields = fixed
    for each in features():
        more = {**fields, **switched_on(each.name), **fixed}
        with suppress(ExtenderError):
            decode({**kinds, **more})
            fields = more
    return decode({**kinds, **fields})


class Clock:
    """The loop's, a moment later at each look: what is due in no time at all is due at the next."""

    def __init__(self) -> None:
        self._looks = 0

    def __call__(self) -> float:
        self._looks += 1
        return asyncio.get_running_loop().time() + 1e-8 * self._looks


class Taking(ApiClient):
    """An API server that takes whatever is written, and shows none of it."""

    def __init__(self) -> None:
        super().__init__(credentials_for("http://127.0.0.1:1"))
        self.taken: list[tuple[str, str, str]] = []
        """Method, path and body of each request."""

    async def _call(self, call: ApiCall, within: float | None) -> bytes:
        del within
        body = "" if call.content is None else call.content.body.decode()
        self.taken.append((call.method, call.path, body))
        return b"{}"


class Program:
    """The program as its runtime puts it together, with its tasks; eight nodes with a web pod."""

    def __init__(self, config: Config) -> None:
        clock, client = Clock(), Taking()
        self.taken = client.taken
        self.config = config
        self.state = state = empty_state(config)
        self.pods = pods = pod_reader(config)
        state.forgetful.append(pods.forgetting)
        api = ApiServer(client, ObjectReader(client, pods), lease_key(config))
        metrics = Metrics()
        self.context = Context(
            config,
            Source("a test", StillPicture({}, {}), leadership=Leader(), api=api),
            state,
            metrics,
            lambda: None,
            WarmUp(state, metrics, clock=clock),
            History(clock),
            Clocks(clock, clock, lambda: 0.5),
            refused=RefusedPods(state, clock) if enforced(config) else None,
        )
        for number, name in enumerate(NODES):
            labels = {HOST: name, ZONE: "ab"[number % 2]}
            state.upsert_node(model_node(node(name, labels, {"pods": "110"})))
            web = pod(f"web-{number}").labels(app="web").on(name)
            state.upsert_pod(model_pod(web.avoids(1, term(HOST, WEB))))
        self.parts: list[Part] = build_parts(self.context)
        self.callbacks: Mapping[str, Callback] = build_callbacks(self.context, self.parts)[
            CALLBACKS
        ]

    @classmethod
    @asynccontextmanager
    async def running(cls, config: Config) -> AsyncIterator[Program]:
        """Run it, with what looks after its state."""
        program = cls(config)
        clock = program.context.clocks.clock
        eternal = [keep_expiring(program.state, clock), keep_up_to_date(program.state)]
        eternal.append(keep_forgetting(program.state))
        eternal += [task for part in program.parts for _, task in part.tasks()]
        tasks = [asyncio.create_task(each) for each in eternal]
        try:
            yield program
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def roots(self) -> list[object]:
        """Return what everything else can be reached from."""
        return [self.context, self.parts, self.callbacks, self.pods]

    @contextmanager
    def known(self, raw: Json) -> Iterator[None]:
        """Have the watch show a pod for a while."""
        shown = self.show(raw)
        yield
        self.state.remove_pod(shown.key, shown.uid)

    def show(self, raw: Json) -> Pod:
        """Have the watch show a pod as it is now."""
        shown = self.pods.read(json.dumps(raw).encode())
        self.state.upsert_pod(shown)
        return shown

    async def ask(self, verb: str, raw: Json, names: Iterable[str] = NODES) -> Any:
        """Ask about nodes."""
        body = {"Pod": raw, "NodeNames": [*names]}
        return json.loads(await self.callbacks[verb].answer(json.dumps(body).encode()))

    async def schedule(self, raw: Json, names: Iterable[str] = NODES) -> tuple[Any, Any]:
        """Ask as a scheduler does that stops before it binds; return both answers."""
        answer = await self.ask("filter", raw, names)
        fits = answer.get("NodeNames")
        return answer, await self.ask("prioritize", raw, fits) if fits else None

    async def timed(self, raw: Json) -> tuple[Any, Any, float]:
        """Ask the same; return the seconds that it took as well."""
        now = self.context.clocks.clock
        start = now()
        return (*await self.schedule(raw), round(now() - start, 3))

    async def bind(self, raw: Json, node_name: str) -> None:
        """Have a pod bound, and the watch show it."""
        metadata = raw["metadata"]
        whom = {f"Pod{each}": metadata[each.lower()] for each in ("Name", "Namespace", "UID")}
        body = json.dumps({**whom, "Node": node_name}).encode()
        assert not json.loads(await self.callbacks["bind"].answer(body)).get("Error")
        self.show({**raw, "spec": {**raw["spec"], "nodeName": node_name}})

    async def preempt(self, raw: Json) -> Any:
        """Ask which victims help, as after a pod was refused for want of room as well."""
        victims = {"n1": {"Pods": [{"UID": "default-web-1"}]}}
        body = json.dumps({"Pod": raw, "NodeNameToMetaVictims": victims}).encode()
        return json.loads(await self.callbacks["preempt"].answer(body))


def kinds(config: Config) -> Mapping[str, Callable[[str], Json]]:
    """Return how to make each kind of such pods from a name."""
    profile = next(iter(left_to_scheduler(config)), "another")

    def made(name: str) -> Any:
        return pod(name, f"of-{name}").labels(app=name)

    def elsewhere(raw: Any) -> Json:
        return {**raw, "spec": {**raw["spec"], "schedulerName": profile}}

    def apart(name: str) -> Any:
        return made(name).anti_affinity(term(ZONE, selector(app=name)))

    def lost(name: str) -> Any:
        return made(name).affinity(term(ZONE, selector(app=f"{name}-too")))

    def carrying(name: str, *terms: Json) -> Json:
        return annotated(made(name), {"podAntiAffinity": {REQUIRED: [*terms]}})

    across: dict[str, Any] = {"namespaceSelector": {}}
    return {
        "let onto nodes": apart,
        "in the way of others": lambda name: (
            pod(name).labels(app="rival").anti_affinity(term(HOST, RIVALS))
        ),
        "likewise by its annotation": lambda name: annotated(
            pod(name).labels(app="rival"), {"podAntiAffinity": {REQUIRED: [term(HOST, RIVALS)]}}
        ),
        "likewise by a wish": lambda name: (
            pod(name).labels(app="rival").avoids(1, term(HOST, RIVALS))
        ),
        "refused everywhere": lost,
        "refused everywhere, and important": lambda name: (
            made(name).priority(1000).anti_affinity(term(HOST, WEB, **across))
        ),
        "let onto nodes by its annotation": lambda name: carrying(
            name, term(ZONE, selector(app=name))
        ),
        "refused everywhere by its annotation": lambda name: carrying(
            name, term(HOST, WEB, **across)
        ),
        "with an annotation that is broken": lambda name: carrying(name, {"topologyKey": name}),
        "of a profile with the scheduler's plugins": lambda name: elsewhere(apart(name)),
        "of a pod group": lambda name: apart(name).in_group(name),
        "of a pod group in such a profile": lambda name: elsewhere(apart(name).in_group(name)),
        "nominated": lambda name: lost(name).nominated("n1"),
        "with wishes": lambda name: made(name).avoids(7, term(HOST, selector(app=name))),
        "for some nodes": lambda name: (
            made(name)
            .requires_nodes({"matchExpressions": [_not(name)]})
            .prefers_nodes(3, {"matchExpressions": [_not(name)]})
        ),
        "across namespaces": lambda name: made(name).avoids(1, term(ZONE, WEB, **across)),
        "with a node": lambda name: apart(name).on("n2"),
        "without rules": made,
    }


def _not(value: str) -> Json:
    return {"key": "kind", "operator": "NotIn", "values": [value]}


async def simulate(program: Program, number: int, *, preempts: bool = True) -> None:
    """Ask about `number` such pods, a thousand a second, and about a node that is not there."""
    made = [*kinds(program.config).values()]
    for index in range(number):
        raw = made[index % len(made)](f"{MARK}-{index}")
        _, scores = await program.schedule(raw, [*NODES, f"{MARK}-node-{index}"])
        if preempts and scores is None and "preempt" in program.callbacks:
            await program.preempt(raw)
        if index % 100 == 99:
            await asyncio.sleep(0.1)


# What is kept of them

_CONTAINERS: Final = (list, tuple, set, frozenset, deque)
_FOREIGN: Final = (type, ModuleType, Logger, asyncio.AbstractEventLoop, BuiltinMethodType)
_BOUNDED: Final = (LruCache, CountedCache)
"""By a budget; tests/test_memory.py has what that is."""
_HOLDING_NOTHING: Final = (WeakValueDictionary, WeakKeyDictionary)
_DEEP: Final = 4
"""Steps from an entry of a registry to what says whose it is."""


def kept(roots: Iterable[object]) -> Counter[str]:
    """Count what is kept of such pods outside of caches, by the attribute that has it.

    Whatever can be reached is looked at, so that what is added later is as well.
    """
    found: Counter[str] = Counter()
    seen = {id(vars(module)) for module in [*sys.modules.values()]}
    rest: list[tuple[str, object]] = [("", each) for each in roots]
    while rest:
        name, one = rest.pop()
        if id(one) in seen or isinstance(one, (*_FOREIGN, *_BOUNDED, *_HOLDING_NOTHING)):
            continue
        seen.add(id(one))
        for attribute, *entry in _parts(one):
            at = attribute or name
            if any(_is_about(each, _DEEP) for each in entry):
                found[at] += 1
            else:
                rest += [(at, each) for each in entry]
    return found


def lengths(roots: Iterable[object]) -> Counter[str]:
    """Count the entries of all that is kept, caches included, by the attribute that has them."""
    found: Counter[str] = Counter()
    seen = {id(vars(module)) for module in [*sys.modules.values()]}
    rest: list[tuple[str, object]] = [("", each) for each in roots]
    while rest:
        name, one = rest.pop()
        if id(one) in seen or isinstance(one, _FOREIGN):
            continue
        seen.add(id(one))
        if isinstance(one, (dict, list, set, frozenset, deque, *_BOUNDED, *_HOLDING_NOTHING)):
            found[name] += len(one)
        if not isinstance(one, _BOUNDED):
            rest += [(at or name, each) for at, *entry in _parts(one) for each in entry]
    return found


def _is_about(one: object, deep: int) -> bool:
    """Tell whether something names such a pod, as an entry of a registry does."""
    if isinstance(one, str):
        return MARK in one
    if isinstance(one, bytes):
        return MARK.encode() in one
    if not deep or isinstance(one, (dict, list, set, deque, type, *_BOUNDED)):
        return False
    if isinstance(one, (tuple, frozenset)) or type(one).__module__.startswith("extender."):
        return any(_is_about(each, deep - 1) for _, *entry in _parts(one) for each in entry)
    return False


def _parts(one: object) -> Iterator[tuple[Any, ...]]:
    """Yield the attributes of something by name; its entries, key and value, under ""."""
    kind, attributes = type(one), getattr(one, "__dict__", {})
    yield from ((f"{kind.__name__}.{name}", each) for name, each in attributes.items())
    if isinstance(one, dict):
        yield from (("", *item) for item in one.items())
    elif isinstance(one, _CONTAINERS):
        yield from (("", each) for each in one)
    elif isinstance(one, FunctionType):
        yield from ((one.__qualname__, each.cell_contents) for each in one.__closure__ or ())
    elif isinstance(one, MethodType):
        yield "", one.__self__
    elif slots := [*chain.from_iterable(map(_slots, kind.__mro__))]:
        yield from ((f"{kind.__name__}.{name}", getattr(one, name, None)) for name in slots)
    elif not attributes:
        yield from (("", each) for each in gc.get_referents(one))


def _slots(kind: type) -> Iterable[str]:
    slots = kind.__dict__.get("__slots__", ())
    # Python 3.11.2 raises a TypeError when it is asked for weak references to a dataclass's value.
    names = (slots,) if isinstance(slots, str) else slots
    return [each for each in names if each != "__weakref__"]
