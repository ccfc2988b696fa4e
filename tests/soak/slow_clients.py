#!/usr/bin/env python3
"""Clients that hold on to what they get, and others that must not notice.

So many connections send their head a byte a second, as many hold a stream on which nothing comes, and
one asks for 200 MB that it never reads (holders.py). Meanwhile others ask ordinary questions: their
99th percentile must stay within twice of what it was undisturbed, and the gateway's memory within what
so many connections may take (docs/operations/soak.md).
"""

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from abort_storm import in_flight, resident_mb  # noqa: E402
from processes import Gateway, Program, free_port  # noqa: E402
from scenario.client import REQUEST_DEFAULTS, request_bytes  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.replica import Replica  # noqa: E402
from scenario.values import chat_body  # noqa: E402
from scenario.wire import Changes, Message, Reader  # noqa: E402
from soak_report import write  # noqa: E402

KB_PER_CONNECTION = 40  # of the gateway's, both sides of it and all
ASKERS = 4  # connections with ordinary questions, so that every loop of the gateway has some
HELD = """
[[providers]]
name = "holder"
api_base = "http://127.0.0.1:{port}"
[[routes]]
model = "held"
[[routes.targets]]
provider = "holder"
model = "held"
"""


async def ordinary(port: int, seconds: float) -> list[float]:
    """How long each of many requests takes, one after the other."""
    times = []
    end = time.monotonic() + seconds
    reading, writer = await asyncio.open_connection("127.0.0.1", port)
    reader = Reader(reading, Changes())
    request = request_bytes({**REQUEST_DEFAULTS, "body": chat_body("an ordinary question", False).decode()}, port)[0]
    while time.monotonic() < end:
        started = time.monotonic()
        writer.write(request)
        message = Message()
        async with asyncio.timeout(20):
            await reader.read_head(message)
            await reader.read_body(message, is_response=True)
        if message.status != 200 or message.end != "clean":
            raise RuntimeError(f"an ordinary request ended {message.status} {message.end}")
        times.append(time.monotonic() - started)
        await asyncio.sleep(0.005)
    writer.close()
    return times


async def percentile_99(port: int, seconds: float) -> float:
    times = sum(await asyncio.gather(*(ordinary(port, seconds) for _ in range(ASKERS))), [])
    return sorted(times)[int(len(times) * 0.99)]


async def play(options: argparse.Namespace, gateway: Gateway, holders: Program) -> list[str]:
    await percentile_99(gateway.port, 1)  # pools and buffers fill
    undisturbed = await percentile_99(gateway.port, options.seconds)
    memory = resident_mb(gateway.pid)
    holders.tell()
    await asyncio.to_thread(holders.wait_for_line, re.compile(rf"^held {options.clients}$"), 60)
    disturbed = await percentile_99(gateway.port, options.seconds)
    grown = resident_mb(gateway.pid) - memory
    figures = (f"{options.clients} slow heads, {options.clients} idle streams, one that never reads: "
               f"p99 {undisturbed * 1000:.2f} ms before, {disturbed * 1000:.2f} ms meanwhile "
               f"({disturbed / undisturbed:.2f} times); memory {grown:+.1f} MB of at most "
               f"{options.clients * 2 * KB_PER_CONNECTION / 1024:.0f}")
    print(figures)
    faults = []
    if disturbed > max(2 * undisturbed, options.floor_ms / 1000):
        faults.append("ordinary requests were disturbed")
    if grown > options.clients * 2 * KB_PER_CONNECTION / 1024 and not options.ignore_memory:
        faults.append(f"memory grew by {grown:.1f} MB")
    if not faults:
        write(options.report, "slow_clients", figures + ".")
    return faults


class Holders(Program):
    def __init__(self, gateway_port: int, replica_port: int, clients: int):
        super().__init__([sys.executable, "-B", str(HERE / "holders.py"), str(gateway_port),
                          str(replica_port), str(clients)], stdin=subprocess.PIPE)
        self.wait_for_line(re.compile("^ready$"))

    def tell(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def stop(self, seconds: float = 10) -> int:
        self.process.stdin.close()
        self.process.wait(seconds)
        return super().stop(seconds)


async def run(options: argparse.Namespace, directory: Path) -> list[str]:
    replica = Replica("u1", [], [], Changes())
    await replica.start()
    file, held_port = directory / "rolter.toml", free_port()
    file.write_text(configuration({"timeouts": {"client_head_secs": 120}, "server": {"loops": 2}},
                                  {"u1": replica.port}, free_port()) + HELD.format(port=held_port), encoding="utf-8")
    gateway = await asyncio.to_thread(Gateway, options.rolter, file)
    holders = await asyncio.to_thread(Holders, gateway.port, held_port, options.clients)
    try:
        faults = await play(options, gateway, holders)
        if code := await asyncio.to_thread(holders.stop):
            faults.append(f"the holders ended with {code}: {holders.log_text()[-1000:]}")
        for _ in range(100):
            counts = await in_flight(gateway.port)
            if not any(counts):
                break
            await asyncio.sleep(0.1)
        else:
            faults.append(f"in flight at the end: {counts}")
    finally:
        code = await asyncio.to_thread(gateway.stop)
        holders.process.kill()
        await replica.kill()
    return faults + ([] if code == 0 else [f"exit code {code}: {gateway.log_text()[-2000:]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--seconds", type=float, default=5, help="of ordinary requests, twice")
    parser.add_argument("--clients", type=int, default=1000, help="slow heads, and as many idle streams")
    parser.add_argument("--floor-ms", type=float, default=0, help="what always passes, for busy machines")
    parser.add_argument("--ignore-memory", action="store_true")
    parser.add_argument("--report", type=Path, help="the document whose section is to be written anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolter-slow-") as directory:
        faults = asyncio.run(run(options, Path(directory)))
    print("\n".join(faults) or "nobody else noticed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
