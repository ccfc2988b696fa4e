"""What the replicas of these tests have in common: kept-alive HTTP whose answers have a length."""

from http.server import BaseHTTPRequestHandler


class ReplicaHandler(BaseHTTPRequestHandler):
    """A healthy replica. A test says what it answers to POST."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(b"{}")

    def answer(self, body: bytes, status: int = 200, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def log_message(self, *arguments):
        pass
