"""A replica whose model always calls the first tool it is offered, in the frames vLLM sends, and
tells a tool's result when it is given one. (The simulated engine's answers are text only.)"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ARGUMENTS = ['{"city"', ': "Pa', 'ris"}']
CALL_ID = "chatcmpl-tool-1"


def answer_to(request: dict) -> dict:
    """The message of the answer."""
    last = request["messages"][-1]
    if last["role"] == "tool" or not request.get("tools"):
        return {"role": "assistant", "content": f"It says: {last['content']}"}
    function = {"name": request["tools"][0]["function"]["name"], "arguments": "".join(ARGUMENTS)}
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": CALL_ID, "type": "function", "function": function}]}


def deltas_of(message: dict) -> list[dict]:
    if "tool_calls" not in message:
        return [{"role": "assistant", "content": ""}, {"content": message["content"]}]
    call = message["tool_calls"][0]
    first = {"index": 0, "id": call["id"], "type": "function",
             "function": {"name": call["function"]["name"], "arguments": ""}}
    return [{"role": "assistant", "content": ""}, {"tool_calls": [first]}] + [
        {"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in ARGUMENTS]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._send(b"{}", "application/json")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        request = json.loads(body)
        message = answer_to(request)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        frame = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"]}
        if not request.get("stream"):
            usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self._send(json.dumps({**frame, "choices": [choice], "usage": usage}).encode(),
                       "application/json")
            return
        frame["object"] += ".chunk"
        steps = [(delta, None) for delta in deltas_of(message)] + [({}, reason)]
        events = [json.dumps({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": ends}]})
                  for delta, ends in steps] + ["[DONE]"]
        self._send("".join(f"data: {event}\n\n" for event in events).encode(), "text/event-stream")

    def _send(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ToolEngine:
    """Use as a context manager. `bodies` are the requests it got, as they came."""

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.server.daemon_threads = True
        self.server.bodies = self.bodies = []
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception) -> None:
        self.server.shutdown()
        self.server.server_close()
