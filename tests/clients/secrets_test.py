"""Secrets of every kind are configured and presented; nothing that anybody can read repeats one."""

import json
import os
import signal
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from http_replica import ReplicaHandler
from processes import Gateway, free_port
from tls_test import Authority

# By what they are for. Each has a word of its own, so that a part of one is found as well.
SECRETS = {
    "api_key": "sk-literal-Quagga7",
    "api_key_env": "sk-fromenv-Okapi71",
    "header": "header-Tapir4242",
    "lmcache": "query-Wombat999",
    "virtual key": "vk-Numbat-0001",
    "virtual key of the environment": "vk-Bilby-0002",
    "disabled key": "vk-Dingo-0003",
    "expired key": "vk-Quokka-0004",
    "admin token": "admin-Kakapo-31",
}
PRESENTED = {  # by strangers
    "wrong key": "vk-Ibex-wrong",
    "other wrong key": "vk-Markhor-wrong",
    "wrong admin token": "admin-Serow-wrong",
    "key in a query": "query-Takin-key",
    "password in a target": "userinfo-Saiga",
    "basic credentials": "basic-Chamois",
}
WORDS = ("Quagga", "Okapi", "Tapir", "Wombat", "Numbat", "Bilby", "Dingo", "Quokka", "Kakapo",
         "Ibex", "Markhor", "Serow", "Takin", "Saiga", "Chamois")
CHAT = {"model": "chat", "messages": [{"role": "user", "content": "hello"}]}
REPLY = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'


class Handler(ReplicaHandler):
    """A replica that remembers what it was sent, and complains of keys by quoting them."""

    def do_POST(self):
        body = self.read_body()
        self.server.seen.append(str(self.headers) + body.decode())
        refused = b"refuse me" in body
        quoted = json.dumps({"error": {"message": f"Incorrect API key: {self.headers['Authorization']}"}})
        self.answer(quoted.encode() if refused else REPLY, 401 if refused else 200)


def configuration(ports: dict[str, int], admin_port: int, log_format: str, tls: tuple[str, str]) -> str:
    nobody = free_port()
    return f"""
[server]
host = "127.0.0.1"
loops = 1
tls = {{ cert = "{tls[0]}", key = "{tls[1]}" }}
[log]
level = "debug"
format = "{log_format}"
prompts = true
[retry]
base_backoff_ms = 1
[health]
interval_secs = 0.2
[admin]
port = {admin_port}
token = "{SECRETS["admin token"]}"
[[virtual_keys]]
name = "literal"
key = "{SECRETS["virtual key"]}"
[[virtual_keys]]
name = "of-the-environment"
key_env = "A_VIRTUAL_KEY"
requests_per_minute = 1
[[virtual_keys]]
name = "disabled"
key = "{SECRETS["disabled key"]}"
disabled = true
[[virtual_keys]]
name = "expired"
key = "{SECRETS["expired key"]}"
expires_at = "2020-01-01T00:00:00Z"
[[providers]]
name = "literal"
api_base = "http://127.0.0.1:{ports["literal"]}"
api_key = "{SECRETS["api_key"]}"
headers = {{ X-Team = "{SECRETS["header"]}" }}
lmcache = {{ endpoint = "http://127.0.0.1:{nobody}/s?token={SECRETS["lmcache"]}" }}
[[providers]]
name = "of-the-environment"
api_base = "http://127.0.0.1:{ports["of-the-environment"]}"
api_key_env = "A_PROVIDER_KEY"
[[providers]]
name = "nobody"
api_base = "http://127.0.0.1:{nobody}"
api_key = "{SECRETS["api_key"]}"
[[routes]]
model = "chat"
strategy = "round_robin"
targets = [{{ provider = "literal", model = "m" }}, {{ provider = "of-the-environment", model = "m" }}, {{ provider = "nobody", model = "m" }}]
[[routes]]
model = "cached"
strategy = "lmcache_aware"
targets = [{{ provider = "literal", model = "m" }}]
"""


ENVIRONMENT = {"A_PROVIDER_KEY": SECRETS["api_key_env"], "A_VIRTUAL_KEY": SECRETS["virtual key of the environment"]}


