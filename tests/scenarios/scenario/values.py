"""How a case file writes bytes, and what a conversation looks like by default."""

import json

MODEL = "m"
CHAT_PATH = "/v1/chat/completions"
CHAT_REPLY = (
    b'{"id":"c1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}'
)
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
STREAM_END = (
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1700000000,"model":"m",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


class CaseError(ValueError):
    """A case file that says something nobody understands."""


def to_bytes(value) -> bytes:
    """Text; {hex = "ff fe"}; {repeat = "a", times = 1000}; or a list of these, joined."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return b"".join(to_bytes(part) for part in value)
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    if isinstance(value, dict) and set(value) == {"repeat", "times"}:
        return to_bytes(value["repeat"]) * value["times"]
    raise CaseError(f"not bytes: {value!r}")


def event(value) -> bytes:
    """One server-sent event: text is a content delta; {raw = ...} is taken as it is."""
    if isinstance(value, dict) and set(value) == {"raw"}:
        return to_bytes(value["raw"])
    delta = {
        "id": "c1", "object": "chat.completion.chunk", "created": 1700000000, "model": MODEL,
        "choices": [{"index": 0, "delta": {"content": value}, "finish_reason": None}],
    }
    return b"data: " + json.dumps(delta, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def chat_body(text: str, stream: bool) -> bytes:
    return json.dumps({
        "model": MODEL, "messages": [{"role": "user", "content": text}], "stream": stream,
    }).encode()


def response(status: int, headers: list[str], body: bytes) -> bytes:
    """A whole answer, framed by its length."""
    lines = [f"HTTP/1.1 {status} Scripted", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def take(table: dict, where: str, **defaults) -> dict:
    """The table with defaults filled in; a key that is not among them is an error."""
    unknown = set(table) - set(defaults)
    if unknown:
        raise CaseError(f"{where}: unknown key {sorted(unknown)[0]!r}; known: {', '.join(defaults)}")
    return {**defaults, **table}
