"""Screenshots as small PNG files: at most 256 colours. Standard library only."""

import struct
import zlib
from collections import Counter

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {2: 3, 6: 4}  # by colour type: RGB, RGBA


def shrink(png: bytes) -> bytes:
    """The picture with its 256 most frequent colours; others become the nearest of them. Pages are
    flat colours and the shades of letters' edges, so hardly anything changes."""
    width, height, rows = _read(png)
    counts = Counter(pixel for row in rows for pixel in row)
    palette = [colour for colour, _ in counts.most_common(256)]
    index = {colour: number for number, colour in enumerate(palette)}
    for colour in counts:
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda n: _distance(palette[n], colour))
    lines = b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in rows)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"PLTE", b"".join(palette)) + \
        _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")


def _distance(a: bytes, b: bytes) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _read(png: bytes) -> tuple[int, int, list[list[bytes]]]:
    """Width, height, and the rows of pixels without their opacity (a screenshot has none)."""
    if not png.startswith(_SIGNATURE):
        raise ValueError("no PNG")
    at, data = len(_SIGNATURE), b""
    width = height = channels = 0
    while at < len(png):
        length, name = struct.unpack_from(">I4s", png, at)
        body = png[at + 8:at + 8 + length]
        at += 12 + length
        if name == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            if depth != 8 or colours not in _CHANNELS or interlaced:
                raise ValueError(f"unexpected kind of PNG: depth {depth}, colour type {colours}")
            channels = _CHANNELS[colours]
        elif name == b"IDAT":
            data += body
    size = width * channels
    lines = _unfilter(zlib.decompress(data), size, height, channels)
    return width, height, [[bytes(line[x:x + 3]) for x in range(0, size, channels)] for line in lines]


def _unfilter(raw: bytes, size: int, height: int, step: int) -> list[bytearray]:
    """Undoes the filters of PNG, section 9.2; `step` is the bytes of a pixel."""
    lines, before = [], bytearray(size)
    for y in range(height):
        kind, *_ = raw[y * (size + 1):y * (size + 1) + 1]
        line = bytearray(raw[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for x in range(size if kind else 0):
            left = line[x - step] if x >= step else 0
            corner = before[x - step] if x >= step else 0
            line[x] = (line[x] + _predicted(kind, left, before[x], corner)) & 255
        lines.append(line)
        before = line
    return lines


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 2:
        return above
    if kind == 3:
        return (left + above) // 2
    guess = left + above - corner  # Paeth
    a, b, c = abs(guess - left), abs(guess - above), abs(guess - corner)
    return left if a <= b and a <= c else above if b <= c else corner
