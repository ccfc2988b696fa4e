"""The commands that ask replicas and a gateway do so over https too: here through a TLS proxy in
front of each, as in many clusters."""

import json
import os
import socket
import ssl
import subprocess
import threading

import pytest
from conftest import REPLICA_MODEL
from processes import Gateway, SimEngine, free_port
from tls_test import Authority

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


class TlsFront:
    """Takes TLS off and passes bytes on to a port of this machine. Use as a context manager."""

    def __init__(self, cert: str, key: str, port: int):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cert, key)
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        """One request: all the tools ask for on a connection."""
        try:
            with self.context.wrap_socket(client, server_side=True) as near, \
                    socket.create_connection(("127.0.0.1", self.target), timeout=30) as far:
                back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
                back.start()
                self._pump(near, far, until=back)
                back.join(30)
        except OSError:
            pass  # the peer does not trust us, or has left

    @staticmethod
    def _pump(source, sink, until: threading.Thread | None = None) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
                if until is not None and data.endswith((b"\r\n\r\n", b"}")):
                    return  # the request is whole; its answer ends the connection
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *exception) -> None:
        self.listener.close()


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(name="files", scope="module")
def make_files(authority):
    return authority.issue("localhost", "DNS:localhost")


def configuration(api_base: str, admin_port: int, provider: str = "") -> str:
    return f"""
[server]
host = "127.0.0.1"
[admin]
port = {admin_port}
[[providers]]
name = "gpu-a"
api_base = "{api_base}"
{provider}
[[routes]]
model = "m"
[[routes.targets]]
provider = "gpu-a"
model = "{REPLICA_MODEL}"
"""


def run(rolter: str, *arguments: str, stdin: str = "", ca: str = "") -> subprocess.CompletedProcess:
    environment = {**os.environ, **({"SSL_CERT_FILE": ca} if ca else {})}
    return subprocess.run([rolter, *arguments], input=stdin, env=environment, capture_output=True,
                          text=True, timeout=60)


def test_check_live_asks_replicas_over_https(rolter, tmp_path, authority, files):
    with SimEngine(rolter, REPLICA_MODEL) as engine, TlsFront(*files, engine.port) as front:
        config = tmp_path / "rolter.toml"
        url = f"https://localhost:{front.port}"
        config.write_text(configuration(url, free_port(), f'ca_bundles = ["{authority.ca}"]'))
        found = json.loads(run(rolter, "check", "-c", str(config), "--live", "--json").stdout)
        assert [(one["provider"], one["state"]) for one in found] == [("gpu-a", "up")]
        config.write_text(configuration(url, free_port()))
        doubted = run(rolter, "check", "-c", str(config), "--live")
        assert doubted.returncode == 1
        assert "unable to get local issuer certificate" in doubted.stdout + doubted.stderr


def test_the_commands_ask_a_gateway_over_https(rolter, tmp_path, authority, files):
    admin_port = free_port()
    with SimEngine(rolter, REPLICA_MODEL) as engine, TlsFront(*files, admin_port) as front:
        config = tmp_path / "rolter.toml"
        config.write_text(configuration(f"http://127.0.0.1:{engine.port}", admin_port))
        url = ("--url", f"https://localhost:{front.port}")
        with Gateway(rolter, config):
            for ca, code in (("", 1), (authority.ca, 0)):
                said = [run(rolter, "explain", *url, ca=ca, stdin=json.dumps(REQUEST)),
                        run(rolter, "top", *url, ca=ca),
                        run(rolter, "drain", "gpu-a", "--wait", *url, ca=ca)]
                assert [one.returncode for one in said] == [code] * 3, said
            assert json.loads(said[0].stdout)["pick"] == "gpu-a"
            assert said[2].stdout == "gpu-a: drained, 0 requests in flight\n"
