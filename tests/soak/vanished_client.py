#!/usr/bin/env python3
"""Clients that vanish: no FIN, no RST, no packet any more. Their replicas are freed all the same.

Two clients in a network namespace of their own hold streams, one on which nothing comes and one on which
something always comes. Then their end of the link goes away. The kernel's keep-alive probes find the
first and its limit on unacknowledged data the second, each within 75 s, and the gateway leaves both
replicas. Needs the right to make network namespaces, without which nothing is tested, as it says then.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scenarios"), str(HERE.parent / "support")]

from abort_storm import in_flight  # noqa: E402
from processes import Gateway, free_port  # noqa: E402
from scenario.gateway import configuration  # noqa: E402
from scenario.replica import Replica, make_rule  # noqa: E402
from scenario.wire import Changes  # noqa: E402
from soak_report import write  # noqa: E402

HERE_ADDRESS, THERE_ADDRESS = "10.77.0.1", "10.77.0.2"
MOST_SECONDS = 75
RULES = [
    {"path": "/v1/completions", "do": [{"head": "stream"}, {"events": ["a"]}, {"hang": 300}]},
    {"path": "/v1/chat/completions", "do": [{"head": "stream"}, {"repeat": {"times": 3000, "do": [
        {"events": ["a"]}, {"pause": 0.1}]}}]},
]
CLIENT = """
import socket, sys, time
held = []
for path in ("/v1/completions", "/v1/chat/completions"):
    body = b'{"model":"m","prompt":"x","messages":[],"stream":true}'
    one = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    one.sendall(b"POST %s HTTP/1.1\\r\\nHost: h\\r\\nContent-Type: application/json\\r\\n"
                b"Content-Length: %d\\r\\n\\r\\n%s" % (path.encode(), len(body), body))
    while b"data:" not in one.recv(4096):
        pass
    held.append(one)
print("held", flush=True)
while True:
    for one in held:
        one.setblocking(False)
        try:
            one.recv(65536)
        except BlockingIOError:
            pass
    time.sleep(0.05)
"""


class There:
    """A network namespace at the other end of a link."""

    def __init__(self):
        # Lives as long as this process; its namespace with it.
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        self._inside = ["nsenter", "--target", str(self.holder.pid), "--net"]
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "here", "type", "veth", "peer", "name", "there")
        run("ip", "link", "set", "there", "netns", str(self.holder.pid))
        run("ip", "addr", "add", f"{HERE_ADDRESS}/24", "dev", "here")
        run("ip", "link", "set", "here", "up")
        self.run("ip", "addr", "add", f"{THERE_ADDRESS}/24", "dev", "there")
        self.run("ip", "link", "set", "there", "up")

    def run(self, *words: str) -> None:
        run(*self._inside, *words)

    def start(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen([*self._inside, *words], stdout=subprocess.PIPE, text=True)


def run(*words: str) -> None:
    subprocess.run(words, check=True)


async def play(options: argparse.Namespace, directory: Path, there: There) -> list[str]:
    seen, changes = [], Changes()
    replica = Replica("u1", [make_rule(rule) for rule in RULES], seen, changes)
    await replica.start()
    file = directory / "rolter.toml"
    file.write_text(configuration({"server": {"host": HERE_ADDRESS}}, {"u1": replica.port}, free_port()),
                    encoding="utf-8")
    gateway = await asyncio.to_thread(Gateway, options.rolter, file)
    client = there.start(sys.executable, "-c", CLIENT, HERE_ADDRESS, str(gateway.port))
    try:
        if await asyncio.to_thread(client.stdout.readline) != "held\n":
            return ["the clients got no streams"]
        there.run("ip", "link", "set", "there", "down")
        vanished_at = time.monotonic()
        await changes.wait_for(lambda: all(one.gone_at for one in seen), MOST_SECONDS)
        left = [one.gone_at - vanished_at if one.gone_at else None for one in seen]
        gateway_answers = await in_flight(gateway.port, HERE_ADDRESS)
    finally:
        client.kill()
        there.holder.kill()
        await asyncio.to_thread(gateway.stop)
        await replica.kill()
    if len(left) != 2 or None in left:
        return [f"replicas not left within {MOST_SECONDS} s: {left}"]
    figures = (f"Left after the clients vanished: the silent stream's replica after {left[0]:.1f} s, the other's "
               f"after {left[1]:.1f} s")
    print(figures)
    if any(gateway_answers):
        return [f"in flight at the end: {gateway_answers}"]
    write(options.report, "vanished_client", figures + ".")
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rolter", required=True)
    parser.add_argument("--report", type=Path, help="the document whose section is to be written anew")
    options = parser.parse_args()
    if os.environ.get("ROLTER_OWN_NETWORK") != "1":
        probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
        if probe.returncode:
            print(f"not tested: {probe.stderr.strip()}")
            return 0
        os.environ["ROLTER_OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
    with tempfile.TemporaryDirectory(prefix="rolter-vanish-") as directory:
        faults = asyncio.run(play(options, Path(directory), There()))
    print("\n".join(faults) or "nobody is held for clients that are gone")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
