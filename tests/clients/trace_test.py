"""A caller's W3C trace goes on at the replica, and its id is where people look a request up."""

import json
import re
import threading
import urllib.request
from http.server import ThreadingHTTPServer

import pytest
from conftest import free_port
from http_replica import ReplicaHandler
from processes import Gateway

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
STATE = "vendor=a:b;c,other=1"
ANSWER = b'{"id":"x","object":"chat.completion","choices":[]}'


class Replica(ReplicaHandler):
    seen: list[dict] = []

    def do_POST(self):
        self.read_body()
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.answer(ANSWER)


@pytest.fixture(name="traced", scope="module")
def make_traced(rolter, tmp_path_factory):
    """A gateway before a replica that notes what it is sent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Replica)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = tmp_path_factory.mktemp("trace") / "rolter.toml"
    admin_port = free_port()
    config.write_text(f"""
[server]
host = "127.0.0.1"
[admin]
port = {admin_port}
[[providers]]
name = "vllm-1"
api_base = "http://127.0.0.1:{server.server_address[1]}"
[[routes]]
model = "m"
[[routes.targets]]
provider = "vllm-1"
model = "m"
""")
    with Gateway(rolter, config) as gateway:
        gateway.admin = f"http://127.0.0.1:{admin_port}"
        yield gateway
    server.shutdown()
    server.server_close()


def ask(gateway: Gateway, request_id: str, **fields: str) -> tuple[dict, dict, dict]:
    """What the replica saw, the access line and the decision."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    headers = {"Content-Type": "application/json", "X-Request-Id": request_id, **fields}
    with urllib.request.urlopen(urllib.request.Request(
            f"{gateway.url}/v1/chat/completions", body, headers), timeout=20) as answer:
        assert answer.read() == ANSWER
    line = json.loads(gateway.wait_for_line(re.compile(rf'.*"request_id":"{request_id}".*')).group(0))
    with urllib.request.urlopen(f"{gateway.admin}/admin/decisions?request_id={request_id}",
                                timeout=20) as answer:
        decisions = json.load(answer)
    assert len(decisions) == 1
    saw = next(fields for fields in Replica.seen if fields["x-request-id"] == request_id)
    return saw, line, decisions[0]


def test_a_trace_reaches_the_replica_the_access_log_and_the_decisions(traced):
    saw, line, decision = ask(traced, "with-a-trace", traceparent=PARENT, tracestate=STATE)
    assert (saw["traceparent"], saw["tracestate"]) == (PARENT, STATE)
    assert line["trace_id"] == TRACE
    assert decision["trace_id"] == TRACE


def test_a_malformed_one_is_forwarded_and_names_no_trace(traced):
    saw, line, decision = ask(traced, "malformed", traceparent=PARENT.upper())
    assert saw["traceparent"] == PARENT.upper()
    assert "trace_id" not in line
    assert decision["trace_id"] == ""


def test_without_one_none_is_made(traced):
    saw, line, decision = ask(traced, "without-a-trace")
    assert "traceparent" not in saw
    assert "trace_id" not in line
    assert decision["trace_id"] == ""
