#!/usr/bin/env python3
"""Mixed traffic over six simulated engines to which everything happens, for minutes or hours.

Engines are killed, terminated, stopped, reset, slowed down and cut off, their KV-event streams too;
the configuration is reloaded every 20 s, now and then with a bad one; the gateway's wall clock jumps.
Clients of every kind know the one right answer to each of their questions. No request may stay
unanswered, no answer may be wrong, mixed up, or look whole without being it; in the end every count is
back at zero, descriptors are where they were, and memory has not grown since the first quarter.
"""

import argparse
import asyncio
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from abort_storm import descriptors, metrics, resident_mb  # noqa: E402
from mixed.answers import learn  # noqa: E402
from mixed.faults import Faults  # noqa: E402
from mixed.fleet import MODEL, Fleet  # noqa: E402
from mixed.report import Figures, Sample, section  # noqa: E402
from mixed.traffic import WORKERS, Client, Tally  # noqa: E402
from processes import Gateway  # noqa: E402
from soak_report import write  # noqa: E402

SETTLE_SECONDS = 20
REST = ("rolter_in_flight{", "rolter_queue_waiting{")  # 0 when nothing is asked


async def left_over(gateway: Gateway, most_descriptors: int) -> list[str]:
    """What has not gone back to rest in time."""
    for _ in range(SETTLE_SECONDS * 5):
        lines = (await metrics(gateway.port)).splitlines()
        faults = [line for line in lines if line.startswith(REST) and not line.endswith(" 0")]
        faults += [line for line in lines if line.startswith("rolter_client_connections ")
                   and float(line.split()[1]) > 1]  # this scrape's own
        if not any(line.startswith(REST[0]) for line in lines):
            faults.append("rolter_in_flight is not among the metrics")
        open_now = descriptors(gateway.pid)
        if open_now > most_descriptors:
            faults.append(f"{open_now} descriptors, at most {most_descriptors} wanted")
        if not faults:
            return []
        await asyncio.sleep(0.2)
    return faults


def sum_of(lines: list[str], name: str) -> float:
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


async def sample(gateway: Gateway, tally: Tally, samples: list[Sample], every: float,
                 over: asyncio.Event) -> None:
    started = time.monotonic()
    while not over.is_set():
        lines = (await metrics(gateway.port)).splitlines()
        samples.append(Sample(time.monotonic() - started, resident_mb(gateway.pid), descriptors(gateway.pid),
                              tally.requests, sum_of(lines, "rolter_index_bytes{") / 2**20,
                              int(sum_of(lines, "rolter_kv_blocks{"))))
        await asyncio.sleep(every)


def growth_mb(samples: list[Sample]) -> float:
    """Of the median from the second quarter to the last."""
    quarter = max(1, len(samples) // 4)
    second = statistics.median(one.resident_mb for one in samples[quarter: 2 * quarter])
    return statistics.median(one.resident_mb for one in samples[-quarter:]) - second


async def play(options: argparse.Namespace, fleet: Fleet, gateway: Gateway, file: Path,
               shift_file: Path) -> tuple[Figures, list[str]]:
    questions = await learn(fleet.engines[0].port, MODEL)
    before = descriptors(gateway.pid)
    tally, samples, over = Tally(), [], asyncio.Event()
    chaos = Faults(fleet, file, shift_file, gateway, tally, options.seed)
    clients = [Client(gateway.port, questions, tally, options.seed * 1000 + n) for n in range(WORKERS)]
    running = [asyncio.create_task(client.run(over)) for client in clients]
    running += [asyncio.create_task(chaos.run(over)), asyncio.create_task(tally.watch(over))]
    running.append(asyncio.create_task(sample(gateway, tally, samples, options.minutes / 2, over)))
    end = time.monotonic() + options.minutes * 60
    while time.monotonic() < end and gateway.process.poll() is None:
        await asyncio.sleep(0.5)
    over.set()
    await asyncio.gather(*running)
    if (died := gateway.process.poll()) is not None:
        raise SystemExit(f"the gateway ended with {died}:\n" + gateway.log_text()[-4000:])
    remains = await left_over(gateway, before + 8)
    figures = Figures(options.minutes, tally.outcomes, tally.heartbeats, len(tally.stalls), chaos.counts, samples,
                      growth_mb(samples), (before, descriptors(gateway.pid)), remains)
    faults = [*tally.faults()[:20], *remains]
    if tally.faults():
        faults.append(f"{len(tally.faults())} faults in all")
    if figures.growth_mb > options.growth_mb:
        faults.append(f"memory grew by {figures.growth_mb:.1f} MB after warm-up")
    if tally.outcomes["whole"] < tally.requests / 2:
        faults.append("less than half of the requests were answered whole")
    return figures, faults


async def run(options: argparse.Namespace, directory: Path) -> list[str]:
    file, shift_file = directory / "rolter.toml", directory / "clock-shift"
    shift_file.write_bytes(struct.pack("<q", 0))
    fleet = await asyncio.to_thread(Fleet, options.rolter)
    launcher = ()
    if options.clock:
        launcher = ("env", f"LD_PRELOAD={options.clock}", f"ROLTER_CLOCK_SHIFT={shift_file}")
    code = 0
    try:
        file.write_text(fleet.configuration(0), encoding="utf-8")
        gateway = await asyncio.to_thread(Gateway, options.rolter, file, ("--port", "0"), launcher)
        try:
            figures, faults = await play(options, fleet, gateway, file, shift_file)
        finally:
            code = await asyncio.to_thread(gateway.stop, 30)
    finally:
        await asyncio.to_thread(fleet.end)
    text = section(figures)
    print(text)
    if options.clock and not any(line.startswith(tomorrow()) for line in gateway.log):
        faults.append("the clock did not jump: no line of the log is of tomorrow")
    if code != 0:
        faults.append(f"exit code {code}: {gateway.log_text()[-2000:]}")
    if not faults:
        write(options.report, "mixed_soak", text)
    return faults


def tomorrow() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86_400))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clock", help="the clock_jump library; without it the clock stays")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--growth-mb", type=float, default=4)
    parser.add_argument("--report", type=Path, help="the document whose section is to be written anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolter-soak-") as directory:
        faults = asyncio.run(run(options, Path(directory)))
    print("\n".join(faults) or "nothing was lost, wrong or left behind")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
