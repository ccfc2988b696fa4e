"""Six simulated engines behind relays, and the configurations that name them."""

import re
import signal
import subprocess
import sys
from pathlib import Path

from processes import Program, SimEngine, free_port

HERE = Path(__file__).resolve().parent
MODEL = "soak-model"
ENGINES = 6
SPEED = ("--prefill-tps", "40000", "--decode-tps", "150", "--max-running", "64", "--blocks", "4000",
         "--seed", "7")


class Relays(Program):
    """relays.py, listening when the constructor returns."""

    def __init__(self, pairs: dict[int, int]):
        super().__init__([sys.executable, "-B", str(HERE / "relays.py"),
                          *(f"{listen}:{to}" for listen, to in pairs.items())], stdin=subprocess.PIPE)
        self.wait_for_line(re.compile("^ready$"))

    def tell(self, *words) -> None:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def stop(self, seconds: float = 10) -> int:
        self.process.stdin.close()
        return super().stop(seconds)


class Engine:
    """An engine that can be killed, stopped and started again; its ports stay."""

    def __init__(self, rolter: str, name: str, taken: set[int]):
        self.name = name
        self._rolter = rolter
        self.port, self.events, self.replay = (_port(taken) for _ in range(3))
        # What the gateway connects to.
        self.near_port, self.near_events, self.near_replay = (_port(taken) for _ in range(3))
        self.process: SimEngine | None = None

    def relays(self) -> dict[int, int]:
        return {self.near_port: self.port, self.near_events: self.events, self.near_replay: self.replay}

    def start(self) -> None:
        self.process = SimEngine(
            self._rolter, MODEL, *SPEED, "--kv-events", f"tcp://127.0.0.1:{self.events}",
            "--kv-replay", f"tcp://127.0.0.1:{self.replay}", port=self.port)

    def signal(self, number: int) -> None:
        self.process.process.send_signal(number)

    def end(self) -> None:
        """Whatever state it is in."""
        if self.process is not None:
            self.signal(signal.SIGKILL)
            self.signal(signal.SIGCONT)
            self.process.stop()
            self.process = None


class Fleet:
    def __init__(self, rolter: str):
        taken: set[int] = set()
        self.engines = [Engine(rolter, f"u{number + 1}", taken) for number in range(ENGINES)]
        self.admin_port = _port(taken)
        for engine in self.engines:
            engine.start()
        self.relays = Relays({near: far for engine in self.engines
                              for near, far in engine.relays().items()})

    def end(self) -> None:
        for engine in self.engines:
            engine.end()
        self.relays.stop()

    def configuration(self, number: int) -> str:
        """The number-th of a row: strategies change, replicas go and come back."""
        away = {} if number % 3 == 0 else {f"u{number % ENGINES + 1}"}
        here = [engine for engine in self.engines if engine.name not in away]
        strategy = ("cache_aware", "least_load", "round_robin", "power_of_two")[number % 4]
        targets = "".join(f'[[routes.targets]]\nprovider = "{engine.name}"\nmodel = "{MODEL}"\n'
                          for engine in here)
        bounds = "max_nodes = 3000\nmax_index_bytes = 2097152\n"  # full within minutes
        return (_COMMON + f"[admin]\nport = {self.admin_port}\n" + "".join(map(_provider, here))
                + f'[[routes]]\nmodel = "chat"\nstrategy = "{strategy}"\n{bounds}{targets}'
                + f'[[routes]]\nmodel = "ids"\nstrategy = "precise_cache_aware"\n{targets}'
                + f'[[routes]]\nmodel = "turns"\nstrategy = "pipeline"\nfallback = "chat"\n{bounds}{targets}')


def _provider(engine: Engine) -> str:
    return (f'[[providers]]\nname = "{engine.name}"\napi_base = "http://127.0.0.1:{engine.near_port}"\n'
            f'[providers.kv_events]\nendpoint = "tcp://127.0.0.1:{engine.near_events}"\n'
            f'replay_endpoint = "tcp://127.0.0.1:{engine.near_replay}"\nmax_blocks = 3000\n')


def _port(taken: set[int]) -> int:
    port = free_port()
    while port in taken:
        port = free_port()
    taken.add(port)
    return port


# Limits so short that each of them is met within minutes.
_COMMON = """
[server]
host = "127.0.0.1"
loops = 2
drain_secs = 10
[log]
level = "info"
format = "text"
access = false
[timeouts]
connect_secs = 2
request_secs = 8
heartbeat_secs = 1
idle_secs = 4

[retry]
max_retries = 3
budget = 0.5
[cooldown]
base_secs = 1
max_secs = 4
[health]
interval_secs = 2
timeout_secs = 1
fail_after = 2
[breaker]
enabled = true
open_secs = 2
[metrics_scrape]
enabled = true
interval_secs = 2
timeout_secs = 1
[queue]
timeout_secs = 5
"""
