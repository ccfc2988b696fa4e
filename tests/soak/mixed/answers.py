"""What the engines say, learned from one of them directly, and how it is found in an answer.

The reply of a simulated engine begins with a digest of what it was asked and goes on as a function of
that and its seed: all engines give the same reply to the same question, whatever was said before it.
So an answer that was mixed up, cut or changed anywhere shows.
"""

import asyncio
import json
from dataclasses import dataclass

from scenario.client import REQUEST_DEFAULTS, request_bytes
from scenario.wire import Changes, Message, Reader

QUESTIONS = 500
MAX_TOKENS = 48


@dataclass(frozen=True)
class Question:
    """One of the things that are asked again and again, and its one right answer."""

    path: str
    text: str  # the last turn, or token ids with commas
    reply: str = ""


def body_of(question: Question, model: str, stream: bool, before: list[dict]) -> bytes:
    """A request's body. `before`: turns that come before the question and change nothing of its
    answer."""
    body = {"model": model, "max_tokens": MAX_TOKENS, "stream": stream}
    if question.path == "/v1/completions":
        body["prompt"] = [int(token) for token in question.text.split(",")]
    else:
        body["messages"] = [*before, {"role": "user", "content": question.text}]
    return json.dumps(body).encode()


def request_of(question: Question, port: int, body: bytes, headers: tuple[str, ...] = ()) -> bytes:
    return request_bytes({**REQUEST_DEFAULTS, "path": question.path, "body": body.decode(),
                          "headers": list(headers)}, port)[0]


@dataclass
class Said:
    """What an answer's body holds."""

    text: str = ""
    ended: bool = False  # by the API's own end marker, or as a whole JSON document
    error: bool = False  # says that it failed


def said(path: str, body: bytes, stream: bool) -> Said:
    """Raises ValueError when the body is not of the API's form."""
    if not stream:
        return _said_whole(path, json.loads(body))
    answer = Said()
    events, whole, _ = body.rpartition(b"\n\n")  # the last event may be a part
    for event in events.split(b"\n\n") if whole else []:
        for line in event.split(b"\n"):
            if line.startswith(b"data: "):
                _add_event(answer, path, line[6:])
            elif line and not line.startswith((b"event: ", b":")):
                raise ValueError(f"not a line of an event stream: {line[:100]!r}")
    return answer


def _said_whole(path: str, document: dict) -> Said:
    if "error" in document:
        return Said(error=True)
    if path == "/v1/messages":
        return Said("".join(part["text"] for part in document["content"]), ended=True)
    choice = document["choices"][0]
    return Said(choice["text"] if path == "/v1/completions" else choice["message"]["content"], ended=True)


def _add_event(answer: Said, path: str, data: bytes) -> None:
    if data == b"[DONE]":
        answer.ended = not answer.error
        return
    event = json.loads(data)
    if "error" in event:
        answer.error = True
    elif path == "/v1/messages":
        answer.text += event.get("delta", {}).get("text", "")
        answer.ended = answer.ended or event["type"] == "message_stop"
    elif event["choices"]:
        choice = event["choices"][0]
        answer.text += choice["text"] if path == "/v1/completions" else choice["delta"].get("content") or ""


async def ask(reader: Reader, writer: asyncio.StreamWriter, request: bytes, seconds: float) -> Message:
    message = Message()
    writer.write(request)
    async with asyncio.timeout(seconds):
        if await reader.read_head(message):
            await reader.read_body(message, is_response=True)
    return message


async def learn(port: int, model: str) -> dict[str, list[Question]]:
    """The questions of each API with their answers, as this engine gives them."""
    questions: dict[str, list[Question]] = {}
    left = [Question(path, _text(path, number)) for path in ("/v1/chat/completions", "/v1/messages", "/v1/completions")
            for number in range(QUESTIONS if path == "/v1/chat/completions" else QUESTIONS // 5)]

    async def ask_some() -> None:
        stream, writer = await asyncio.open_connection("127.0.0.1", port)
        reader = Reader(stream, Changes())
        while left:
            question = left.pop()
            request = request_of(question, port, body_of(question, model, False, []))
            message = await ask(reader, writer, request, 20)
            reply = said(question.path, bytes(message.body), stream=False).text
            questions.setdefault(question.path, []).append(Question(question.path, question.text, reply))
        writer.close()

    await asyncio.gather(*(ask_some() for _ in range(48)))
    return questions


def _text(path: str, number: int) -> str:
    if path != "/v1/completions":
        return f"question {number} of {path}: what is {number} times {number}, and why?"
    family = 1000 + number % 10 * 100  # ten long beginnings, each with ten ends
    return ",".join(map(str, [*range(family, family + 96), 5000 + number]))
