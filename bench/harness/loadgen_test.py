"""The load generator counts as right what fake_upstream sends, and nothing else."""

import json
import os
import socket
import subprocess
import sys
import threading
import unittest
from contextlib import suppress
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]),
                str(Path(__file__).resolve().parents[2] / "tests" / "support")]

from harness.workloads import upstreams  # noqa: E402
from processes import free_port  # noqa: E402

PROGRAMS = Path(os.environ["LOADGEN"])


def load(port: int, *options: str) -> dict:
    run = subprocess.run([PROGRAMS / "load", *options, "--port", str(port), "--connections", "4",
                          "--seconds", "0.3"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def serve(answer: bytes) -> int:
    """A server that sends the same bytes to whoever sends anything; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer_all(connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            while connection.recv(1 << 16):
                connection.sendall(answer)

    def accept_all() -> None:
        while True:
            threading.Thread(target=answer_all, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept_all, daemon=True).start()
    return listener.getsockname()[1]


class LoadGenerator(unittest.TestCase):
    def test_each_mode_finds_the_canned_answers_right(self):
        port = free_port()
        with upstreams(PROGRAMS, [port]):
            for options in (["closed"], ["rate", "--rate", "200"], ["closed", "--body-bytes", "300000"],
                            ["closed", "--stream", "--chunks", "20"],
                            ["closed", "--stream", "--chunks", "5", "--pace-us", "1000"]):
                result = load(port, *options)
                self.assertGreater(result["right"], 0, options)
                self.assertEqual(result["wrong"], 0, options)

    def test_idle_streams_are_announced_when_all_are_open(self):
        port = free_port()
        with upstreams(PROGRAMS, [port]):
            run = subprocess.run([PROGRAMS / "load", "idle", "--port", str(port), "--connections", "30",
                                  "--seconds", "0.1"], capture_output=True, text=True, check=True)
        self.assertEqual(run.stdout.splitlines()[0], "open 30 wrong 0")

    def test_another_body_another_status_and_a_cut_are_wrong(self):
        for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
                       b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
                       b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
                       b"not HTTP at all\r\n\r\n"):
            result = load(serve(answer), "closed")
            self.assertEqual(result["right"], 0, answer)
            self.assertGreater(result["wrong"], 0, answer)


if __name__ == "__main__":
    unittest.main()
