"""What the checks need to know of C++: tracked files, and text without comments and literals."""

import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CPP_SUFFIXES = (".h", ".cpp")

_TOKEN = re.compile(
    r"""
    (?P<line_comment>//[^\n]*)
  | (?P<block_comment>/\*.*?\*/)
  | (?P<raw>R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)")
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class SourceFile:
    """One tracked file. `path` is relative to the repository, with forward slashes."""

    path: str
    text: str

    @cached_property
    def code(self) -> str:
        """The text with comments and the insides of literals blanked: same lines and columns."""
        return _TOKEN.sub(_blank, self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def finding(self, offset: int, message: str) -> Finding:
        return Finding(self.path, self.line_of(offset), message)


def _blank(match: re.Match) -> str:
    text = match.group(0)
    if match.lastgroup in ("line_comment", "block_comment"):
        return re.sub(r"[^\n]", " ", text)
    inner = re.sub(r"[^\n]", " ", text[1:-1])
    return text[0] + inner + text[-1]


def repository_root() -> Path:
    return Path(__file__).resolve().parents[2]


def tracked_files(root: Path) -> list[SourceFile]:
    """Every text file git tracks or would add, the way it is on disk now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True,
    ).stdout.decode()
    files = []
    for path in sorted(filter(None, listed.split("\0"))):
        file = root / path
        if not file.is_file():
            continue  # deleted but not yet committed
        try:
            files.append(SourceFile(path, file.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # binary test data
    return files


def cpp_files(files: list[SourceFile]) -> list[SourceFile]:
    return [f for f in files if f.path.endswith(CPP_SUFFIXES)]
