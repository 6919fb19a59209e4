"""What an optional feature says of itself, and which features there are.

A feature is a folder, `extender/features/NAME`. Its `section.py` has a `FEATURE`; that is all that
is imported while it is off. `docs/development/features.md` says how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, NamedTuple

from msgspec import defstruct

from extender.core.cluster.counts.scope import MakeScope, Scope
from extender.core.config.conditions import ALWAYS, Condition
from extender.core.config.connections import Block
from extender.core.config.schema import API_VERSION, BY_DEFAULT, KIND, OF_SCHEDULER, Config
from extender.core.errors import ConfigError
from extender.core.model.verdict import INTER_POD_AFFINITY
from extender.core.wire.objects import ReadFacet
from extender.core.wire.rules_beside import ReadRules
from extender.features import FEATURES

_PACKAGE: Final = "extender.features"


class Right(NamedTuple):
    """One thing to do with one resource of the API server."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        group = f".{self.group}" if self.group else ""
        return f"{self.verb} {self.resource}{group}"


class Want(Enum):
    """What the core finds out only where a feature asks for it."""

    OWNERS = auto()
    """Who would replace a pod, and whether it is ready."""
    LEASE = auto()
    """Which of several replicas acts."""
    NODES = auto()
    """Which nodes a pod asks for and prefers."""
    HOLDS = auto()
    """What holds a pod where it is: these, disruption budgets, what it says of itself."""


class Maturity(StrEnum):
    """How well a feature is proven, and what users may rely on: docs/promises.md."""

    ALPHA = "alpha"
    """It may change or go in any release."""
    BETA = "beta"
    """It stays, and what is written for it is converted or named where it changes."""
    STABLE = "stable"
    """It is promised like the core."""


class LeaseName(NamedTuple):
    """The Lease by which one of several replicas acts."""

    namespace: str | None = None
    """None: where the program runs."""
    name: str = "affinity-extender"


class Help(Enum):
    """What is done for pods that were refused on every node that the scheduler asked about."""

    NODE = auto()
    """A node that would take one is nominated for it."""
    ROOM = auto()
    """Less important pods are evicted for one that only the extender's rules keep waiting."""


class Given(NamedTuple):
    """When a feature gives something, in the modes that have it."""

    switch: str
    """The field by which it is switched on."""
    holds: Callable[[Config], bool]


class Carries(NamedTuple):
    """That pods carry rules beside those of their specs. One feature at most may say so."""

    module: str
    """It has READER, a ReadRules, and `scope(config)`, which makes the Scope of a state."""
    where: str
    """Says after "unless" that they count."""


class Flag(NamedTuple):
    """A flag of `serve` that sets a field."""

    flag: str
    metavar: str
    help: str
    path: str


class Added(NamedTuple):
    """What the scheduler adds to which nodes every pod asks for and prefers, as known here."""

    field: str
    """The field that has it."""
    file: str
    """The field that names the scheduler's file instead."""
    differs: Callable[[Config, object], bool]
    """Says whether addedAffinity, as the scheduler's file has it, is another."""


class Leaves(NamedTuple):
    """That the scheduler's own plugins judge the pods of some of its profiles. One feature at most.

    Pods of pod groups need one of them: an extender is not told of members placed in one cycle.
    """

    names: Callable[[Config], Collection[str]]
    """The profiles."""
    entry: str
    """How one is written into the configuration, with {} for its name."""
    policy: str
    """The end of the name of the policy that has the pods of groups choose one."""
    label: str
    """The label of the namespaces in which it does."""


class Trace(NamedTuple):
    """What is written on pods, and is still there when the program is gone."""

    place: Literal["annotation", "condition", "field"]
    """On the pod; fields are those of its status."""
    name: str
    beside: str = ""
    """An annotation with the same value, which tells that it is not a user's own."""
    ends: str = ""
    """What else of Kubernetes takes it away soon; "" for what stays."""


