#!/usr/bin/env python3
"""Clients that hold on to what they get, and others that must not notice.

So many connections send their head a byte at a time, as many hold a stream on which nothing comes,
and one asks for 200 MB that it never reads. Meanwhile others ask ordinary questions: their 99th
percentile must stay within twice of what it was undisturbed (and at least within 50 ms), and the
gateway's memory within what so many connections may take.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from abort_storm import in_flight, resident_mb  # noqa: E402
from processes import Gateway, free_port  # noqa: E402
from scenario.client import REQUEST_DEFAULTS, request_bytes  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.replica import Replica, make_rule  # noqa: E402
from scenario.values import chat_body  # noqa: E402
from scenario.wire import Changes, Message, Reader  # noqa: E402

# A stream on which nothing comes, 200 MB as fast as they go, and the usual answer.
RULES = [
    {"path": "/v1/completions", "do": [{"head": "stream"}, {"events": ["a"]}, {"hang": 600}]},
    {"path": "/v1/responses", "do": [{"head": "stream"}, {"repeat": {"times": 200, "do": [
        {"chunk": {"repeat": "x", "times": 1_000_000}}]}}, {"end": "last-chunk"}]},
]
KB_PER_CONNECTION = 40  # of the gateway's, both sides of it and all
FLOOR_SECONDS = 0.05


def request(port: int, path: str, stream: bool) -> bytes:
    if path == "/v1/chat/completions":
        body = chat_body("an ordinary question", stream).decode()
    else:
        body = '{"model":"m","prompt":"x","input":"x","stream":true}'
    return request_bytes({**REQUEST_DEFAULTS, "path": path, "body": body}, port)[0]


async def ordinary(port: int, seconds: float) -> float:
    """The 99th percentile of the time that requests take, over so many seconds."""
    times = []
    end = time.monotonic() + seconds
    reading, writer = await asyncio.open_connection("127.0.0.1", port)
    reader = Reader(reading, Changes())
    while time.monotonic() < end:
        started = time.monotonic()
        writer.write(request(port, "/v1/chat/completions", stream=False))
        message = Message()
        async with asyncio.timeout(20):
            await reader.read_head(message)
            await reader.read_body(message, is_response=True)
        if message.status != 200 or message.end != "clean":
            raise RuntimeError(f"an ordinary request ended {message.status} {message.end}")
        times.append(time.monotonic() - started)
        await asyncio.sleep(0.005)
    writer.close()
    return sorted(times)[int(len(times) * 0.99)]


async def slow_head(port: int, over: asyncio.Event) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    for byte in request(port, "/v1/chat/completions", stream=False):
        if over.is_set() or writer.is_closing():
            break
        writer.write(bytes([byte]))
        await asyncio.sleep(1)
    writer.close()


async def idle_stream(port: int, over: asyncio.Event) -> None:
    reading, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(port, "/v1/completions", stream=True))
    await reading.readuntil(b"data:")
    await over.wait()
    writer.close()


async def never_reads(port: int, over: asyncio.Event) -> None:
    # A limit so small that the transport stops reading the socket at once.
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(request(port, "/v1/responses", stream=True))
    await over.wait()
    writer.transport.abort()


async def play(options: argparse.Namespace, gateway: Gateway, seen: list) -> list[str]:
    undisturbed = await ordinary(gateway.port, options.seconds)
    memory = resident_mb(gateway.pid)
    over = asyncio.Event()
    holders = []
    for start in range(0, options.clients, 50):
        for _ in range(min(50, options.clients - start)):
            holders.append(asyncio.create_task(slow_head(gateway.port, over)))
            holders.append(asyncio.create_task(idle_stream(gateway.port, over)))
        await asyncio.sleep(0.1)
    holders.append(asyncio.create_task(never_reads(gateway.port, over)))
    async with asyncio.timeout(60):
        while len([one for one in seen if b"/v1/completions" in one.message.head]) < options.clients:
            await asyncio.sleep(0.1)
    disturbed = await ordinary(gateway.port, options.seconds)
    grown = resident_mb(gateway.pid) - memory
    over.set()
    outcomes = await asyncio.gather(*holders, return_exceptions=True)
    print(f"{options.clients} slow heads, {options.clients} idle streams, one that never reads: "
          f"p99 {undisturbed * 1000:.1f} ms before, {disturbed * 1000:.1f} ms meanwhile; "
          f"memory {grown:+.1f} MB")
    faults = [f"a holder failed: {one!r}" for one in outcomes if isinstance(one, Exception)][:3]
    if disturbed > max(2 * undisturbed, FLOOR_SECONDS):
        faults.append("ordinary requests were disturbed")
    if grown > 16 + options.clients * 2 * KB_PER_CONNECTION / 1024 and not options.ignore_memory:
        faults.append(f"memory grew by {grown:.1f} MB")
    return faults


async def run(options: argparse.Namespace, directory: Path) -> list[str]:
    seen = []
    replica = Replica("u1", [make_rule(rule) for rule in RULES], seen, Changes())
    await replica.start()
    file = directory / "rolter.toml"
    file.write_text(configuration({"timeouts": {"client_head_secs": 120}, "server": {"loops": 2}},
                                  {"u1": replica.port}, free_port()), encoding="utf-8")
    gateway = await asyncio.to_thread(Gateway, options.rolter, file)
    try:
        faults = await play(options, gateway, seen)
        for _ in range(100):
            counts = await in_flight(gateway.port)
            if not any(counts):
                break
            await asyncio.sleep(0.1)
        else:
            faults.append(f"in flight at the end: {counts}")
    finally:
        code = await asyncio.to_thread(gateway.stop)
        await replica.kill()
    return faults + ([] if code == 0 else [f"exit code {code}: {gateway.log_text()[-2000:]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--seconds", type=float, default=5, help="of ordinary requests, twice")
    parser.add_argument("--clients", type=int, default=1000, help="slow heads, and as many idle streams")
    parser.add_argument("--ignore-memory", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolter-slow-") as directory:
        faults = asyncio.run(run(options, Path(directory)))
    print("\n".join(faults) or "nobody else noticed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
