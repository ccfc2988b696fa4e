#!/usr/bin/env python3
"""One of four engines is killed under load and comes back.

Streams and short requests run all the time. No request may fail that had not received its first
byte; once the gateway knows, the dead engine gets nothing; within three seconds of its health's
return it serves again.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from abort_storm import in_flight, metrics  # noqa: E402
from processes import Gateway, SimEngine, free_port  # noqa: E402
from scenario.client import REQUEST_DEFAULTS, request_bytes  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.values import MODEL, chat_body  # noqa: E402
from scenario.wire import Changes, Message, Reader  # noqa: E402
from soak_report import write  # noqa: E402

ENGINES = ("u1", "u2", "u3", "u4")
VICTIM = "u2"
SPEED = ("--prefill-tps", "50000", "--decode-tps", "100")
BACK_SECONDS = 3.0
LEAST_SHARE_OF_RATE = 0.98  # or the load was not what it says
KNOWN_SECONDS = 1.0  # until then attempts may still find the dead engine's port


@dataclass
class Ended:
    """How one request ended, and when its answer began."""

    provider: str
    began_at: float
    fault: str  # "" when all is well; a stream that broke off after its first byte is
    broken: bool


class Load:
    def __init__(self, port: int):
        self.port = port
        self.number = 0
        self.ended: list[Ended] = []
        self.over = asyncio.Event()

    async def streams(self) -> None:
        while not self.over.is_set():
            await self.ask(stream=True)

    async def short_ones(self, per_second: float) -> float:
        """Each leaves when it is due, however late the one before it left. How many left a second."""
        tasks, started, sent, passed = set(), time.monotonic(), 0, 0.0
        while not self.over.is_set():
            passed = time.monotonic() - started
            while sent < passed * per_second:
                task = asyncio.create_task(self.ask(stream=False))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                sent += 1
            await asyncio.sleep(max(0.0, started + sent / per_second - time.monotonic()))
        await asyncio.gather(*tasks)
        return sent / passed

    async def ask(self, stream: bool) -> None:
        self.number += 1
        text = f"question {self.number} that nobody has asked before, number {self.number}"
        body = chat_body(text, stream)[:-1] + b', "max_tokens": %d}' % (60 if stream else 2)
        data, _ = request_bytes({**REQUEST_DEFAULTS, "body": body.decode()}, self.port)
        message = Message()
        try:
            reading, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(data)
            reader = Reader(reading, Changes())
            async with asyncio.timeout(30):
                if await reader.read_head(message):
                    await reader.read_body(message, is_response=True)
            writer.close()
            fault = ""
        except (OSError, TimeoutError) as error:
            fault = type(error).__name__
        began = message.status == 200 and message.first_byte_at > 0
        if not fault and not began:
            fault = f"{message.status} {message.end or 'no answer'} {bytes(message.body)[:200]!r}"
        provider = (message.values("x-rolter-provider") or [""])[0]
        self.ended.append(Ended(provider, message.first_byte_at, fault, began and message.end != "clean"))


async def first_served(load: Load, since: float, seconds: float) -> float | None:
    """How long after `since` the victim's first answer began."""
    while time.monotonic() < since + seconds:
        if any(one.provider == VICTIM and one.began_at > since for one in load.ended):
            return min(one.began_at for one in load.ended
                       if one.provider == VICTIM and one.began_at > since) - since
        await asyncio.sleep(0.05)
    return None


async def errors_of_victim(port: int) -> int:
    """Attempts that ended in an error of its: those that found nobody there, and those cut by its death."""
    return sum(int(line.split()[-1]) for line in (await metrics(port)).splitlines()
               if line.startswith("rolter_upstream_errors_total{") and f'target="{VICTIM}/' in line)


async def play(options: argparse.Namespace, engines: dict[str, SimEngine], load: Load) -> list[str]:
    running = [asyncio.create_task(load.streams()) for _ in range(options.streams)]
    short_ones = asyncio.create_task(load.short_ones(options.rate))
    started, used = time.monotonic(), time.process_time()
    await asyncio.sleep(options.seconds)
    victim = engines[VICTIM]
    victim.process.send_signal(signal.SIGKILL)
    killed_at = time.monotonic()
    await asyncio.sleep(KNOWN_SECONDS)
    known = await errors_of_victim(load.port)
    await asyncio.sleep(options.seconds - KNOWN_SECONDS)
    attempts = await errors_of_victim(load.port) - known
    engines[VICTIM] = await asyncio.to_thread(
        SimEngine, options.rolter, MODEL, *SPEED, port=victim.port)
    back_at = time.monotonic()
    back_after = await first_served(load, back_at, BACK_SECONDS + 3)
    load.over.set()
    await asyncio.gather(*running)
    rate = await short_ones
    busy = (time.process_time() - used) / (time.monotonic() - started)
    faults = [one.fault for one in load.ended if one.fault][:5]
    late = [one for one in load.ended if one.provider == VICTIM
            and killed_at + KNOWN_SECONDS < one.began_at < back_at]
    if late:
        faults.append(f"{len(late)} answers from the dead engine")
    if attempts:
        faults.append(f"{attempts} attempts at the dead engine after it was known to be dead")
    if back_after is None or back_after > BACK_SECONDS:
        faults.append(f"the engine served again only after {back_after} s")
    if rate < LEAST_SHARE_OF_RATE * options.rate:
        faults.append(f"the client sent {rate:.1f} short requests a second, not {options.rate:g}")
    broken = sum(one.broken for one in load.ended)
    figures = (f"{options.streams} streams and {rate:.1f} short requests a second, for which their client needed "
               f"{busy:.0%} of a core: {len(load.ended)} requests, {broken} streams broken by the kill, none else; {known} attempts "
               f"met the dead engine in the first {KNOWN_SECONDS:g} s, {attempts} in the other "
               f"{options.seconds - KNOWN_SECONDS:g} s of its death; "
               f"served again {back_after or -1:.2f} s after its return")
    print(figures)
    if not faults:
        write(options.report, "kill_one", figures + ".")
    return faults


async def run(options: argparse.Namespace, directory: Path) -> list[str]:
    engines = {name: await asyncio.to_thread(SimEngine, options.rolter, MODEL, *SPEED)
               for name in ENGINES}
    file = directory / "rolter.toml"
    file.write_text(configuration(
        {"health": {"enabled": True}, "server": {"loops": 2}},
        {name: engine.port for name, engine in engines.items()}, free_port()), encoding="utf-8")
    gateway = await asyncio.to_thread(Gateway, options.rolter, file)
    try:
        faults = await play(options, engines, Load(gateway.port))
        if any(counts := await in_flight(gateway.port)):
            faults.append(f"in flight at the end: {counts}")
    finally:
        code = await asyncio.to_thread(gateway.stop)
        for engine in engines.values():
            await asyncio.to_thread(engine.stop)
    return faults + ([] if code == 0 else [f"exit code {code}: {gateway.log_text()[-2000:]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--rate", type=float, default=200, help="short requests a second")
    parser.add_argument("--seconds", type=float, default=6, help="before the kill, and until the return")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--ignore-memory", action="store_true", help="for the sake of the others")
    parser.add_argument("--report", type=Path, help="the document whose section is to be written anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolter-kill-") as directory:
        faults = asyncio.run(run(options, Path(directory)))
    print("\n".join(faults) or "no request was lost")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