class Watched:
    """A gateway, and everything that it has said."""

    def __init__(self, rolter: str, folder: Path, log_format: str):
        self.replicas = {}
        for name in ("literal", "of-the-environment"):
            self.replicas[name] = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            self.replicas[name].seen = []
            threading.Thread(target=self.replicas[name].serve_forever, daemon=True).start()
        ports = {name: server.server_port for name, server in self.replicas.items()}
        self.admin = f"http://127.0.0.1:{(admin_port := free_port())}"
        self.authority = Authority(folder)
        tls = self.authority.issue("gateway", "IP:127.0.0.1")
        self.private_key = Path(tls[1]).read_text().splitlines()[1:-1]
        self.config = folder / "rolter.toml"
        self.text = configuration(ports, admin_port, log_format, tls)
        self.config.write_text(self.text)
        self.said: list[tuple[str, str]] = []
        launcher = ("env", *(f"{name}={value}" for name, value in ENVIRONMENT.items()))
        self.gateway = Gateway(rolter, self.config, launcher=launcher)
        self._context = ssl.create_default_context(cafile=self.authority.ca)

    def ask(self, url: str, headers: dict | None = None, body: dict | bytes | None = None) -> int:
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=20, context=self._context) as answer:
                status, fields, text = answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            status, fields, text = error.code, error.headers, error.read()
        self.said.append((f"{url} -> {status}", f"{fields}{text.decode('utf-8', 'replace')}"))
        return status

    def chat(self, headers: dict, query: str = "", **more) -> int:
        return self.ask(f"https://127.0.0.1:{self.gateway.port}/v1/chat/completions{query}", headers,
                        {**CHAT, **more})

    def close(self) -> None:
        self.gateway.stop()
        for server in self.replicas.values():
            server.shutdown()
            server.server_close()


@pytest.fixture(name="watched", params=["json", "text"])
def make_watched(rolter, tmp_path, request):
    watched = Watched(rolter, tmp_path, request.param)
    yield watched
    watched.close()


def use_every_key(watched: Watched) -> None:
    good = {"Authorization": f"Bearer {SECRETS['virtual key']}"}
    assert [watched.chat(good) for _ in range(6)] == [200] * 6
    assert watched.chat({"x-api-key": SECRETS["virtual key of the environment"]}) == 200
    assert watched.chat({"x-api-key": SECRETS["virtual key of the environment"]}) == 429
    for name in ("disabled key", "expired key"):
        assert watched.chat({"Authorization": f"Bearer {SECRETS[name]}"}) == 401
    for presented in ({"Authorization": f"Bearer {PRESENTED['wrong key']}"},
                      {"Authorization": f"Basic {PRESENTED['basic credentials']}"},
                      {"Authorization": PRESENTED["wrong key"], "x-api-key": PRESENTED["other wrong key"]}):
        assert watched.chat(presented) == 401
    assert watched.chat(good, f"?api_key={PRESENTED['key in a query']}") == 200
    refusing = [{"role": "user", "content": "refuse me"}]
    assert {watched.chat(good, messages=refusing) for _ in range(4)} == {502}
    assert watched.chat(good, model="cached") == 200
    assert watched.chat(good, model="nobody's") == 404
    assert watched.chat({**good, "x-rolter-explain": "1", "x-rolter-admin-token": PRESENTED["wrong admin token"]}) == 200
    assert watched.ask(f"https://127.0.0.1:{watched.gateway.port}/v1/models", good) == 200
    assert watched.ask(f"https://127.0.0.1:{watched.gateway.port}/metrics") == 200


