"""HTTP/1.1 as bytes: reads messages off a stream, keeps what was seen, judges nothing."""

import asyncio
import socket
import struct
import time
from dataclasses import dataclass, field


class Changes:
    """Wakes whoever waits for something to become true."""

    def __init__(self):
        self._waiters: set[asyncio.Event] = set()

    def notify(self) -> None:
        for waiter in self._waiters:
            waiter.set()

    async def wait_for(self, predicate, seconds: float) -> bool:
        """Whether the predicate held within the time."""
        deadline = time.monotonic() + seconds
        waiter = asyncio.Event()
        self._waiters.add(waiter)
        try:
            while not predicate():
                waiter.clear()
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                try:
                    await asyncio.wait_for(waiter.wait(), left)
                except TimeoutError:
                    return predicate()
            return True
        finally:
            self._waiters.discard(waiter)


@dataclass
class Message:
    """A request or a response, as far as it has come."""

    head: bytes = b""
    interim: list[bytes] = field(default_factory=list)  # 1xx heads that came before
    body: bytearray = field(default_factory=bytearray)
    framing: str = ""  # none, length, chunked or until-close
    end: str = ""  # clean; broken: ended early; reset; malformed; "" while it goes on
    started_at: float = 0.0
    head_at: float = 0.0
    first_byte_at: float = 0.0
    end_at: float = 0.0

    @property
    def start_line(self) -> str:
        return self.head.split(b"\r\n", 1)[0].decode("latin-1")

    @property
    def status(self) -> int:
        words = self.start_line.split(" ")
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    def values(self, name: str) -> list[str]:
        """Every value of a header field, in order."""
        found = []
        for line in self.head.split(b"\r\n")[1:]:
            key, colon, value = line.partition(b":")
            if colon and key.decode("latin-1").strip().lower() == name.lower():
                found.append(value.decode("latin-1").strip())
        return found

    def events(self) -> int:
        return self.body.count(b"data:")


class Reader:
    """Reads messages off one connection."""

    def __init__(self, stream: asyncio.StreamReader, changes: Changes):
        self._stream = stream
        self._changes = changes
        self._buffer = bytearray()
        self.ended = ""  # how the peer ended the connection: fin, rst, or "" while open
        self.bite, self.pause = 1 << 18, 0.0  # most bytes of one read, and the wait before it

    async def fill(self) -> bool:
        """Waits for more bytes; False when the peer has ended the connection."""
        if self.ended:
            return False
        if self.pause:
            await asyncio.sleep(self.pause)
        try:
            data = await self._stream.read(self.bite)
        except (ConnectionError, OSError):
            self.ended = "rst"
        else:
            self._buffer += data
            self.ended = "" if data else "fin"
        self._changes.notify()
        return not self.ended

    async def _take_line(self) -> bytes | None:
        while (end := self._buffer.find(b"\n")) < 0:
            if not await self.fill():
                return None
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return line

    async def read_head(self, message: Message) -> bool:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if not await self.fill():
                return False
        message.head = bytes(self._buffer[: end + 4])
        del self._buffer[: end + 4]
        message.head_at = time.monotonic()
        self._changes.notify()
        return True

    async def read_body(self, message: Message, is_response: bool) -> None:
        """To the end, whatever end that is; message.end says which."""
        message.framing = _framing(message, is_response)
        if message.framing == "chunked":
            await self._read_chunks(message)
        elif message.framing == "length":
            await self._read_bytes(message, int(message.values("content-length")[0]))
        elif message.framing == "until-close":
            while await self._take_some(message):
                pass
            message.end = "clean" if self.ended == "fin" else ""
        else:
            message.end = "clean"
        message.end = message.end or ("reset" if self.ended == "rst" else "broken")
        message.end_at = time.monotonic()
        self._changes.notify()

    async def _read_bytes(self, message: Message, length: int) -> None:
        while len(message.body) < length:
            if not await self._take_some(message, length - len(message.body)):
                return
        message.end = "clean"

    async def _read_chunks(self, message: Message) -> None:
        while (line := await self._take_line()) is not None:
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                message.end = "malformed"
                return
            if size == 0:
                while (line := await self._take_line()) not in (None, b"\r\n"):
                    pass
                message.end = "clean" if line else ""
                return
            want = len(message.body) + size
            while len(message.body) < want:
                if not await self._take_some(message, want - len(message.body)):
                    return
            await self._take_line()

    async def _take_some(self, message: Message, limit: int = 1 << 30) -> bool:
        if not self._buffer and not await self.fill():
            return False
        message.first_byte_at = message.first_byte_at or time.monotonic()
        message.body += self._buffer[:limit]
        del self._buffer[:limit]
        self._changes.notify()
        return True


def _framing(message: Message, is_response: bool) -> str:
    if is_response and (message.status in (204, 304) or message.status < 200):
        return "none"
    if any("chunked" in value.lower() for value in message.values("transfer-encoding")):
        return "chunked"
    if message.values("content-length"):
        return "length"
    return "until-close" if is_response else "none"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends the connection with a TCP reset, if it has not ended."""
    if writer.is_closing():
        return
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()
