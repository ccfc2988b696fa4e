"""Heartbeats while a stream's first byte is awaited, as the client libraries see them."""

import contextlib
import socketserver
import threading
import time
import urllib.request

import anthropic
import openai
import pytest
from conftest import MODEL
from processes import Gateway, SimEngine, free_port

MESSAGES = [{"role": "user", "content": "What is a prefix cache? " * 60}]  # a second of prefill
CONFIGURATION = """
[server]
host = "127.0.0.1"
[admin]
port = {admin_port}
[timeouts]
heartbeat_secs = 0.1
request_secs = {request_secs}
[retry]
max_retries = 0
[[providers]]
name = "a"
api_base = "http://127.0.0.1:{port}"
[[routes]]
model = "{model}"
targets = [{{ provider = "a", model = "m" }}]
"""


@contextlib.contextmanager
def slow_gateway(rolter, folder, request_secs: float):
    with SimEngine(rolter, "m", "--prefill-tps", "500", "--decode-tps", "500") as engine:
        config = folder / "rolter.toml"
        config.write_text(CONFIGURATION.format(admin_port=free_port(), port=engine.port, model=MODEL,
                                               request_secs=request_secs))
        with Gateway(rolter, config) as running:
            yield running


@pytest.fixture(name="patient", scope="module")
def make_patient(rolter, tmp_path_factory):
    with slow_gateway(rolter, tmp_path_factory.mktemp("patient"), 60) as running:
        yield running


@pytest.fixture(name="impatient", scope="module")
def make_impatient(rolter, tmp_path_factory):
    with slow_gateway(rolter, tmp_path_factory.mktemp("impatient"), 0.4) as running:
        yield running


def heartbeats(gateway) -> int:

    with urllib.request.urlopen(f"{gateway.url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return int(next(line.split()[-1] for line in lines if line.startswith("rolter_heartbeats_total{")))


def openai_client(gateway):
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=0, timeout=20)


def test_openai_streams_are_whole_after_heartbeats(patient):
    client, before = openai_client(patient), heartbeats(patient)
    chunks = list(client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8, stream=True))
    assert len("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices).split()) > 1
    chunks = list(client.completions.create(model=MODEL, prompt="Once upon " * 200, max_tokens=8, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    events = list(client.responses.create(model=MODEL, input="What then? " * 200, max_output_tokens=8, stream=True))
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    assert heartbeats(patient) - before >= 6


def test_anthropic_streams_are_whole_after_heartbeats(patient):
    client, before = anthropic.Anthropic(base_url=patient.url, api_key="unused", max_retries=0), heartbeats(patient)
    with client.messages.stream(model=MODEL, max_tokens=8, messages=[
            {"role": "user", "content": "And what is a KV cache? " * 100}]) as stream:
        assert "".join(stream.text_stream)
        assert stream.get_final_message().stop_reason in ("max_tokens", "end_turn")
    assert heartbeats(patient) - before >= 2


def test_openai_raises_what_comes_as_an_event(impatient):
    client = openai_client(impatient)
    with pytest.raises(openai.APIError, match="did not begin to answer in time"):
        list(client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=8, stream=True))
    with pytest.raises(openai.APIError, match="did not begin to answer in time"):
        list(client.responses.create(model=MODEL, input="What then? " * 200, max_output_tokens=8, stream=True))


def test_anthropic_raises_what_comes_as_an_event(impatient):
    client = anthropic.Anthropic(base_url=impatient.url, api_key="unused", max_retries=0)
    with pytest.raises(anthropic.APIError, match="did not begin to answer in time"):
        with client.messages.stream(model=MODEL, max_tokens=8, messages=MESSAGES) as stream:
            list(stream)


class Dying(socketserver.BaseRequestHandler):
    """A replica that takes a request and dies over it."""

    def handle(self):
        self.request.recv(65_536)
        time.sleep(0.4)


def test_a_fallback_takes_over_a_stream_that_heartbeats_have_begun(rolter, tmp_path):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dying) as dying, SimEngine(rolter, "m") as engine:
        threading.Thread(target=dying.serve_forever, daemon=True).start()
        text = CONFIGURATION.format(admin_port=free_port(), port=dying.server_address[1], model=MODEL, request_secs=60)
        text += (f'fallback = "other"\n[[providers]]\nname = "b"\napi_base = "http://127.0.0.1:{engine.port}"\n'
                 '[[routes]]\nmodel = "other"\ntargets = [{ provider = "b", model = "m" }]\n[health]\nenabled = false\n')
        config = tmp_path / "rolter.toml"
        config.write_text(text)
        with Gateway(rolter, config) as gateway:
            chunks = list(openai_client(gateway).chat.completions.create(
                model=MODEL, messages=MESSAGES, max_tokens=8, stream=True))
            assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            with urllib.request.urlopen(f"{gateway.url}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines()
        dying.shutdown()
    assert f'rolter_fallbacks_total{{route="{MODEL}",cause="fallback_route"}} 1' in lines
    assert sum(int(line.split()[-1]) for line in lines if line.startswith("rolter_heartbeats_total{")) >= 2
