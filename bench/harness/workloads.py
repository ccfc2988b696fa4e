"""What is measured. Each workload gives one flat table of figures for one gateway."""

import json
import re
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import machine
from harness.gateways import KEY, environment

CHUNKS = 200  # of a stream


@dataclass(frozen=True)
class Bench:
    """The programs that make load, and for how long."""

    programs: Path  # holds load and fake_upstream
    direct_port: int  # of one upstream
    seconds: float
    idle_streams: tuple[int, ...]
    wrk: str | None

    def load(self, mode: str, port: int, **options) -> dict:
        run = subprocess.run(self._load_command(mode, port, options), capture_output=True, text=True,
                             check=True)
        return json.loads(run.stdout.splitlines()[-1])

    def _load_command(self, mode: str, port: int, options: dict) -> list[str]:
        command = ["taskset", "-c", machine.LOAD_CORE, str(self.programs / "load"), mode,
                   "--port", str(port), "--key", KEY]
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            command += [flag] if value is True else [flag, str(value)]
        return command

    def saturate(self, port: int, seconds: float) -> dict:
        """wrk where it is installed: a generator that is not ours. It sees wrong statuses only; what
        the answers hold is checked by verify()."""
        if self.wrk is None:
            return self.load("closed", port, seconds=seconds)
        return run_wrk(self.wrk, "chat.lua", port, 64, seconds, environment())

    def open_idle(self, port: int, streams: int, hold: float) -> subprocess.Popen:
        options = {"connections": streams, "seconds": hold}
        return subprocess.Popen(self._load_command("idle", port, options), stdout=subprocess.PIPE, text=True)


def run_wrk(wrk: str, script: str, port: int, connections: int, seconds: float,
            variables: dict[str, str]) -> dict:
    """Load from the load core by a script of this folder, and what that says of it."""
    run = subprocess.run(
        ["taskset", "-c", machine.LOAD_CORE, wrk, "-t1", f"-c{connections}",
         f"-d{max(1, round(seconds))}s", "-s", str(Path(__file__).with_name(script)),
         f"http://127.0.0.1:{port}"],
        capture_output=True, text=True, check=True, env=variables)
    return json.loads(re.search(r"JSON (\{.*\})", run.stdout).group(1))


@contextmanager
def upstreams(programs: Path, ports: list[int]):
    """fake_upstream on the ports, while the context lasts."""
    process = subprocess.Popen(
        ["taskset", "-c", machine.LOAD_CORE, str(programs / "fake_upstream"), ",".join(map(str, ports))],
        stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("fake_upstream did not start")
        yield
    finally:
        process.kill()
        process.communicate()


def verify(bench: Bench, port: int) -> None:
    """Every answer must be the one that is due, or nothing is worth measuring."""
    for options in ({}, {"stream": True, "chunks": 20}, {"body_bytes": 200_000, "conversations": 8}):
        result = bench.load("closed", port, connections=16, seconds=0.3, **options)
        if result["wrong"] or not result["right"]:
            raise RuntimeError(f"wrong answers with {options}: {result}")


def _measured(pid: int, unit: str, make_load) -> dict:
    """Runs a load and puts the CPU time it cost beside its result, per `unit` of it."""
    before, started = machine.cpu_seconds(pid), time.monotonic()
    result = make_load()
    used, took = machine.cpu_seconds(pid) - before, time.monotonic() - started
    done = result[unit]
    return {
        "per_second": done / result["seconds"],
        "cpu_us": used * 1e6 / done if done else None,
        "core_use": used / took,
        "wrong": result["wrong"],
        "p50_us": result["latency_p50_us"],
        "p99_us": result["latency_p99_us"],
    }


def saturation(bench: Bench, pid: int, port: int) -> dict:
    bench.saturate(port, 1)  # warm
    return _measured(pid, "right", lambda: bench.saturate(port, bench.seconds))


def half_load(bench: Bench, pid: int, port: int, saturated: float) -> dict:
    """Latency added at half of the gateway's own saturation, against the bare upstream at the same
    rate right after it."""
    rate = max(10, saturated / 2)
    row = _measured(pid, "right", lambda: bench.load("rate", port, rate=rate, seconds=bench.seconds))
    direct = bench.load("rate", bench.direct_port, rate=rate, seconds=max(0.3, bench.seconds / 2))
    if row["p50_us"] is not None and direct["latency_p50_us"] is not None:
        row["added_p50_us"] = row["p50_us"] - direct["latency_p50_us"]
        row["added_p99_us"] = row["p99_us"] - direct["latency_p99_us"]
    return row


def stream_fast(bench: Bench, pid: int, port: int) -> dict:
    return _measured(pid, "chunks", lambda: bench.load(
        "closed", port, stream=True, chunks=CHUNKS, seconds=bench.seconds))


def stream_paced(bench: Bench, pid: int, port: int) -> dict:
    """64 streams of 50 chunks a second: one wake-up per chunk, the cost per token people see."""
    return _measured(pid, "chunks", lambda: bench.load(
        "closed", port, stream=True, chunks=CHUNKS, pace_us=20_000, seconds=bench.seconds))


def big_bodies(bench: Bench, pid: int, port: int) -> dict:
    row = _measured(pid, "right", lambda: bench.load(
        "closed", port, connections=8, conversations=8, body_bytes=1_000_000, seconds=bench.seconds))
    base = machine.resident_kb(pid)
    machine.reset_peak(pid)
    bench.load("closed", port, connections=64, conversations=8, body_bytes=1_000_000,
               seconds=bench.seconds / 2)
    row["rss_mb"] = base / 1024
    row["peak_rss_mb"] = machine.peak_resident_kb(pid) / 1024
    return row


def idle_streams(bench: Bench, pid: int, port: int) -> dict:
    row = {}
    for streams in bench.idle_streams:
        before = machine.resident_kb(pid)
        process = bench.open_idle(port, streams, hold=1.5)
        opened = process.stdout.readline().split()  # "open N wrong M"
        time.sleep(0.7)
        grown = machine.resident_kb(pid) - before
        process.wait()
        row[f"kb_per_stream_{streams}"] = grown / streams
        row["wrong"] = row.get("wrong", 0) + (streams - int(opened[1]) if opened else streams)
        time.sleep(0.3)
    return row
