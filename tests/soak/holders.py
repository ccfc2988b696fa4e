#!/usr/bin/env python3
"""The clients that hold on, and the replica they hold on to. A process of its own, so that what it
costs to play them is not measured on others.

usage: holders.py GATEWAY_PORT REPLICA_PORT CLIENTS

Says "ready" when the replica listens. On a line of standard input they all come: CLIENTS connections
that send a head a byte a second, CLIENTS that hold a stream on which nothing comes after its first
event, and one that asks for 200 MB and never reads. Says "held" then; goes when the input ends.
"""

import asyncio
import random
import sys

EVENT = b'data: {"choices":[{"index":0,"text":"a"}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
MEGABYTE = b"%x\r\n%s\r\n" % (1_000_000, b"x" * 1_000_000)
PUSHED_MB = 200
AT_ONCE = 50


def request(path: str) -> bytes:
    body = b'{"model":"held","prompt":"x","input":"x","stream":true}'
    return (f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


async def replica(stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One event and silence, or as much as anybody takes."""
    try:
        head = await stream.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
        if b"/v1/responses" in head:
            for _ in range(PUSHED_MB):
                writer.write(MEGABYTE)
                await writer.drain()
        while await stream.read(65_536):
            pass
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.transport.abort()


async def slow_head(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.sleep(random.random())
    for byte in request("/v1/completions"):
        writer.write(bytes([byte]))
        await asyncio.sleep(1)


async def idle_stream(port: int, held: asyncio.Queue) -> None:
    stream, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request("/v1/completions"))
    await stream.readuntil(b"data:")
    held.put_nowait(writer)
    await asyncio.Event().wait()


async def never_reads(port: int) -> None:
    # A limit so small that the transport stops reading the socket at once.
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(request("/v1/responses"))
    await asyncio.Event().wait()


async def main() -> None:
    gateway_port, replica_port, clients = map(int, sys.argv[1:])
    await asyncio.start_server(replica, "127.0.0.1", replica_port, backlog=4096)
    print("ready", file=sys.stderr, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    held: asyncio.Queue = asyncio.Queue()
    holders = []
    for start in range(0, clients, AT_ONCE):
        for _ in range(min(AT_ONCE, clients - start)):
            holders.append(asyncio.create_task(slow_head(gateway_port)))
            holders.append(asyncio.create_task(idle_stream(gateway_port, held)))
        await asyncio.sleep(0.1)
    holders.append(asyncio.create_task(never_reads(gateway_port)))
    streams = [await held.get() for _ in range(clients)]
    print("held", len(streams), file=sys.stderr, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    failed = [task.exception() for task in holders if task.done() and not task.cancelled()]
    if any(failed):
        sys.exit(f"a holder failed: {failed[:3]!r}")


if __name__ == "__main__":
    asyncio.run(main())
