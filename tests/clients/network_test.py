"""Addresses, proxies and balancers around the gateway."""

import collections
import concurrent.futures
import contextlib
import json
import socket
import threading
import time
import urllib.request
from http.server import ThreadingHTTPServer

import pytest
from http_replica import ReplicaHandler
from processes import Gateway, NotReady, free_port

REPLY = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'


class Handler(ReplicaHandler):
    def do_POST(self):
        self.read_body()
        self.server.hosts.append(self.headers["Host"])
        self.server.barrier.wait()
        self.answer(REPLY)


class Replica(ThreadingHTTPServer):
    request_queue_size = 256

    def __init__(self, host: str = "127.0.0.1", barrier=None):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, 0), Handler)
        self.hosts = []
        self.barrier = barrier or threading.Barrier(1)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


def timers(port: int) -> list[tuple[int, float]]:
    """Of every established connection that has this port at either end: which timer of the kernel's
    runs (2 is that of keep-alive), and for how many seconds more."""
    found = []
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            _, local, remote, state, _, timer = line.split()[:6]
            if state == "01" and f"{port:04X}" in (local.split(":")[1], remote.split(":")[1]):
                kind, left = timer.split(":")
                found.append((int(kind), int(left, 16) / 100))
    return found


def configuration(replicas: dict[str, str], strategy: str, host: str = "127.0.0.1") -> str:
    providers = "".join(f'[[providers]]\nname = "{name}"\napi_base = "{url}"\n' for name, url in replicas.items())
    targets = "".join(f'[[routes.targets]]\nprovider = "{name}"\nmodel = "m"\n' for name in replicas)
    return (f'[server]\nhost = "{host}"\nloops = 2\n[health]\nenabled = false\n[admin]\nport = {free_port()}\n'
            f'{providers}[[routes]]\nmodel = "m"\nstrategy = "{strategy}"\n{targets}')


def ask(url: str, number: int, session: str = "") -> str:
    """The provider that answered."""
    body = {"model": "m", "messages": [{"role": "user", "content": f"{number}: a question"}]}
    fields = {"Content-Type": "application/json", **({"X-Session-ID": session} if session else {})}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), fields)
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.read() == REPLY
        return answer.headers["x-rolter-provider"]


def test_ipv6_on_both_sides(rolter, tmp_path):
    try:
        replica = Replica("::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    config = tmp_path / "rolter.toml"
    config.write_text(configuration({"a": f"http://[::1]:{replica.server_port}"}, "cache_aware", "::"))
    with Gateway(rolter, config) as gateway:
        assert ask(f"http://[::1]:{gateway.port}", 1) == "a"
    replica.stop()
    assert replica.hosts == [f"[::1]:{replica.server_port}"]


def test_proxies_of_the_environment_are_not_for_replicas(rolter, tmp_path):
    replica = Replica()
    config = tmp_path / "rolter.toml"
    config.write_text(configuration({"a": f"http://127.0.0.1:{replica.server_port}"}, "cache_aware"))
    nobody = f"http://127.0.0.1:{free_port()}"
    proxies = [f"{name}={nobody}" for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY")]
    with Gateway(rolter, config, launcher=("env", *proxies, "NO_PROXY=")) as gateway:
        assert ask(gateway.url, 1) == "a"
    replica.stop()


def test_a_port_that_is_taken_is_named(rolter, tmp_path):
    replica = Replica()
    config = tmp_path / "rolter.toml"
    config.write_text(configuration({"a": f"http://127.0.0.1:{replica.server_port}"}, "cache_aware"))
    with pytest.raises(NotReady, match=f"cannot listen on 127.0.0.1:{replica.server_port}"):
        Gateway(rolter, config, ("--port", str(replica.server_port)))
    replica.stop()


def test_peers_that_vanish_are_found_by_probes(rolter, tmp_path):
    """Packets that are dropped need a network of their own; that the kernel probes does not."""
    barrier = threading.Barrier(2)
    replica = Replica(barrier=barrier)
    config = tmp_path / "rolter.toml"
    config.write_text(configuration({"a": f"http://127.0.0.1:{replica.server_port}"}, "cache_aware"))
    with Gateway(rolter, config) as gateway, concurrent.futures.ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, gateway.url, 1)
        while not replica.hosts:  # the request is at the replica, and both connections are silent
            time.sleep(0.01)
        probed = {port: [left for kind, left in timers(port) if kind == 2]
                  for port in (gateway.port, replica.server_port)}
        barrier.wait()
        assert asking.result(20) == "a"
    replica.stop()
    for port, seconds in probed.items():
        assert seconds and min(seconds) <= 31, (port, probed)


@contextlib.contextmanager
def side_by_side(rolter, folder, gateways: int, replicas: list[Replica], strategy: str):
    """Gateways that know nothing of each other, in front of the same replicas."""
    names = {f"u{number}": f"http://127.0.0.1:{replica.server_port}" for number, replica in enumerate(replicas)}
    with contextlib.ExitStack() as stack:
        running = []
        for number in range(gateways):
            config = folder / f"{number}.toml"
            config.write_text(configuration(names, strategy))
            running.append(stack.enter_context(Gateway(rolter, config)))
        yield running


@pytest.mark.parametrize("strategy", ["least_load", "cache_aware", "power_of_two"])
def test_four_gateways_do_not_choose_the_same_idle_replica(rolter, tmp_path, strategy):
    """Each sees eight idle replicas at the same moment and has one request for each of them. Equal
    loads are drawn by lot, so that with 32 requests no replica gets more than a few beyond its four."""
    barrier = threading.Barrier(32)  # nobody is answered before all have been sent
    replicas = [Replica(barrier=barrier) for _ in range(8)]
    with side_by_side(rolter, tmp_path, 4, replicas, strategy) as gateways, \
            concurrent.futures.ThreadPoolExecutor(32) as pool:
        served = collections.Counter(pool.map(lambda n: ask(gateways[n % 4].url, n), range(32)))
    for replica in replicas:
        replica.stop()
    assert max(served.values()) <= (4 if strategy != "power_of_two" else 8) + 4, served
    assert len(served) >= 6, served


def test_two_gateways_agree_on_sessions_by_consistent_hash(rolter, tmp_path):
    replicas = [Replica() for _ in range(4)]
    with side_by_side(rolter, tmp_path, 2, replicas, "consistent_hash") as gateways:
        chosen = [{ask(gateway.url, n, f"session-{n}") for gateway in gateways} for n in range(40)]
    for replica in replicas:
        replica.stop()
    assert all(len(one) == 1 for one in chosen)
    assert len(set.union(*chosen)) == 4
