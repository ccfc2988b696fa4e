"""A client that sends exact bytes and keeps exact answers."""

import asyncio
import time

from .values import CHAT_PATH, CaseError, to_bytes
from .wire import Changes, Message, Reader, chunk, reset


class Connection:
    """One client connection. Answers are read in the background from the first read on."""

    def __init__(self, stream, writer, changes: Changes):
        self.writer = writer
        self.answers: list[Message] = []
        self._reader = Reader(stream, changes)
        self._changes = changes
        self._reading: asyncio.Task | None = None

    @classmethod
    async def open(cls, port: int, changes: Changes) -> "Connection":
        stream, writer = await asyncio.open_connection("127.0.0.1", port)
        return cls(stream, writer, changes)

    @property
    def ended(self) -> bool:
        """Nothing more can be asked here: it has ended, or its last answer said that it would."""
        announced = bool(self.answers) and "close" in self.answers[-1].values("connection")
        return bool(self._reader.ended) or announced

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def send_if_open(self, data: bytes) -> None:
        """A peer that ends the connection meanwhile is no error: what it answered will say more."""
        try:
            await self.send(data)
        except ConnectionError:
            self.writer.close()

    async def next_answer(self, started_at: float, enough, seconds: float) -> Message:
        """The answer that comes next, read until `enough` holds or it has ended."""
        message = Message(started_at=started_at)
        self.answers.append(message)
        if self._reading:
            await self._reading
        self._reading = asyncio.create_task(self._read(message))
        await self._changes.wait_for(lambda: message.end or enough(message), seconds)
        return message

    async def rest(self, seconds: float) -> Message:
        """The answer begun last, to its end."""
        if not self.answers:
            raise CaseError("nothing was read yet")
        message = self.answers[-1]
        await self._changes.wait_for(lambda: message.end, seconds)
        return message

    async def _read(self, message: Message) -> None:
        while await self._reader.read_head(message):
            if message.status != 100:
                await self._reader.read_body(message, is_response=True)
                return
            message.interim.append(message.head)
            message.head = b""
            self._changes.notify()
        message.end = "reset" if self._reader.ended == "rst" else "closed"
        message.end_at = time.monotonic()
        self._changes.notify()

    async def close(self, how: str) -> None:
        if how == "rst":
            reset(self.writer)
        elif how == "half":
            self.writer.write_eof()
            return
        elif how == "fin":
            self.writer.close()
        else:
            raise CaseError(f"close is fin, rst or half, not {how!r}")
        if self._reading:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)


def request_bytes(request: dict, port: int) -> tuple[bytes, bytes]:
    """Head and framed body of a request, and the body alone. Content-Length unless said otherwise."""
    body = to_bytes(request["body"])
    head = [f"{request['method']} {request['path']} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    if body:
        head.append(f"Content-Type: {request['content_type']}")
    head += request["headers"]
    if request["chunks_of"]:
        head.append("Transfer-Encoding: chunked")
        size = request["chunks_of"]
        framed = b"".join(chunk(body[i : i + size]) for i in range(0, len(body), size)) + b"0\r\n\r\n"
    else:
        framed = body
        if body or request["method"] == "POST":
            head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode("utf-8", "surrogateescape") + framed, body


REQUEST_DEFAULTS = {
    "method": "POST",
    "path": CHAT_PATH,
    "headers": [],
    "body": "",
    "content_type": "application/json",
    "chunks_of": 0,
}