class Completion(NamedTuple):
    """What completes the configuration by what another file of Kubernetes says."""

    field: str
    """The field that names the file."""
    file: Callable[[Config], Path | None]
    complete: Callable[[Config, Path, Callable[[Path], Mapping[str, Any]]], Config]
    """Is given what gets a document out of a file. ObjectError says what is wrong in one."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """An optional feature. Modules are named as in its folder, and imported when they are used."""

    name: str
    """That of its folder; with hyphens, of its page in docs/ and of its component."""
    maturity: Maturity
    """One that is not stable is off unless the configuration asks for it, or for mode replace."""
    section: type[Block] | None = None
    """Its block of the configuration; None where other fields switch it on."""
    sections: Mapping[str, type[Block]] = field(default_factory=dict)
    """Its blocks under other names than its own, as attributes of the configuration."""
    lists: Mapping[str, type[Block]] = field(default_factory=dict)
    """Its lists of blocks by the attributes that have them; empty by default."""
    enabled: Callable[[Config], bool]
    effect: Condition = ALWAYS
    """When fields of its block have an effect."""
    effects: Mapping[str, Condition] = field(default_factory=dict)
    """When single fields have an effect, by path, where `effect` is not true of them."""
    check: Callable[[Config], Iterable[ConfigError]] = lambda _: ()
    """Yields what is wrong with values that fit the schema, on or off."""
    lease: Callable[[Config], LeaseName] | None = None
    """Which Lease all features share, if this one has the fields for it."""
    needs: tuple[str, ...] = ()
    """Other features whose folders it imports."""
    wants: frozenset[Want] = frozenset()
    gives: Mapping[Help, Given] = field(default_factory=dict)
    rights: tuple[Right, ...] = ()
    """Those that its component gives, beside the ones of manifests/base."""
    traces: tuple[Trace, ...] = ()
    """All that it writes on pods, but for their ends; a Lease goes by `wants`."""
    needed_rights: Callable[[Config], Iterable[Right]] | None = None
    """Which of them a configuration needs; None: all where the feature is on."""
    reads: str = ""
    """The module with its FACETS, a tuple of ReadFacet."""
    plugin: str = ""
    """The name in `plugins` of what it refuses nodes by; with that, the feature is on."""
    judges: str = ""
    """The module whose `plugin(config)` builds that. Without a name in `plugins`, it is there while
    the feature is on, and comes last."""
    plugin_wants: frozenset[Want] = frozenset()
    """What the core finds out where that is named in `plugins`."""
    adds: Added | None = None
    carries: Carries | None = None
    """With that, while the feature is on, pods carry rules beside those of their specs."""
    leaves: Leaves | None = None
    mirrors: str = ""
    """The module with its RESOURCES, a tuple of WatchedResource, and with `book(state, config)`,
    which has what is in them booked with a state, before anything is."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kinds of these with their API groups."""
    command: str = ""
    """The command for people that goes with it."""
    completion: Completion | None = None
    flags: tuple[Flag, ...] = ()
    costs: str = ""
    """The module whose `given_costs(state, pods)` returns the deletion costs, by key, that pods
    would have if the feature were on; for `simulate`."""
    places: str = ""
    """The module about the places of running pods, for what people ask: `sitting`, `placements` and
    `survey`, whether the feature is on or not."""
    words: str
    """A regular expression, in any case: no file outside of its folder has one of these words."""

    @property
    def blocks(self) -> Mapping[str, type[Block]]:
        """Its blocks by the attributes that have them."""
        return {**({} if self.section is None else {self.name: self.section}), **self.sections}

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its blocks, and then of its lists of blocks, in the file."""
        return tuple(map(_camel, (*self.blocks, *self.lists)))

    @property
    def field(self) -> str:
        """Its name in files."""
        return _camel(self.name)

    @property
    def component(self) -> str:
        """The folder in manifests/components with its rights, and the name of its page."""
        return self.name.replace("_", "-")

    @property
    def facets(self) -> tuple[ReadFacet, ...]:
        """What it reads of pods."""
        return self.module(self.reads).FACETS if self.reads else ()

    def module(self, name: str) -> ModuleType:
        return import_module(f"{_PACKAGE}.{self.name}.{name}")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


@cache
def features() -> tuple[Feature, ...]:
    """Return all features, on or off."""
    # Not when this module is imported: a section imports it as well.
    found = (import_module(f"{_PACKAGE}.{name}.section").FEATURE for name in FEATURES)
    return tuple(found)


def enabled(config: Config) -> Iterator[Feature]:
    return (each for each in features() if each.enabled(config))


def more_rules(config: Config) -> bool:
    """Return whether pods carry rules beside those of their specs."""
    return any(each.carries and each.enabled(config) for each in features())


def scope(config: Config, some: Iterable[Feature] | None = None) -> MakeScope:
    """Return what makes the scope of a state, by those features that are on, unless given."""
    module = _carried(enabled(config) if some is None else some)
    made: MakeScope = Scope if module is None else module.scope(config)
    return made


def reads_rules(some: Iterable[Feature]) -> ReadRules | None:
    """Return what reads the rules that pods carry beside their specs, if a feature has it."""
    module = _carried(some)
    return None if module is None else module.READER


def _carried(some: Iterable[Feature]) -> ModuleType | None:
    return next((each.module(each.carries.module) for each in some if each.carries), None)


def refuses_in_assist(config: Config) -> bool:
    """Return whether there are rules that no scheduler has: of features, or beside specs."""
    return not {*config.plugins} <= OF_SCHEDULER or more_rules(config)


def wants(config: Config, what: Want) -> bool:
    """Return whether a feature that is on asks for something."""
    return any(
        what in each.wants or (what in each.plugin_wants and each.plugin in config.plugins)
        for each in enabled(config)
    )


def gives(config: Config, what: Help) -> bool:
    """Return whether a feature gives something, where the mode is replace."""
    return any(what in each.gives and each.gives[what].holds(config) for each in features())


def switch_of(what: Help) -> str | None:
    """Return the field by which something is switched on; None where no feature gives it."""
    return next((each.gives[what].switch for each in features() if what in each.gives), None)


def leaving() -> Leaves | None:
    """Return by what profiles are left to the scheduler; None where no feature does so."""
    return next((each.leaves for each in features() if each.leaves), None)


def left_to_scheduler(config: Config) -> frozenset[str]:
    """Return the profiles whose pods the scheduler's own plugins judge, beside mode replace."""
    by = (each.leaves for each in enabled(config))
    return frozenset(name for each in by if each for name in each.names(config))


