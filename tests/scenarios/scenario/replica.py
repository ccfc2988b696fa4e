"""A replica that does to a connection what its case says, and remembers what it saw."""

import asyncio
import time
from dataclasses import dataclass, field

from .values import (CHAT_REPLY, STREAM_END, STREAM_HEAD, CaseError, event, response, take, to_bytes)
from .wire import Changes, Message, Reader, chunk, reset

# What a gateway may ask beside requests; answered without a script.
_CONTROL = {
    "/health": b"",
    "/metrics": b"vllm:num_requests_running 0\n",
    "/v1/models": b'{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm"}]}',
}


@dataclass
class Seen:
    """One request as it reached a replica."""

    replica: str
    attempt: int  # from 1, over all replicas
    nth_on_connection: int  # from 1
    message: Message
    sent_body: bytearray = field(default_factory=bytearray)  # of the answer, without framing
    gone_at: float = 0.0  # when the gateway ended the connection, while the answer was not over


@dataclass(frozen=True)
class Rule:
    """Which requests an answer is for; the first rule that fits is taken."""

    actions: list[dict]
    replica: str = ""
    attempts: range = range(1, 1 << 30)
    nth_on_connection: int = 0
    path: str = ""

    def fits(self, seen: Seen) -> bool:
        target = seen.message.start_line.split(" ")[1]
        return (
            self.replica in ("", seen.replica)
            and seen.attempt in self.attempts
            and self.nth_on_connection in (0, seen.nth_on_connection)
            and (not self.path or target.split("?")[0] == self.path)
        )


def make_rule(table: dict) -> Rule:
    values = take(table, "[[replica]]", name="", attempt=0, from_attempt=1, nth_on_connection=0,
                  path="", do=None)
    if not isinstance(values["do"], list):
        raise CaseError("[[replica]]: do must be a list of actions")
    check_actions(values["do"])
    first, last = values["from_attempt"], 1 << 30
    if values["attempt"]:
        first, last = values["attempt"], values["attempt"] + 1
    return Rule(values["do"], values["name"], range(first, last), values["nth_on_connection"],
                values["path"])


def check_actions(actions: list[dict]) -> None:
    for action in actions:
        if len(action) != 1:
            raise CaseError(f"an action has one verb: {action!r}")
        verb, value = next(iter(action.items()))
        if not hasattr(Answer, f"_do_{verb}"):
            raise CaseError(f"unknown action {verb!r}")
        if verb == "repeat":
            check_actions(value["do"])


class Hangup(Exception):
    """The script ends the connection here."""


