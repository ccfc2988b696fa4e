#!/usr/bin/env python3
"""Thousands of requests whose clients leave at random moments: nothing may be left behind.

Clients leave in the middle of the head, in the middle of the body, before the first byte of the
answer, in the middle of a stream, or not at all; by FIN or by RST. Replicas answer at their pace,
and now and then reset. Afterwards every in-flight count is 0, the gateway holds no more descriptors
than before, its memory has not grown with the number of requests, and it serves.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from processes import Gateway, free_port  # noqa: E402
from scenario.client import REQUEST_DEFAULTS, request_bytes  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.replica import Replica, make_rule  # noqa: E402
from scenario.values import chat_body  # noqa: E402
from scenario.wire import Changes, Message, Reader, reset  # noqa: E402

MOMENTS = ("in the head", "in the body", "before the first byte", "mid-stream", "never")
AT_ONCE = 64
SETTLE_SECONDS = 15  # connections to replicas close, counts go back
ANSWER = [{"head": "stream"}, {"pause": 0.003},
          {"repeat": {"times": 6, "do": [{"events": ["some text"]}, {"pause": 0.002}]}}, {"end": "done"}]
RULES = [
    {"name": "u1", "nth_on_connection": 9, "do": [{"close": "rst"}]},
    {"name": "u2", "nth_on_connection": 11, "do": [{"head": "stream"}, {"events": ["a"]}, {"close": "rst"}]},
    {"do": ANSWER},
]


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


async def one_request(port: int, number: int, rng: random.Random) -> str:
    """Plays one client; returns how it went."""
    moment = rng.choice(MOMENTS)
    body = chat_body(f"conversation {rng.randrange(40)}, " + "word " * rng.randrange(200), stream=True)
    data, _ = request_bytes({**REQUEST_DEFAULTS, "body": body.decode()}, port)
    head = data.index(b"\r\n\r\n") + 4
    sent = {"in the head": rng.randrange(1, head), "in the body": rng.randrange(head, len(data))}
    stream, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data[: sent.get(moment, len(data))])
        await writer.drain()
        if moment == "before the first byte":
            await asyncio.sleep(rng.random() * 0.003)
        elif moment == "mid-stream":
            for _ in range(rng.randrange(1, 5)):
                await asyncio.wait_for(stream.read(300), 20)
        elif moment == "never":
            return await whole_answer(stream)
        return moment
    finally:
        reset(writer) if number % 2 else writer.close()


async def whole_answer(stream: asyncio.StreamReader) -> str:
    reader, message = Reader(stream, Changes()), Message()
    async with asyncio.timeout(20):
        if await reader.read_head(message):
            await reader.read_body(message, is_response=True)
    return f"{message.status} {message.end or 'no answer'}"


async def storm(port: int, requests: int, seed: int) -> dict[str, int]:
    outcomes: dict[str, int] = {}
    numbers = iter(range(requests))

    async def worker(which: int) -> None:
        rng = random.Random(seed * 1000 + which)
        for number in numbers:
            outcome = await one_request(port, number, rng)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1

    await asyncio.gather(*(worker(which) for which in range(AT_ONCE)))
    return outcomes


async def metrics(port: int, host: str = "127.0.0.1") -> str:
    stream, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
    reader, message = Reader(stream, Changes()), Message()
    await reader.read_head(message)
    await reader.read_body(message, is_response=True)
    writer.close()
    return message.body.decode()


async def in_flight(port: int, host: str = "127.0.0.1") -> list[float]:
    text = await metrics(port, host)
    return [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
            if re.match(r"rolter_in_flight(\{| )", line)]


async def settled(port: int, pid: int, most_descriptors: int) -> list[str]:
    """What has not gone back to rest in time."""
    faults: list[str] = []
    for _ in range(SETTLE_SECONDS * 10):
        counts, open_now = await in_flight(port), descriptors(pid)
        faults = [] if counts else ["rolter_in_flight is not among the metrics"]
        if any(counts):
            faults.append(f"in flight: {counts}")
        if open_now > most_descriptors:
            faults.append(f"{open_now} descriptors open, {most_descriptors} before")
        if not faults:
            break
        await asyncio.sleep(0.1)
    return faults


async def run(options: argparse.Namespace, directory: Path) -> list[str]:
    changes, seen = Changes(), []
    replicas = [Replica(name, [make_rule(rule) for rule in RULES], seen, changes) for name in ("u1", "u2")]
    for replica in replicas:
        await replica.start()
    file = directory / "rolter.toml"
    # A client that stops in the middle of its head or body is waited for no longer than this.
    file.write_text(configuration({"timeouts": {"client_head_secs": 5, "client_body_secs": 5},
                                   "cooldown": {"base_secs": 0}},
                                  {replica.name: replica.port for replica in replicas}, free_port()))
    gateway = await asyncio.to_thread(Gateway, options.rolter, file)
    try:
        await storm(gateway.port, options.requests // 5, seed=1)  # buffers, pools and indexes fill
        faults = await settled(gateway.port, gateway.pid, 1 << 20)
        before, memory = descriptors(gateway.pid), resident_mb(gateway.pid)
        outcomes = await storm(gateway.port, options.requests, seed=2)
        faults += await settled(gateway.port, gateway.pid, before + 4)
        grown = resident_mb(gateway.pid) - memory
        print(f"{options.requests} requests: {outcomes}; {len(seen)} reached a replica; "
              f"memory {memory:.1f} MB, {grown:+.1f}")
        if grown > options.growth_mb and not options.ignore_memory:
            faults.append(f"memory grew by {grown:.1f} MB")
        if not outcomes.get("200 clean"):
            faults.append("no request of a patient client was answered")
        if gateway.process.poll() is not None:
            faults.append(f"the gateway died: {gateway.log_text()[-2000:]}")
    finally:
        code = await asyncio.to_thread(gateway.stop)
        for replica in replicas:
            await replica.kill()
    return faults + ([] if code == 0 else [f"exit code {code}: {gateway.log_text()[-2000:]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--growth-mb", type=float, default=8)
    parser.add_argument("--ignore-memory", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolter-storm-") as directory:
        faults = asyncio.run(run(options, Path(directory)))
    print("\n".join(faults) or "nothing was left behind")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
