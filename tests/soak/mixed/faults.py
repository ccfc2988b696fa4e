"""What befalls the engines, the gateway's configuration and its clock while the soak lasts."""

import asyncio
import collections
import random
import signal
import struct
import time
from pathlib import Path

from .fleet import Engine, Fleet

MOST_AT_ONCE = 3  # engines with a fault of their own, of six
BETWEEN_SECONDS = 1.2
RELOAD_SECONDS = 20
JUMP_SECONDS = 25
# Forward and back by seconds, an hour, a day and a year; back to the true time at the end of each row.
JUMPS = (86_400, 0, 90, 0, -3600, 0, -86_400, 0, 31_536_000, 5, -5, 0)
BAD_CONFIGURATION = '[[routes]]\nmodel = "chat"\nstrategy = "cache_awar"\n'


class Faults:
    def __init__(self, fleet: Fleet, file: Path, shift_file: Path, gateway, tally, seed: int):
        self.counts: collections.Counter = collections.Counter()
        self._fleet, self._file, self._shift_file, self._gateway = fleet, file, shift_file, gateway
        self._tally, self._rng = tally, random.Random(seed)
        self._struck: set[str] = set()
        self._reloads = 0

    async def run(self, over: asyncio.Event) -> None:
        await asyncio.gather(self._strike(over), self._reload(over), self._jump(over))

    async def _strike(self, over: asyncio.Event) -> None:
        striking = set()
        while not over.is_set():
            free = [one for one in self._fleet.engines if one.name not in self._struck]
            if len(free) > len(self._fleet.engines) - MOST_AT_ONCE:
                engine = self._rng.choice(free)
                fault = self._rng.choice((self._kill, self._terminate, self._stop, self._reset,
                                          self._hang, self._slow, self._cut_events, self._lose_events))
                self._struck.add(engine.name)
                task = asyncio.create_task(self._do(fault, engine))
                striking.add(task)
                task.add_done_callback(striking.discard)
            await _sleep(over, BETWEEN_SECONDS)
        await asyncio.gather(*striking)

    async def _do(self, fault, engine: Engine) -> None:
        since = time.monotonic()
        try:
            self.counts[fault.__doc__] += 1
            await fault(engine)
        except Exception as error:  # an engine that does not come back is the soak's own failure
            self._tally.fault(f"{fault.__doc__} of {engine.name}: {error!r}", since)
        self._struck.discard(engine.name)

    async def _restart(self, engine: Engine, seconds: float) -> None:
        self._fleet.relays.tell("refuse", engine.near_port)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(engine.end)
        await asyncio.to_thread(engine.start)
        self._fleet.relays.tell("accept", engine.near_port)

    async def _kill(self, engine: Engine) -> None:
        """kills with a restart"""
        engine.signal(signal.SIGKILL)
        await self._restart(engine, self._rng.uniform(0.5, 4))

    async def _terminate(self, engine: Engine) -> None:
        """SIGTERMs that leave answers hanging, with a restart"""
        engine.signal(signal.SIGTERM)
        await asyncio.sleep(self._rng.uniform(1, 5))
        await self._restart(engine, 0.5)

    async def _stop(self, engine: Engine) -> None:
        """engines stopped in their tracks (SIGSTOP)"""
        engine.signal(signal.SIGSTOP)
        await asyncio.sleep(self._rng.uniform(0.5, 7))
        engine.signal(signal.SIGCONT)

    async def _reset(self, engine: Engine) -> None:
        """resets of every connection of an engine"""
        self._fleet.relays.tell("reset", engine.near_port)

    async def _hang(self, engine: Engine) -> None:
        """networks that pass nothing on"""
        seconds = self._rng.uniform(0.5, 6)
        self._fleet.relays.tell("hang", engine.near_port, seconds)
        await asyncio.sleep(seconds)

    async def _slow(self, engine: Engine) -> None:
        """networks that are slow"""
        self._fleet.relays.tell("slow", engine.near_port, 3)
        await asyncio.sleep(3)

    async def _cut_events(self, engine: Engine) -> None:
        """cuts of a KV-event stream"""
        self._fleet.relays.tell("reset", engine.near_events)

    async def _lose_events(self, engine: Engine) -> None:
        """KV-event streams and replays away for seconds"""
        ports = (engine.near_events, engine.near_replay)
        for port in ports:
            self._fleet.relays.tell("refuse", port)
        await asyncio.sleep(self._rng.uniform(1, 5))
        for port in ports:
            self._fleet.relays.tell("accept", port)

    async def _reload(self, over: asyncio.Event) -> None:
        while not await _sleep(over, RELOAD_SECONDS):
            self._reloads += 1
            refused = self._reloads % 5 == 4
            self.counts["reloads refused" if refused else "reloads"] += 1
            good = self._fleet.configuration(self._reloads)
            seen, since = len(self._gateway.log), time.monotonic()
            self._file.write_text(BAD_CONFIGURATION if refused else good, encoding="utf-8")
            self._gateway.process.send_signal(signal.SIGHUP)
            said = "reload refused" if refused else "reloaded "
            if not await self._logged(said, seen):
                self._tally.fault(f"reload {self._reloads}: not within 10 s in the log: {said}", since)

    async def _logged(self, part: str, start: int) -> bool:
        latest = time.monotonic() + 10
        while time.monotonic() < latest:
            if any(part in line for line in self._gateway.log[start:]):
                return True
            await asyncio.sleep(0.05)
        return False

    async def _jump(self, over: asyncio.Event) -> None:
        number = 0
        while not await _sleep(over, JUMP_SECONDS):
            self.counts["clock jumps"] += 1
            self._set_clock(JUMPS[number % len(JUMPS)])
            number += 1
        self._set_clock(0)

    def _set_clock(self, seconds: int) -> None:
        with self._shift_file.open("r+b") as file:  # never shorter: the gateway has it mapped
            file.write(struct.pack("<q", seconds))


async def _sleep(over: asyncio.Event, seconds: float) -> bool:
    """Whether it was over before."""
    try:
        await asyncio.wait_for(over.wait(), seconds)
    except TimeoutError:
        return False
    return True