class Replica:
    def __init__(self, name: str, rules: list[Rule], log: list[Seen], changes: Changes,
                 idle_close: float = 0.0):
        self.name = name
        self.port = 0
        self.connections = 0
        self._rules = rules
        self._log = log  # shared by all replicas of a case, in order of arrival
        self._changes = changes
        self._idle_close = idle_close
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, asyncio.Task] = {}

    async def start(self) -> None:
        """Listens; on the same port again after kill()."""
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, backlog=1024, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        """As vLLM after SIGTERM: the port refuses, and what is open stays as it is."""
        self._server.close()

    async def kill(self) -> None:
        """As a killed process does it: the port refuses and every connection is reset."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for writer, task in list(self._open.items()):
            reset(writer)
            task.cancel()
        await asyncio.gather(*self._open.values(), return_exceptions=True)

    async def _serve(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open[writer] = asyncio.current_task()
        reader = Reader(stream, self._changes)
        nth = 0
        try:
            while await self._next_head(reader, message := Message(), nth):
                nth += 1
                await self._answer(reader, writer, message, nth)
        except (Hangup, TimeoutError, OSError, asyncio.CancelledError):
            pass  # the script's end, the peer's, or kill()
        finally:
            del self._open[writer]
            writer.close()

    async def _next_head(self, reader: Reader, message: Message, served: int) -> bool:
        limit = self._idle_close if self._idle_close and served else None
        return await asyncio.wait_for(reader.read_head(message), limit)

    async def _answer(self, reader: Reader, writer, message: Message, nth: int) -> None:
        if any("100-continue" in value for value in message.values("expect")):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await reader.read_body(message, is_response=False)
        if message.end != "clean":
            raise Hangup
        path = message.start_line.split(" ")[1]
        if message.start_line.startswith("GET ") and path in _CONTROL:
            writer.write(response(200, [], _CONTROL[path]))
            return
        seen = Seen(self.name, len(self._log) + 1, nth, message)
        self._log.append(seen)
        self._changes.notify()
        rule = next((rule for rule in self._rules if rule.fits(seen)), None)
        watch = asyncio.create_task(self._watch(reader, seen))
        try:
            await Answer(writer, seen, self._changes).play(rule.actions if rule else [{"reply": {}}])
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self, reader: Reader, seen: Seen) -> None:
        while await reader.fill():
            pass
        seen.gone_at = time.monotonic()
        self._changes.notify()


class Answer:
    """Plays actions on one connection. Each action is a table with one key: its verb."""

    def __init__(self, writer: asyncio.StreamWriter, seen: Seen, changes: Changes):
        self._writer = writer
        self._seen = seen
        self._changes = changes

    async def play(self, actions: list[dict]) -> None:
        for action in actions:
            verb, value = next(iter(action.items()))
            await getattr(self, f"_do_{verb}")(value)

    async def _send(self, data: bytes, body: bytes = b"") -> None:
        if self._seen.gone_at:
            raise Hangup
        self._seen.sent_body += body
        self._writer.write(data)
        await self._writer.drain()

    async def _do_reply(self, value: dict) -> None:
        """A whole answer, framed by its length."""
        values = take(value, "reply", status=200, body=None, headers=[])
        body = CHAT_REPLY if values["body"] is None else to_bytes(values["body"])
        headers = values["headers"] or ["Content-Type: application/json"]
        await self._send(response(values["status"], headers, body), body)

    async def _do_head(self, value) -> None:
        """The head of a stream: "stream" for vLLM's, or the bytes given."""
        await self._send(STREAM_HEAD if value == "stream" else to_bytes(value))

    async def _do_events(self, value) -> None:
        """Events, one chunk and one write each."""
        for one in value:
            await self._do_chunk({"raw": event(one)})

    async def _do_cut(self, value: dict) -> None:
        """Events cut every `every` bytes with a pause between the writes."""
        values = take(value, "cut", events=[], every=1, pause=0.0, end=True)
        data = b"".join(event(one) for one in values["events"])
        data += STREAM_END if values["end"] else b""
        for start in range(0, len(data), values["every"]):
            await self._do_chunk({"raw": data[start : start + values["every"]]})
            await asyncio.sleep(values["pause"])

    async def _do_chunk(self, value) -> None:
        """Bytes as one chunk."""
        raw = value["raw"] if isinstance(value, dict) and "raw" in value else to_bytes(value)
        await self._send(chunk(raw), raw)

    async def _do_body(self, value) -> None:
        """Bytes of the body without framing."""
        await self._send(to_bytes(value), to_bytes(value))

    async def _do_send(self, value) -> None:
        """Bytes that are not body: framing, or nonsense."""
        await self._send(to_bytes(value))

    async def _do_end(self, value: str) -> None:
        """"done": finish chunk, [DONE] and the last chunk. "last-chunk": that alone."""
        if value == "done":
            await self._do_chunk({"raw": STREAM_END})
        await self._send(b"0\r\n\r\n")

    async def _do_stream(self, value: dict) -> None:
        """A whole stream: head, events with a pause after each, end."""
        values = take(value, "stream", events=[], pause=0.0, end="done")
        await self._do_head("stream")
        for one in values["events"]:
            await self._do_events([one])
            await asyncio.sleep(values["pause"])
        await self._do_end(values["end"])

    async def _do_pause(self, value: float) -> None:
        await asyncio.sleep(value)

    async def _do_repeat(self, value: dict) -> None:
        values = take(value, "repeat", times=1, do=[])
        for _ in range(values["times"]):
            await self.play(values["do"])

    async def _do_hang(self, value: float) -> None:
        """Silent until the gateway ends the connection, or for so many seconds."""
        await self._changes.wait_for(lambda: self._seen.gone_at, value)
        raise Hangup

    async def _do_close(self, value: str) -> None:
        await self._writer.drain()
        if value == "rst":
            reset(self._writer)
        elif value != "fin":
            raise CaseError(f"close is fin or rst, not {value!r}")
        raise Hangup
