#!/usr/bin/env python3
"""Hundreds of reloads under load: no request is dropped, and none sees half of two configurations.

Replicas come and go with every reload, one always stays. Clients send requests without a pause and
read streams; every answer must be whole, come from the replica that the gateway names, and be the
answer of that replica. Afterwards every reload has been applied, every in-flight count is 0, and
descriptors and memory are where they were.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from abort_storm import descriptors, metrics, resident_mb, settled  # noqa: E402
from processes import Gateway, free_port  # noqa: E402
from scenario.client import REQUEST_DEFAULTS, request_bytes  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.replica import Replica, make_rule  # noqa: E402
from scenario.values import chat_body  # noqa: E402
from scenario.wire import Changes, Message, Reader  # noqa: E402
from soak_report import write  # noqa: E402

NAMES = ("u1", "u2", "u3")
WORKERS = 16
RELOAD_SECONDS = 10
PAUSE_SECONDS = 0.03  # between reloads, for requests to meet each configuration


def rules() -> list:
    """Each replica's answer names it; every second one is a stream that lasts over some reloads."""
    made = []
    for name in NAMES:
        made.append({"name": name, "path": "/v1/completions",
                     "do": [{"reply": {"body": f'{{"replica":"{name}"}}',
                                       "headers": ["Content-Type: application/json"]}}]})
        made.append({"name": name, "do": [{"head": "stream"}, {"repeat": {"times": 5, "do": [
            {"events": [f"from {name}"]}, {"pause": 0.02}]}}, {"end": "done"}]})
    return [make_rule(rule) for rule in made]


class Client:
    """Asks for one answer after another on one connection."""

    def __init__(self, port: int, number: int):
        self.port, self.number = port, number
        self.asked = 0
        self.faults: list[str] = []

    async def run(self, over: asyncio.Event) -> None:
        writer = None
        while not over.is_set():
            if writer is None:
                stream, writer = await asyncio.open_connection("127.0.0.1", self.port)
                reader = Reader(stream, Changes())
            message = await self._ask(reader, writer)
            if message.end != "clean" or "close" in message.values("connection"):
                writer.close()
                writer = None
        if writer is not None:
            writer.close()

    async def _ask(self, reader: Reader, writer: asyncio.StreamWriter) -> Message:
        self.asked += 1
        text = f"client {self.number} asks for the {self.asked}th time"
        request = {**REQUEST_DEFAULTS, "body": chat_body(text, stream=True).decode()}
        if self.asked % 2:
            request |= {"path": "/v1/completions", "body": f'{{"model":"m","prompt":"{text}"}}'}
        writer.write(request_bytes(request, self.port)[0])
        message = Message()
        async with asyncio.timeout(20):
            if await reader.read_head(message):
                await reader.read_body(message, is_response=True)
        provider = (message.values("x-rolter-provider") or ["none"])[0]
        whole = f'"{provider}"' if self.asked % 2 else f"from {provider}"
        if message.status != 200 or message.end != "clean" or whole.encode() not in message.body:
            self.faults.append(f"{message.status} {message.end or 'no answer'} from {provider}: "
                               f"{bytes(message.body)[:200]!r}")
        return message


async def reload_often(gateway: Gateway, file: Path, texts: list[str], times: int) -> list[str]:
    for number in range(1, times + 1):
        file.write_text(texts[number % len(texts)], encoding="utf-8")
        gateway.process.send_signal(signal.SIGHUP)
        latest = time.monotonic() + RELOAD_SECONDS
        while not any(f"configuration version {number + 1}" in line for line in gateway.log[-20:]):
            if time.monotonic() > latest:
                return [f"reload {number} was not applied:\n" + "\n".join(gateway.log[-10:])]
            await asyncio.sleep(0.002)
        await asyncio.sleep(PAUSE_SECONDS)
    return []


async def storm(gateway: Gateway, file: Path, texts: list[str], times: int) -> tuple[int, list[str]]:
    over = asyncio.Event()
    clients = [Client(gateway.port, number) for number in range(WORKERS)]
    running = [asyncio.create_task(client.run(over)) for client in clients]
    faults = await reload_often(gateway, file, texts, times)
    over.set()
    await asyncio.gather(*running)
    for client in clients:
        faults += client.faults[:3]
    return sum(client.asked for client in clients), faults


async def run(options: argparse.Namespace, directory: Path) -> list[str]:
    changes, seen = Changes(), []
    replicas = {name: Replica(name, rules(), seen, changes) for name in NAMES}
    for replica in replicas.values():
        await replica.start()
    ports, admin_port = {name: replica.port for name, replica in replicas.items()}, free_port()
    texts = [configuration({"replicas": chosen, "server": {"loops": 2},
                            "route": {"strategy": strategy}}, ports, admin_port)
             for chosen, strategy in ((["u1", "u2"], "cache_aware"), (["u2", "u3"], "round_robin"),
                                      (["u2"], "cache_aware"), (["u1", "u2", "u3"], "weighted"))]
    file = directory / "rolter.toml"
    file.write_text(texts[0], encoding="utf-8")
    gateway = await asyncio.to_thread(Gateway, options.rolter, file)
    try:
        await storm(gateway, file, texts, 0)  # one request each: buffers and pools fill
        before, memory = descriptors(gateway.pid), resident_mb(gateway.pid)
        started = time.monotonic()
        asked, faults = await storm(gateway, file, texts, options.reloads)
        seconds = time.monotonic() - started
        faults += await settled(gateway.port, gateway.pid, before + 8)
        grown = resident_mb(gateway.pid) - memory
        figures = (f"{options.reloads} reloads in {seconds:.1f} s under {asked} requests; "
                   f"memory {memory:.1f} MB, {grown:+.1f}; descriptors {before} before, "
                   f"{descriptors(gateway.pid)} after")
        print(figures)
        wanted = f'rolter_config_reloads_total{{result="applied"}} {options.reloads}'
        if wanted not in (await metrics(gateway.port)).splitlines():
            faults.append(f"the metrics lack: {wanted}")
        if grown > options.growth_mb and not options.ignore_memory:
            faults.append(f"memory grew by {grown:.1f} MB")
        if asked < WORKERS * 4:
            faults.append(f"only {asked} requests were sent")
    finally:
        code = await asyncio.to_thread(gateway.stop)
        for replica in replicas.values():
            await replica.kill()
    if not faults and code == 0:
        write(options.report, "reload_storm", figures + ".")
    return faults + ([] if code == 0 else [f"exit code {code}: {gateway.log_text()[-2000:]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--reloads", type=int, default=500)
    parser.add_argument("--growth-mb", type=float, default=16)
    parser.add_argument("--ignore-memory", action="store_true")
    parser.add_argument("--report", type=Path, help="the document whose section is to be written anew")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolter-reloads-") as directory:
        faults = asyncio.run(run(options, Path(directory)))
    print("\n".join(faults) or "nothing was dropped or mixed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
