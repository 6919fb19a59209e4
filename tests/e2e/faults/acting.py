"""Carries faults out on the processes and hops of one control plane."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp

from tests.e2e.faults import injector
from tests.e2e.faults.injector import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.controlplane.process import Process
    from tests.e2e.faults.judge import Judge
    from tests.e2e.faults.proxy import Hop
    from tests.e2e.faults.store import Store
    from tests.e2e.objects import JSON

_READY_S = 120.0
"""A hop may fail beside the start of a process."""
_LOST_S = 8.0
"""What is done between a backup and its restore is lost."""


class Stage:
    """What can fail."""

    def __init__(
        self,
        control_plane: ControlPlane,
        processes: Mapping[str, Process],
        hops: Mapping[str, Hop],
        clock: Path,
    ) -> None:
        self.injected = Counter[str]()
        """Faults by kind and place."""
        self.store: Store | None = None
        self.judge: Judge | None = None
        self._control_plane = control_plane
        self._processes = processes
        self._hops = hops
        self._clock = clock

    async def inject(self, fault: Fault) -> None:
        """Have something go wrong, and return when it is over."""
        async with self._beside(fault.beside):
            await self._alone(fault)
        self.injected[fault.name] += 1

    @asynccontextmanager
    async def _beside(self, fault: Fault | None) -> AsyncIterator[None]:
        if fault is None:
            yield
            return
        hop = self._begin(fault)
        # The other fault may be one that only a hop that works ends.
        end = asyncio.get_running_loop().call_later(fault.seconds, hop.recover)
        try:
            yield
        finally:
            end.cancel()
            hop.recover()
        self.injected[fault.name] += 1

    def _begin(self, fault: Fault) -> Hop:
        assert fault.failing is not None
        hop = self._hops[fault.where]
        hop.fail(fault.failing)
        return hop

    async def _alone(self, fault: Fault) -> None:
        match fault.kind:
            case injector.KILL:
                await self._kill(fault.where, fault.seconds)
            case injector.PAUSE:
                with _paused(self._processes[fault.where]):
                    await asyncio.sleep(fault.seconds)
            case injector.COMPACTION:
                await self._compact()
            case injector.NO_SPACE:
                await self._fill_up(fault.seconds)
            case injector.RESTORE:
                await self._restore(fault.seconds)
            case injector.JUMP:
                self._clock.write_text(f"{fault.jump:+.0f}\n")
                await asyncio.sleep(fault.seconds)
            case _:
                hop = self._begin(fault)
                await asyncio.sleep(fault.seconds)
                hop.recover()

    async def _kill(self, where: str, seconds: float) -> None:
        process = self._processes[where]
        await asyncio.to_thread(process.kill)
        await asyncio.sleep(seconds)
        await _start(process)

    async def _restore(self, seconds: float) -> None:
        """Go back to a backup, and start all but the extender anew, as the documentation says."""
        assert self.store is not None
        assert self.judge is not None
        data, backup = self._control_plane.folder / "etcd", self._control_plane.folder / "backup"
        with _paused(self._processes[injector.ETCD]):
            await asyncio.to_thread(shutil.copytree, data, backup)
        await asyncio.sleep(_LOST_S)
        order = (injector.ETCD, injector.API_SERVER, injector.CONTROLLERS, injector.SCHEDULER)
        await self.store.stop()
        for each in order:
            await asyncio.to_thread(self._processes[each].kill)
        await asyncio.to_thread(shutil.rmtree, data)
        backup.rename(data)
        await asyncio.sleep(seconds)
        self.judge.restored()
        self.store.forget()
        for each in order:
            await _start(self._processes[each])
        await self.store.go_on()

    # etcd, by its gateway

    async def _compact(self) -> None:
        found = await self._etcd("kv/range", {"key": "AA=="})
        await self._etcd("kv/compaction", {"revision": found["header"]["revision"]})

    async def _fill_up(self, seconds: float) -> None:
        """Have etcd refuse writes as it does when its quota is used up."""
        (member,) = (await self._etcd("cluster/member/list", {}))["members"]
        alarm = {"memberID": member["ID"], "alarm": "NOSPACE"}
        await self._etcd("maintenance/alarm", {"action": "ACTIVATE", **alarm})
        await asyncio.sleep(seconds)
        await self._etcd("maintenance/alarm", {"action": "DEACTIVATE", **alarm})

    async def _etcd(self, method: str, body: object) -> JSON:
        url = self._control_plane.storage + "/v3/" + method
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
            found: JSON = await answer.json(content_type=None)
            assert answer.ok, found
            return found


async def _start(process: Process) -> None:
    # From this thread: the kernel ends a program with the thread that started it.
    process.start()
    await asyncio.to_thread(process.wait_ready, _READY_S)


class _paused:  # noqa: N801 - a context manager
    def __init__(self, process: Process) -> None:
        self._pid = process.pid

    def __enter__(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGCONT)
