"""The scheduler's file and ours, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from affinityctl.scheduler.file import Ours, SchedulerFile, SchedulerProfile
from extender.core.config import API_VERSION, KIND, Config, Mode
from extender.core.config.checks import is_loopback
from extender.core.config.features import leaving, refuses_in_assist

INTER_POD = "InterPodAffinity"
NODE = "NodeAffinity"


@dataclass(frozen=True, slots=True)
class Setup:
    scheduler: SchedulerFile
    config: Config
    """Ours; all defaults where none was given."""
    mode: Mode
    configured: bool
    """Our file was given: what it says is no guess."""
    left: frozenset[str] = frozenset()
    """The profiles whose pods the scheduler's own plugins judge, also in mode replace."""

    def ours(self) -> Iterator[Ours]:
        """Yield the entries that call us: by our port, or the only one that there is."""
        entries = [Ours(*each) for each in enumerate(self.scheduler.extenders or ())]
        port = self.config.serving.port
        mine = [each for each in entries if port_of(each.entry.url_prefix) == port]
        yield from mine or (entries if len(entries) == 1 else [])

    def called_with(self, field: str) -> bool:
        """Return whether we are called with a verb, for example filterVerb."""
        return any(field in dict(each.entry.verbs()) for each in self.ours())

    def takes_over(self, plugin: str, profile: SchedulerProfile | None = None) -> bool:
        """Return whether a plugin of the scheduler is enabled here: at all, or for a profile."""
        left = profile is not None and self.leaves(profile)
        return plugin in self.config.plugins and not left

    def leaves(self, profile: SchedulerProfile) -> bool:
        """Return whether the scheduler's own plugins judge the pods of a profile."""
        return profile.scheduler_name in self.left

    def unnamed(self, profile: SchedulerProfile) -> bool:
        """Return whether a profile is probably to be left to the scheduler, and is not."""
        return (
            self.mode is Mode.REPLACE
            and not self.leaves(profile)
            and profile in _left_in(self.scheduler)
        )

    def refuses(self) -> bool:
        """Return whether nodes may be refused here: in assist by what no scheduler has.

        In assist without our file, that is so if the scheduler's file has the verbs for it.
        """
        if self.mode is Mode.ASSIST and self.configured:
            return refuses_in_assist(self.config)
        return self.mode is not Mode.SHADOW


def setup_of(scheduler: SchedulerFile, config: Config | None, mode: Mode | None) -> Setup:
    """Put the two together; without our file or a mode, it is the one that the verbs are for."""
    known = config or Config(api_version=API_VERSION, kind=KIND)
    chosen = mode or (config.mode if config else _meant(scheduler))
    by = leaving() if chosen is Mode.REPLACE else None
    left = by.names(config) if by and config else _named(_left_in(scheduler)) if by else ()
    return Setup(scheduler, known, chosen, config is not None, frozenset(left))


def _left_in(scheduler: SchedulerFile) -> list[SchedulerProfile]:
    """Return the profiles with all of the plugin, beside one without."""
    profiles = [profile for _, profile in scheduler.every_profile()] if leaving() else []
    if all(each.runs(INTER_POD, "filter") for each in profiles):
        return []
    points = ("preFilter", "filter", "preScore", "score")
    return [each for each in profiles if all(each.runs(INTER_POD, point) for point in points)]


def _named(profiles: Iterable[SchedulerProfile]) -> list[str]:
    return [each.scheduler_name for each in profiles if each.scheduler_name]


def calls_this_host(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "localhost" or is_loopback(host)


def port_of(url: str) -> int | None:
    """Return the port that an address names, None for none or a broken one."""
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _meant(scheduler: SchedulerFile) -> Mode:
    entries = scheduler.extenders or []
    profiles = [profile for _, profile in scheduler.every_profile()]
    filters = all(profile.runs(INTER_POD, "filter") for profile in profiles)
    if any(each.bind_verb for each in entries) or not filters:
        return Mode.REPLACE
    scores = all(profile.runs(INTER_POD, "score") for profile in profiles)
    filtered = any(each.filter_verb for each in entries)
    return Mode.SHADOW if filtered and scores else Mode.ASSIST
