#!/usr/bin/env python3
"""TCP relays that misbehave when they are told to. A process of its own.

usage: relays.py LISTEN:TO...        (ports on 127.0.0.1; says "ready" when all listen)

Commands on standard input, one a line, LISTEN being the relay's port:
  reset LISTEN          resets every connection
  hang LISTEN SECONDS   passes nothing on, either way, for so long
  slow LISTEN SECONDS   passes on in small pieces for so long
  refuse LISTEN         closes the listener and resets every connection
  accept LISTEN         listens again
"""

import asyncio
import struct
import socket
import sys
import time

PIECE = 200  # bytes at a time when slow, and the pause after each
PAUSE = 0.01


def reset(writer: asyncio.StreamWriter) -> None:
    if not writer.is_closing():
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


class Relay:
    def __init__(self, listen: int, to: int):
        self.listen, self.to = listen, to
        self._server: asyncio.Server | None = None
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._hangs_until = self._slow_until = 0.0

    async def accept(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", self.listen, backlog=512, reuse_address=True)

    async def refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.reset()

    async def reset(self) -> None:
        for pair in list(self._pairs):
            for writer in pair:
                reset(writer)

    async def hang(self, seconds: float) -> None:
        self._hangs_until = time.monotonic() + seconds

    async def slow(self, seconds: float) -> None:
        self._slow_until = time.monotonic() + seconds

    async def _serve(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_stream, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            reset(writer)
            return
        pair = (writer, far_writer)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._pump(stream, far_writer), self._pump(far_stream, writer))
        finally:
            self._pairs.discard(pair)

    async def _pump(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await stream.read(65_536):
                while (left := self._hangs_until - time.monotonic()) > 0:
                    await asyncio.sleep(left)
                while data and time.monotonic() < self._slow_until:
                    writer.write(data[:PIECE])
                    data = data[PIECE:]
                    await asyncio.sleep(PAUSE)
                writer.write(data)
                await writer.drain()
            writer.close()
        except OSError:
            reset(writer)


async def main() -> None:
    relays = {}
    for words in sys.argv[1:]:
        listen, to = map(int, words.split(":"))
        relays[listen] = Relay(listen, to)
        await relays[listen].accept()
    print("ready", file=sys.stderr, flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := await commands.readline():
        verb, listen, *seconds = line.decode().split()
        await getattr(relays[int(listen)], verb)(*map(float, seconds))


if __name__ == "__main__":
    asyncio.run(main())
