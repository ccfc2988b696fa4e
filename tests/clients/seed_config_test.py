"""The first configuration, byte for byte as it is published, on the ports it names."""

import json
import socket
import subprocess
import urllib.request

import pytest
from conftest import HERE, MODEL, REPLICA_MODEL, SPEED
from processes import Gateway, SimEngine, free_port

PORTS = (8001, 8002, 4000, 4001)


def in_use() -> list[int]:
    taken = []
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                taken.append(port)
    return taken


def test_the_seed_configuration_works_as_written(rolter):
    if in_use():
        pytest.skip(f"ports in use on this machine: {in_use()}")
    with SimEngine(rolter, REPLICA_MODEL, *SPEED, port=8001), \
            SimEngine(rolter, REPLICA_MODEL, *SPEED, port=8002), \
            Gateway(rolter, HERE / "seed.toml", options=()) as gateway:
        assert gateway.port == 4000
        request = urllib.request.Request(
            "http://127.0.0.1:4000/v1/chat/completions", headers={"Content-Type": "application/json"},
            data=json.dumps({"model": MODEL, "max_tokens": 4,
                             "messages": [{"role": "user", "content": "Hello"}]}).encode())
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.headers["x-rolter-provider"] in ("vllm-1", "vllm-2")
            assert json.load(answer)["choices"][0]["message"]["content"]


def test_check_accepts_the_seed_configuration(rolter):
    run = subprocess.run([rolter, "check", "-c", str(HERE / "seed.toml")], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "llama" in run.stdout


def test_api_base_works_with_v1_and_a_slash(rolter, engines, tmp_path):
    text = (HERE / "seed.toml").read_text()
    text = text.replace("localhost:8001", f"localhost:{engines[0].port}/v1")
    text = text.replace("localhost:8002", f"localhost:{engines[1].port}/")
    text += f'\n[server]\nhost = "127.0.0.1"\n[admin]\nport = {free_port()}\n'
    (tmp_path / "rolter.toml").write_text(text)
    with Gateway(rolter, tmp_path / "rolter.toml") as gateway:
        providers = set()
        for number in range(12):
            request = urllib.request.Request(
                f"{gateway.url}/v1/chat/completions", headers={"Content-Type": "application/json"},
                data=json.dumps({"model": MODEL, "max_tokens": 2, "messages": [
                    {"role": "user", "content": f"{number}: a question of its own"}]}).encode())
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert answer.status == 200
                providers.add(answer.headers["x-rolter-provider"])
        assert providers == {"vllm-1", "vllm-2"}
