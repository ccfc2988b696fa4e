"""Writes the sections of docs/operations/soak.md that the soak tests make."""

import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def command() -> str:
    """The one that runs, as it is typed in the root of the sources."""
    words = [str(Path(sys.argv[0]).resolve().relative_to(ROOT)), *sys.argv[1:]]
    return shlex.join(words)


def write(file: Path | None, name: str, text: str) -> None:
    """Replaces what is between the section's two comments. Nothing without a file."""
    if file is None:
        return
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    document = file.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(begin) + ".*" + re.escape(end), re.DOTALL)
    if not pattern.search(document):
        raise SystemExit(f"{file} has no {begin} ... {end}")
    section = f"{begin}\n    {command()}\n\n{text}\n{end}"
    file.write_text(pattern.sub(lambda _: section, document), encoding="utf-8")
