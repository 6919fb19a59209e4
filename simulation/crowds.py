"""What users do with pods that they look after themselves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.apiserver.store import Json, Store, is_live
from simulation.apiserver.verbs import delete
from simulation.caller import Caller
from simulation.plan import Setup
from simulation.workloads import Workload

MOST_TRIES: Final = 8
"""Of a user to have one more, before the oldest that waits has to go."""


class Crowds:
    def __init__(self, caller: Caller, setup: Setup) -> None:
        self._caller = caller
        self._store: Store = caller.server.store
        self._setup = setup

    async def until_fewer(
        self, keys: list[str], most: int, pause: float, counts: Callable[[str], bool]
    ) -> list[str]:
        """Wait until fewer pods count, and return those; the oldest goes if that takes long."""
        tries = 0
        while len(left := [key for key in keys if counts(key)]) >= most:
            tries += 1
            if tries > MOST_TRIES:
                await self.delete(left[0])
            await asyncio.sleep(max(pause, 0.5))
        return left

    async def delete(self, key: str) -> None:
        await self._caller.try_to(partial(delete, self._store, key, "users", grace=0.0))

    async def end_group(self, key: str) -> None:
        """Delete a pod group."""
        await self._caller.try_to(partial(self._store.remove, "podgroups", key, "users"))

    def free_name(self, group: str) -> str:
        """Return the first free name of a group."""
        there = self._store.all("pods")
        names = (f"{group}-{number}" for number in itertools.count())
        return next(name for name in names if f"default/{name}" not in there)

    def lives(self, key: str) -> bool:
        pod = self._store.all("pods").get(key)
        return pod is not None and is_live(pod)

    def waits(self, key: str) -> bool:
        return self.lives(key) and not self._store.all("pods")[key]["spec"].get("nodeName")

    def count(self, prefix: str) -> int:
        """Return how many live pods have names that begin so."""
        keys = self._store.all("pods")
        return sum(key.startswith(prefix) and self.lives(key) for key in keys)

    def workload(
        self, chance: Random, name: str, sort: str, group: str, graces: Sequence[int]
    ) -> Workload:
        """Build what the pods of a name are made of; whoever needs it looks after them."""
        made_of = templates.template(sort, name, group)
        return Workload(
            name=name,
            space="default",
            made_of=made_of | {"grace": chance.choice(graces)},
            replicas=0,
            scheduler=self._setup.any_scheduler(chance),
            milli=chance.choice((10, 10, 10, 500)),
        )

    async def create(self, resource: str, obj: Json) -> None:
        await self._caller.try_to(partial(self._store.create, resource, obj, "users"))
