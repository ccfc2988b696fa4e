"""A replica whose model always calls the first tool it is offered, in the frames vLLM sends, and
tells a tool's result when it is given one. (The simulated engine's answers are text only.)"""

import json
import threading
from http.server import ThreadingHTTPServer

from http_replica import ReplicaHandler

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


class _Handler(ReplicaHandler):
    def do_POST(self):
        body = self.read_body()
        self.server.bodies.append(body)
        request = json.loads(body)
        message = answer_to(request)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        frame = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"]}
        if not request.get("stream"):
            usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self.answer(json.dumps({**frame, "choices": [choice], "usage": usage}).encode())
            return
        frame["object"] += ".chunk"
        steps = [(delta, None) for delta in deltas_of(message)] + [({}, reason)]
        events = [json.dumps({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": ends}]})
                  for delta, ends in steps] + ["[DONE]"]
        body = "".join(f"data: {event}\n\n" for event in events).encode()
        self.answer(body, content_type="text/event-stream")


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
