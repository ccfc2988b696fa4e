"""curl, as in the README."""

import json
import subprocess

from conftest import MODEL, REPLICA_MODEL

CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 8}


def curl(url: str, body: dict | None = None, *options: str) -> tuple[int, dict[str, str], str]:
    """Status, headers in lower case, body."""
    command = ["curl", "-sS", "--max-time", "20", "-i", url, *options]
    if body is not None:
        command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    head, _, content = run.stdout.partition("\n\n")
    status, *fields = head.splitlines()
    headers = dict(field.lower().split(": ", 1) for field in fields)
    return int(status.split(" ")[1]), headers, content


def test_a_chat_is_answered_by_the_replica_that_the_headers_name(gateway):
    status, headers, body = curl(f"{gateway.url}/v1/chat/completions", CHAT)
    assert status == 200
    answer = json.loads(body)
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"]["content"]
    assert answer["model"] == REPLICA_MODEL
    assert answer["usage"]["completion_tokens"] == 8
    assert headers["x-rolter-provider"] in ("vllm-1", "vllm-2")
    assert headers["x-rolter-target"] == f"{headers['x-rolter-provider']}/{REPLICA_MODEL}".lower()
    assert headers["x-request-id"]


def test_a_streamed_chat_ends_with_done(gateway):
    status, headers, body = curl(f"{gateway.url}/v1/chat/completions", CHAT | {"stream": True}, "-N")
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    events = [line for line in body.splitlines() if line.startswith("data: ")]
    assert len(events) > 8
    assert events[-1] == "data: [DONE]"
    text = "".join(json.loads(event[6:])["choices"][0]["delta"].get("content") or ""
                   for event in events[:-1] if json.loads(event[6:])["choices"])
    assert text


def test_the_route_is_listed_as_a_model(gateway):
    status, _, body = curl(f"{gateway.url}/v1/models")
    assert status == 200
    assert [model["id"] for model in json.loads(body)["data"]] == [MODEL]
    assert curl(f"{gateway.url}/v1/models/{MODEL}")[0] == 200
    assert curl(f"{gateway.url}/v1/models/nobody")[0] == 404


def test_health_and_readiness_answer(gateway):
    assert curl(f"{gateway.url}/health")[0] == 200
    assert curl(f"{gateway.url}/ready")[0] == 200


def test_an_unknown_model_is_not_found(gateway):
    status, _, body = curl(f"{gateway.url}/v1/chat/completions", CHAT | {"model": "nobody"})
    assert status == 404
    error = json.loads(body)["error"]
    assert error["code"] == "model_not_found"
    assert "nobody" in error["message"]


def test_completions_and_tokenize_are_routed_by_model(gateway):
    status, _, body = curl(f"{gateway.url}/v1/completions",
                           {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 4})
    assert status == 200
    assert json.loads(body)["choices"][0]["text"]
    status, _, body = curl(f"{gateway.url}/tokenize", {"model": MODEL, "prompt": "Once upon a time"})
    assert status == 200
    assert json.loads(body)["count"] > 0
