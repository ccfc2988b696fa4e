"""Starts the programs under test and knows when they are ready. Standard library only."""

import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

READY_SECONDS = 20  # sanitizer builds on a busy machine start slowly
_LISTENING = re.compile(r"listening on https?://([^\s\"\\]+):(\d+)")


class NotReady(RuntimeError):
    """A program ended, or said nothing, before it was ready; holds the end of its log."""


def free_port() -> int:
    """A port nobody listens on now, below the range the kernel hands out by itself."""
    for port in range(10_000 + time.monotonic_ns() % 10_000, 32_768):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise NotReady("no free port")


class Program:
    """A child process whose standard error is kept. Use as a context manager: leaving it ends the
    process, first politely."""

    def __init__(self, command: list[str], cwd: Path | None = None, pass_fds: tuple[int, ...] = (),
                 stdin: int = subprocess.DEVNULL):
        self.command = command
        self.log: list[str] = []
        self._changed = threading.Condition()
        self._closed = False
        self.process = subprocess.Popen(
            command, cwd=cwd, pass_fds=pass_fds, stdin=stdin, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, errors="replace")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            with self._changed:
                self.log.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def pid(self) -> int:
        return self.process.pid

    def log_text(self) -> str:
        with self._changed:
            return "\n".join(self.log)

    def wait_for_line(self, pattern: re.Pattern, seconds: float = READY_SECONDS) -> re.Match:
        deadline = time.monotonic() + seconds
        position = 0
        with self._changed:
            while True:
                for line in self.log[position:]:
                    match = pattern.search(line)
                    if match:
                        return match
                position = len(self.log)
                left = deadline - time.monotonic()
                if self._closed or left <= 0:
                    break
                self._changed.wait(left)
        raise NotReady(f"{' '.join(self.command)} was not ready:\n" + "\n".join(self.log[-30:]))

    def stop(self, seconds: float = 10) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
        code = self.process.wait()
        self._reader.join(5)
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *exception) -> None:
        self.stop()


class Gateway(Program):
    """`rolter serve`, listening when the constructor returns: on any free port, or with options of
    the caller's. `launcher` goes before the command, as env(1) does."""

    def __init__(self, rolter: str, config: Path, options: tuple[str, ...] = ("--port", "0"),
                 launcher: tuple[str, ...] = ()):
        super().__init__([*launcher, rolter, "serve", "-c", str(config), *options])
        try:
            self.port = int(self.wait_for_line(_LISTENING).group(2))
        except NotReady:
            self.stop()
            raise
        self.url = f"http://127.0.0.1:{self.port}"


class SimEngine(Program):
    """`rolter sim-engine`, accepting connections when the constructor returns."""

    def __init__(self, rolter: str, model: str, *options: str, port: int = 0):
        self.port = port or free_port()
        super().__init__([rolter, "sim-engine", "--port", str(self.port), "--model", model, *options])
        deadline = time.monotonic() + READY_SECONDS
        while not self._accepts():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise NotReady(f"{' '.join(self.command)} was not ready:\n{self.log_text()}")
            time.sleep(0.02)

    def _accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
