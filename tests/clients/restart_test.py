"""Restarts behind a socket that somebody else holds (systemd's socket activation): whoever connects
meanwhile is neither refused nor reset."""

import os
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from processes import Gateway, Program, free_port

HERE = Path(__file__).resolve().parent


class ActivatedGateway(Program):
    """`rolter serve` with a listening socket as its descriptor 3, as systemd starts it."""

    def __init__(self, rolter: str, config: Path, listener: socket.socket):
        script = f"exec 3<&{listener.fileno()}; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\""
        self._listener = listener
        super().__init__(["bash", "-c", script, "sh", rolter, "serve", "-c", str(config)],
                         pass_fds=(listener.fileno(),))
        self.wait_for_line(re.compile("listening on"))


@pytest.fixture(name="config")
def make_config(tmp_path):
    file = tmp_path / "rolter.toml"
    file.write_text(f"""
[server]
host = "127.0.0.1"
port = 1
loops = 2
[admin]
port = {free_port()}
[[providers]]
name = "u1"
api_base = "http://127.0.0.1:1"
[[routes]]
model = "m"
[[routes.targets]]
provider = "u1"
model = "m"
""")
    return file


def ask(port: int) -> str:
    """The status of /health over a connection of its own, or what happened instead."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
            return client.makefile("rb").readline().decode().strip()
    except OSError as error:
        return type(error).__name__


def test_a_restart_refuses_and_resets_nothing(rolter, config):
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        port = listener.getsockname()[1]
        answers, over = [], threading.Event()

        def keep_asking():
            while not over.is_set():
                answers.append(ask(port))

        clients = [threading.Thread(target=keep_asking) for _ in range(4)]
        gateway = ActivatedGateway(rolter, config, listener)
        for client in clients:
            client.start()
        for _ in range(3):
            before = len(answers)
            while len(answers) < before + 50:
                clients[0].join(0.01)
            assert gateway.stop() == 0
            gateway = ActivatedGateway(rolter, config, listener)
        over.set()
        for client in clients:
            client.join()
        assert gateway.stop() == 0
    assert len(answers) >= 150
    assert set(answers) == {"HTTP/1.1 200 OK"}


def test_sockets_meant_for_another_process_are_left_alone(rolter, config):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.environ.update(LISTEN_PID="1", LISTEN_FDS="1")
        try:
            with Gateway(rolter, config) as gateway:
                assert gateway.port != listener.getsockname()[1]
                assert ask(gateway.port) == "HTTP/1.1 200 OK"
        finally:
            del os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"]


def test_a_descriptor_that_does_not_listen_is_named(rolter, config):
    with socket.socket() as idle:
        script = f'exec 3<&{idle.fileno()}; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
        done = subprocess.run(["bash", "-c", script, "sh", rolter, "serve", "-c", str(config)],
                              pass_fds=(idle.fileno(),), capture_output=True, text=True, timeout=20,
                              check=False)
    assert done.returncode == 1
    assert "descriptor 3 is no listening TCP socket" in done.stderr
