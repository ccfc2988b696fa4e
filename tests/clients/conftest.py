"""Two simulated replicas and the gateway in front of them, once per session."""

import os
from pathlib import Path

import pytest
from processes import Gateway, SimEngine, free_port
from tool_engine import ToolEngine

HERE = Path(__file__).resolve().parent
REPLICA_MODEL = "meta-llama/Llama-3.1-8B-Instruct"
MODEL = "llama"
# Fast enough that tests do not wait, slow enough that a stream has more than one chunk.
SPEED = ("--prefill-tps", "100000", "--decode-tps", "500")


@pytest.fixture(scope="session")
def rolter() -> str:
    binary = os.environ.get("ROLTER_BINARY")
    if not binary:
        pytest.fail("ROLTER_BINARY names no rolter program: start the tests with tests/clients/run")
    return binary


@pytest.fixture(scope="session")
def engines(rolter):
    with SimEngine(rolter, REPLICA_MODEL, *SPEED) as first, \
            SimEngine(rolter, REPLICA_MODEL, *SPEED) as second:
        yield first, second


@pytest.fixture(scope="session")
def gateway(rolter, engines, tmp_path_factory):
    """The first configuration of the README on ports that are free."""
    text = (HERE / "seed.toml").read_text()
    for port, engine in zip((8001, 8002), engines):
        text = text.replace(f"localhost:{port}", f"localhost:{engine.port}")
    text += f'\n[server]\nhost = "127.0.0.1"\n[admin]\nport = {free_port()}\n'
    config = tmp_path_factory.mktemp("gateway") / "rolter.toml"
    config.write_text(text)
    with Gateway(rolter, config) as running:
        yield running


@pytest.fixture(scope="session")
def tool_engine():
    with ToolEngine() as engine:
        yield engine


@pytest.fixture(scope="session")
def tool_gateway(rolter, tool_engine, tmp_path_factory):
    """A gateway before a model that calls tools; it is called "caller" on both sides."""
    config = tmp_path_factory.mktemp("tools") / "rolter.toml"
    config.write_text(f"""
[server]
host = "127.0.0.1"
[admin]
port = {free_port()}
[[providers]]
name = "vllm-1"
api_base = "http://127.0.0.1:{tool_engine.port}"
[[routes]]
model = "caller"
[[routes.targets]]
provider = "vllm-1"
model = "caller"
""")
    with Gateway(rolter, config) as running:
        yield running