def lease_name(config: Config) -> LeaseName:
    """Return which Lease features share."""
    named = (each.lease(config) for each in features() if each.lease is not None)
    return next(named, LeaseName())


def about_places(some: Iterable[Feature] | None = None) -> ModuleType | None:
    """Return the module about the places of running pods, if one of some (or all) has it."""
    among = features() if some is None else some
    return next((each.module(each.places) for each in among if each.places), None)


def facets(config: Config) -> tuple[ReadFacet, ...]:
    """Return what the features that are on read of pods."""
    return tuple(facet for each in enabled(config) for facet in each.facets)


def defaults() -> Config:
    """Return the configuration of a file that sets nothing."""
    return whole()(api_version=API_VERSION, kind=KIND)


@cache
def whole() -> type[Config]:
    """Return the configuration with the blocks of all features."""
    every = (item for each in features() for item in each.blocks.items())
    blocks = [(name, block, block()) for name, block in every]
    lists: Any = [
        (name, tuple[block, ...], ())  # type: ignore[valid-type]
        for each in features()
        for name, block in each.lists.items()
    ]
    names = (INTER_POD_AFFINITY, *(each.plugin for each in features() if each.plugin))
    plugins: Any = StrEnum("PluginName", {each: each for each in names})  # type: ignore[misc]
    fields = [("plugins", tuple[plugins, ...], BY_DEFAULT), *blocks, *lists]
    return defstruct("Config", fields, bases=(Config,), frozen=True, kw_only=True)  # type: ignore[return-value]
