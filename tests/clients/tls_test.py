"""TLS on both sides: certificates made for the test, by openssl."""

import json
import re
import socket
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from processes import Gateway, free_port

REPLY = b'{"choices":[{"message":{"content":"hi"}}]}'
EVENTS = [b'data: {"choices":[{"delta":{"content":"%d"}}]}\n\n' % i for i in range(20)] + [b"data: [DONE]\n\n"]


def openssl(*arguments: str, cwd) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


class Authority:
    """A certificate authority that nobody else knows."""

    def __init__(self, directory):
        self.directory = directory
        self.ca = str(directory / "ca.pem")
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
                "-days", "2", "-subj", "/CN=test authority", cwd=directory)

    def issue(self, name: str, alternatives: str) -> tuple[str, str]:
        """Certificate and key files for these names, such as "DNS:localhost,IP:127.0.0.1"."""
        path = self.directory
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
                "-subj", f"/CN={name}", cwd=path)
        (path / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "1", "-out", f"{name}.pem", "-extfile", f"{name}.ext", cwd=path)
        return str(path / f"{name}.pem"), str(path / f"{name}.key")


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(self.connection)
        self.send_response(200)
        if request.get("stream"):
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in EVENTS:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(REPLY)))
            self.end_headers()
            self.wfile.write(REPLY)

    def log_message(self, *_):
        pass


class TlsReplica:
    def __init__(self, cert: str, key: str):
        self.names = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        context.sni_callback = lambda _, name, __: self.names.append(name)
        context.set_alpn_protocols(["http/1.1"])
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.asked = []
        self.server.handle_error = lambda *_: None
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def configuration(api_base: str, provider: str = "", server: str = "") -> str:
    return f"""
[server]
host = "127.0.0.1"
loops = 1
{server}
[admin]
port = {free_port()}
[health]
enabled = false
[cooldown]
base_secs = 0
[retry]
max_retries = 0
[[providers]]
name = "u1"
api_base = "{api_base}"
{provider}
[[routes]]
model = "m"
[[routes.targets]]
provider = "u1"
model = "m"
"""


def post(connection: socket.socket, stream: bool = False) -> tuple[int, bytes]:
    """Status and body, de-chunked, of one chat request."""
    body = json.dumps({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x"}]}).encode()
    connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
    reader = connection.makefile("rb")
    status = int(reader.readline().split()[1])
    fields = {}
    while (line := reader.readline()) != b"\r\n":
        name, _, value = line.decode().partition(":")
        fields[name.lower()] = value.strip()
    if "content-length" in fields:
        return status, reader.read(int(fields["content-length"]))
    answer = b""
    while size := int(reader.readline(), 16):
        answer += reader.read(size)
        reader.readline()
    reader.readline()
    return status, answer


def plain(gateway) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gateway.port), timeout=10)


@pytest.fixture(name="replica")
def make_replica(authority):
    replica = TlsReplica(*authority.issue("localhost", "DNS:localhost"))
    yield replica
    replica.close()


def start(rolter, tmp_path, text: str) -> Gateway:
    file = tmp_path / "rolter.toml"
    file.write_text(text)
    return Gateway(rolter, file)


def test_a_replica_is_verified_with_its_private_authority(rolter, tmp_path, authority, replica):
    text = configuration(f"https://localhost:{replica.port}", f'ca_bundles = ["{authority.ca}"]')
    with start(rolter, tmp_path, text) as gateway, plain(gateway) as client:
        assert post(client) == (200, REPLY)
        assert post(client, stream=True) == (200, b"".join(EVENTS))
        assert replica.names[0] == "localhost", "the name goes out as SNI"
        assert len(set(map(id, replica.server.asked))) == 1, "the connection is used again"


@pytest.mark.parametrize("host, provider, why", [
    ("localhost", "", "unable to get local issuer certificate"),
    ("127.0.0.1", "ca", "IP address mismatch"),
])
def test_a_replica_that_cannot_be_verified_gets_no_request(rolter, tmp_path, authority, replica, host,
                                                           provider, why):
    provider = f'ca_bundles = ["{authority.ca}"]' if provider else ""
    text = configuration(f"https://{host}:{replica.port}", provider)
    with start(rolter, tmp_path, text) as gateway, plain(gateway) as client:
        assert post(client)[0] == 503
        gateway.wait_for_line(re.compile(re.escape(why)))
        assert not replica.server.asked


def client_context(authority) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.ca)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def connect(gateway, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(plain(gateway), server_hostname="localhost")


def server_tls(cert: str, key: str) -> str:
    return f'[server.tls]\ncert = "{cert}"\nkey = "{key}"\n'


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_clients_speak_tls_and_only_tls(rolter, tmp_path, authority, replica):
    files = authority.issue("gateway", "DNS:localhost")
    text = configuration(f"https://localhost:{replica.port}", f'ca_bundles = ["{authority.ca}"]',
                         server_tls(*files))
    with start(rolter, tmp_path, text) as gateway:
        with connect(gateway, client_context(authority)) as client:
            assert client.selected_alpn_protocol() == "http/1.1"
            assert post(client) == (200, REPLY)
            assert post(client, stream=True) == (200, b"".join(EVENTS))
        old = client_context(authority)
        old.set_ciphers("DEFAULT:@SECLEVEL=0")
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with pytest.raises(OSError):
            connect(gateway, old)
        with plain(gateway) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: g\r\n\r\n")
            try:
                answer = client.recv(4096)
            except ConnectionError:
                answer = b""
            assert b"HTTP" not in answer


def test_renewed_certificates_are_read_by_themselves(rolter, tmp_path, authority):
    cert, key = authority.issue("renewed", "DNS:localhost")
    text = configuration("http://127.0.0.1:1", server=server_tls(cert, key))

    def serial(gateway) -> str:
        with connect(gateway, client_context(authority)) as client:
            return client.getpeercert()["serialNumber"]

    with start(rolter, tmp_path, text) as gateway:
        first = serial(gateway)
        authority.issue("renewed", "DNS:localhost")
        gateway.wait_for_line(re.compile("configuration version 2"))
        second = serial(gateway)
        assert second != first
        (authority.directory / "renewed.pem").write_text("not a certificate")
        gateway.wait_for_line(re.compile("reload refused: server.tls.cert"))
        assert serial(gateway) == second


def test_a_client_that_is_slow_to_shake_hands_is_let_go(rolter, tmp_path, authority):
    files = authority.issue("slow", "DNS:localhost")
    text = configuration("http://127.0.0.1:1", server=server_tls(*files)) + \
        "[timeouts]\nclient_head_secs = 0.3\n"
    with start(rolter, tmp_path, text) as gateway, plain(gateway) as client:
        started = time.monotonic()
        assert client.recv(1) == b""
        assert 0.2 < time.monotonic() - started < 3


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("check",)])
def test_a_missing_file_is_named(rolter, tmp_path, command):
    file = tmp_path / "rolter.toml"
    file.write_text(configuration("https://localhost:1", 'ca_bundles = ["/no/such.pem"]'))
    done = subprocess.run([rolter, command[0], "-c", str(file), *command[1:]], capture_output=True,
                          text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "ca_bundles: cannot use /no/such.pem" in done.stderr
