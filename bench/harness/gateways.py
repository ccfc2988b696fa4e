"""The gateways that are compared, each with one worker and kept-alive upstream connections."""

import http.client
import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from harness import machine

MODEL = "m"
KEY = "sk-x"
START_SECONDS = 20
DESCRIPTORS = 20_000


@dataclass(frozen=True)
class Place:
    """Where one gateway runs: a directory of its own, its port, the upstreams' ports."""

    directory: Path
    port: int
    admin_port: int
    upstreams: list[int]


@dataclass(frozen=True)
class Gateway:
    name: str
    program: str  # what must be installed
    command: Callable[[Place], list[str]]
    cores: str = machine.GATEWAY_CORE


def nginx(name: str, http: str = "", location: str = "", log: str = "off") -> Gateway:
    def command(place: Place) -> list[str]:
        servers = " ".join(f"server 127.0.0.1:{port};" for port in place.upstreams)
        temporary = " ".join(f"{kind}_temp_path {place.directory}/{kind};" for kind in
                             ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        access = log.replace("LOG", f"{place.directory}/access.log")
        config = place.directory / "nginx.conf"
        config.write_text(f"""
worker_processes 1; daemon off; pid {place.directory}/nginx.pid;
error_log {place.directory}/error.log crit;
events {{ worker_connections 16384; }}
http {{
  access_log {access}; {temporary} {http}
  keepalive_requests 100000000; client_max_body_size 64m; client_body_buffer_size 16k;
  upstream replicas {{ {servers} keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{place.port} backlog=4096;
    location / {{
      proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; {location}
    }}
  }}
}}
""")
        return [machine.find_program("nginx"), "-c", str(config), "-e", f"{place.directory}/error.log"]

    return Gateway(name, "nginx", command)


def haproxy() -> Gateway:
    def command(place: Place) -> list[str]:
        servers = "\n".join(f" server s{port} 127.0.0.1:{port}" for port in place.upstreams)
        config = place.directory / "haproxy.cfg"
        # Without http-no-delay the first event of a stream waits 200 ms.
        config.write_text(f"""
global
 nbthread 1
 maxconn 9000
defaults
 mode http
 timeout connect 2s
 timeout client 600s
 timeout server 600s
 retries 3
 option redispatch 1
 option http-no-delay
 http-reuse always
frontend clients
 bind 127.0.0.1:{place.port}
 default_backend replicas
backend replicas
 balance roundrobin
 option httpchk GET /health
 default-server check inter 2s fall 2 rise 1
{servers}
""")
        return [machine.find_program("haproxy"), "-f", str(config), "-db"]

    return Gateway("haproxy", "haproxy", command)


def rolter(name: str, program: str, strategy: str = "cache_aware", loops: int = 1,
           everything_on: bool = False, cores: str = machine.GATEWAY_CORE) -> Gateway:
    def command(place: Place) -> list[str]:
        lines = ["[server]", 'host = "127.0.0.1"', f"port = {place.port}", f"loops = {loops}",
                 "max_connections = 16000", "[admin]", f"port = {place.admin_port}",
                 "[log]", f"access = {'true' if everything_on else 'false'}",
                 "[health]", "enabled = true", "interval_secs = 5"]
        if everything_on:
            lines += ["[breaker]", "enabled = true", "[metrics_scrape]", "enabled = true"]
        for port in place.upstreams:
            lines += ["[[providers]]", f'name = "u{port}"', f'api_base = "http://127.0.0.1:{port}"']
        lines += ["[[routes]]", f'model = "{MODEL}"', f'strategy = "{strategy}"']
        for port in place.upstreams:
            lines += ["[[routes.targets]]", f'provider = "u{port}"', f'model = "{MODEL}"']
        lines += ["[[virtual_keys]]", f'key = "{KEY}"', 'name = "bench"']
        config = place.directory / "rolter.toml"
        config.write_text("\n".join(lines) + "\n")
        return [program, "serve", "-c", str(config)]

    return Gateway(name, program, command, cores)


def all_gateways(program: str) -> list[Gateway]:
    access_log = 'LOG combined buffer=64k flush=1s'
    return [
        nginx("nginx"),
        haproxy(),
        rolter("rolter", program),
        rolter("rolter-round-robin", program, strategy="round_robin"),
        nginx("nginx-unbuffered", location="proxy_request_buffering off;"),
        nginx("nginx-log", log=access_log),
        rolter("rolter-full", program, everything_on=True),
        rolter("rolter-two-loops", program, loops=2, cores="0,1"),
    ]


def is_up(port: int) -> bool:
    """Whether a chat through the port is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    try:
        connection.request("POST", "/v1/chat/completions", b'{"model":"m","messages":[]}',
                           {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"})
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def running(gateway: Gateway, place: Place):
    """The process id of the gateway while it serves; pinned to its cores."""
    place.directory.mkdir(parents=True, exist_ok=True)
    with open(place.directory / "output.log", "wb") as log:
        process = subprocess.Popen(["taskset", "-c", gateway.cores, *gateway.command(place)],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_up(place.port):
            if process.poll() is not None or time.monotonic() > deadline:
                output = (place.directory / "output.log").read_text(errors="replace")
                raise RuntimeError(f"{gateway.name} did not start: {output[-800:]}")
            time.sleep(0.05)
        yield process.pid
    finally:
        stop(process)


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.terminate()  # a second signal ends a drain
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def raise_descriptor_limit() -> int:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = hard if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS else DESCRIPTORS
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def environment() -> dict[str, str]:
    return dict(os.environ, MODEL=MODEL, KEY=KEY, CONVERSATIONS="64")