def ask_the_admin_listener(watched: Watched) -> None:
    operator = {"Authorization": f"Bearer {SECRETS['admin token']}"}
    for path in ("/", "/page/page.js", "/metrics", "/admin/state", "/admin/decisions", "/admin/nothing"):
        watched.ask(watched.admin + path, operator)
        watched.ask(watched.admin + path, {"Authorization": f"Bearer {PRESENTED['wrong admin token']}"})
    assert watched.ask(f"{watched.admin}/admin/explain", operator, CHAT) == 200
    assert watched.ask(f"{watched.admin}/admin/drain", operator, {"target": "literal"}) == 200
    assert watched.ask(f"{watched.admin}/admin/undrain", operator, {"target": "literal"}) == 200
    for fault in FAULTS:
        watched.config.write_text(fault(watched.text))
        assert watched.ask(f"{watched.admin}/admin/reload", operator, b"") == 422, fault(watched.text)
    watched.config.write_text(watched.text)
    assert watched.ask(f"{watched.admin}/admin/reload", operator, b"") == 200
    with urllib.request.urlopen(urllib.request.Request(f"{watched.admin}/admin/events", headers=operator)) as live:
        watched.said.append(("/admin/events", live.read1(200_000).decode()))


def replaced(old: str, new: str):
    def fault(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return fault


# Slips of the kind that bring a secret into a message.
FAULTS = [
    replaced('api_key = "', 'api_kye = "'),
    replaced(f'api_key = "{SECRETS["api_key"]}"', f'api_key = ["{SECRETS["api_key"]}"]'),
    replaced(f'"{SECRETS["virtual key"]}"', f'"{SECRETS["disabled key"]}"'),  # given twice
    replaced(f'key = "{SECRETS["virtual key"]}"', f'key = "{SECRETS["virtual key"]}'),  # never ends
    replaced(f'X-Team = "{SECRETS["header"]}"', f'X-Team = "{SECRETS["header"]}\\r\\n"'),
    replaced(f'token = "{SECRETS["admin token"]}"', f'token = {{ is = "{SECRETS["admin token"]}" }}'),
    replaced('"http://127.0.0.1', f'"http://user:{PRESENTED["password in a target"]}@127.0.0.1'),
    replaced(f'/s?token={SECRETS["lmcache"]}', f':99999/s?token={SECRETS["lmcache"]}'),
    replaced('"A_PROVIDER_KEY"', f'"{SECRETS["api_key_env"]}"'),  # the key itself for the variable's name
]


def run_commands(watched: Watched, rolter: str) -> None:
    environment = {**os.environ, **ENVIRONMENT, "ROLTER_ADMIN_TOKEN": SECRETS["admin token"]}
    bad = watched.config.with_name("bad.toml")

    def run(*arguments: str, stdin: str = "") -> None:
        done = subprocess.run([rolter, *arguments], input=stdin, capture_output=True, text=True, timeout=60,
                              env=environment)
        watched.said.append((" ".join(arguments[:1]), done.stdout + done.stderr))

    run("check", "-c", str(watched.config))
    run("check", "-c", str(watched.config), "--live")
    run("explain", "-c", str(watched.config), stdin=json.dumps(CHAT))
    run("top", "-c", str(watched.config), "--url", watched.admin)
    for fault in FAULTS:
        bad.write_text(fault(watched.text))
        run("check", "-c", str(bad))
        run("serve", "-c", str(bad))
        assert "error" in watched.said[-1][1], watched.said[-1]


def test_no_secret_is_ever_said(watched, rolter):
    use_every_key(watched)
    ask_the_admin_listener(watched)
    run_commands(watched, rolter)
    watched.gateway.process.send_signal(signal.SIGABRT)  # what a crash leaves on standard error
    watched.gateway.process.wait(20)
    watched.said.append(("the log", watched.gateway.log_text()))
    assert "status" in watched.gateway.log_text()
    words = (*WORDS, *watched.private_key)
    found = [(where, word) for where, text in watched.said for word in words if word in text]
    assert not found
    assert len(watched.said) > 60


def test_each_replica_is_sent_its_own_key_and_nobody_elses(watched):
    use_every_key(watched)
    for name, own in (("literal", "api_key"), ("of-the-environment", "api_key_env")):
        seen = "\n".join(watched.replicas[name].seen)
        assert f"Bearer {SECRETS[own]}" in seen
        others = [value for key, value in {**SECRETS, **PRESENTED}.items() if key != own]
        if name == "literal":
            others.remove(SECRETS["header"])
        others.remove(PRESENTED["key in a query"])  # part of the target, which passes as it is
        assert not [value for value in others if value in seen]
