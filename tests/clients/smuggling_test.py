"""Request smuggling: whatever is forwarded has one reading, and it is h11's.

Each case of data/smuggling.txt goes to the gateway as it is, on a connection of its own. A replica
keeps the bytes that arrive there. What arrives must be what h11, reading the same client bytes,
makes of them: the same requests in the same order, each framed in one way. The gateway may refuse
more than h11 does, and never less; nor may it answer more requests than h11 sees."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import h11
import pytest
from processes import Gateway, free_port

WORKERS = 16
BODY = b'{"model":"m00","messages":[{"role":"user","content":"hi"}]}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
# What we accept and h11 does not, though it has one reading only.
ACCEPTED = {"empty-line-before": "RFC 9112, section 2.2: one empty line before a request is ignored"}
# A replica that cools is probed even where health checks are off: no case asks for this path.
PROBE_PATH = "/probe-of-a-cooling-replica"
PROBE = f"GET {PROBE_PATH} HTTP/1.1\r\n".encode("ascii")
REFUSALS = {400, 408, 411, 413, 417, 431, 501, 505}


@dataclass
class Reading:
    """The requests that h11 finds in some bytes, and whether it found fault with them."""

    requests: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)  # method, path, body
    heads: list[list[tuple[bytes, bytes]]] = field(default_factory=list)
    faulty: bool = False
    rest: bytes = b""


def read_requests(data: bytes) -> Reading:
    reading = Reading()
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    try:
        while True:
            event = connection.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                break
            if isinstance(event, h11.Request):
                request, body = event, b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                path = request.target.split(b"://", 1)[-1]
                path = path if path == request.target else b"/" + path.partition(b"/")[2]
                reading.requests.append((request.method, path, body))
                reading.heads.append(list(request.headers))
                connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                if connection.our_state is h11.SWITCHED_PROTOCOL:
                    break
                connection.send(h11.EndOfMessage())
                if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                    break
                connection.start_next_cycle()
    except h11.RemoteProtocolError:
        reading.faulty = True
    reading.rest = connection.trailing_data[0]
    return reading


class Replica:
    """Keeps what arrives, a connection's bytes together, and answers each request."""

    def __init__(self):
        self.connections: list[bytearray] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            data = bytearray()
            self.connections.append(data)
            threading.Thread(target=self._serve, args=(connection, data), daemon=True).start()

    @staticmethod
    def _serve(connection: socket.socket, data: bytearray) -> None:
        answered = 0
        with connection:
            while part := connection.recv(65536):
                data += part
                reading = read_requests(bytes(data))
                connection.sendall(ANSWER * (len(reading.requests) - answered))
                answered = len(reading.requests)
                if reading.faulty:
                    return

    def close(self) -> None:
        self._listener.close()


def exchange(port: int, data: bytes) -> bytes:
    """What the gateway sends until it closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        try:
            client.sendall(data)
            while part := client.recv(65536):
                answer += part
        except ConnectionError:
            pass
    return answer


def statuses(data: bytes) -> list[int]:
    """Of the final answers in some bytes."""
    found = []
    while data.startswith(b"HTTP/1."):
        head, _, data = data.partition(b"\r\n\r\n")
        status = int(head.split(b" ")[1])
        length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        data = data[int(length[0].split(b":")[1]) if length else 0:]
        if status >= 200:
            found.append(status)
    return found


def faults_of(case: bytes, arrived: list[bytes], answers: list[int]) -> list[str]:
    faults = []
    wanted = read_requests(case)
    forwarded = []
    for data in arrived:
        reading = read_requests(data)
        if reading.faulty or reading.rest or not reading.requests:
            faults.append(f"what arrived is no sound request: {data!r}")
        for head in reading.heads:
            names = [name for name, _ in head]
            if names.count(b"content-length") != 1 or b"transfer-encoding" in names:
                faults.append(f"framed in more than one way, or none: {head}")
            if names.count(b"host") != 1:
                faults.append(f"not one Host: {head}")
        forwarded += reading.requests
    expected = [request for request in wanted.requests if request[0] == b"POST"]
    if forwarded != expected[: len(forwarded)]:
        faults.append(f"forwarded {forwarded}, but h11 reads {wanted.requests}")
    served = sum(status not in REFUSALS for status in answers)
    if served > len(wanted.requests):
        faults.append(f"answered {answers}, but h11 reads {len(wanted.requests)} requests")
    return faults


def load_cases() -> dict[str, bytes]:
    cases = {}
    text = (Path(__file__).parent / "data" / "smuggling.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, _, escaped = line.partition(" | ")
        data = escaped.encode("ascii").decode("unicode_escape").encode("latin-1")
        cases[name] = data.replace(b"{BODY}", BODY)
    return cases


@pytest.fixture(name="fleet")
def make_fleet(rolter, tmp_path):
    """A gateway with a model and a replica for each worker."""
    replicas = [Replica() for _ in range(WORKERS)]
    lines = [
        f'[server]\nhost = "127.0.0.1"\nloops = 1\n[admin]\nport = {free_port()}',
        "[log]\naccess = false",
        f'[health]\nenabled = false\npath = "{PROBE_PATH}"',
        "[timeouts]\nclient_head_secs = 0.4\nclient_body_secs = 0.4\nclient_idle_secs = 0.3",
    ]
    for i, replica in enumerate(replicas):
        model = f"m{i:02}"
        lines.append(f'[[providers]]\nname = "{model}"\napi_base = "http://127.0.0.1:{replica.port}"')
        lines.append(f'[[routes]]\nmodel = "{model}"\n[[routes.targets]]\nprovider = "{model}"\nmodel = "{model}"')
    config = tmp_path / "rolter.toml"
    config.write_text("\n".join(lines))
    with Gateway(rolter, config) as gateway:
        yield gateway, replicas
    for replica in replicas:
        replica.close()


def test_whatever_is_forwarded_has_one_reading(fleet):
    gateway, replicas = fleet
    cases = load_cases()
    assert len(cases) >= 200
    faults, counts = [], {"forwarded": 0, "refused": 0, "answered by the gateway": 0}
    lock = threading.Lock()

    def work(worker: int) -> None:
        for name in list(cases)[worker::WORKERS]:
            case = cases[name].replace(b'"m00"', b'"m%02d"' % worker)
            seen = len(replicas[worker].connections), [len(c) for c in replicas[worker].connections]
            answers = statuses(exchange(gateway.port, case))
            arrived = [bytes(c[(seen[1] + [0] * 999)[i]:])
                       for i, c in enumerate(replicas[worker].connections)]
            arrived = [data for data in arrived if data and not data.startswith(PROBE)]
            with lock:
                if name not in ACCEPTED:
                    faults.extend(f"{name}: {fault}" for fault in faults_of(case, arrived, answers))
                kind = "forwarded" if arrived else (
                    "answered by the gateway" if set(answers) - REFUSALS else "refused")
                counts[kind] += 1

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    print(len(cases), "requests:", ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    assert not faults, "\n".join(faults)
    assert counts["forwarded"] >= 10 and counts["refused"] >= 200
