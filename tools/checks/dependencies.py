"""tools/packages.txt (what is installed) and docs/dependencies.md (why) name the same packages."""

import re

from cpp_source import Finding, SourceFile

PACKAGES = "tools/packages.txt"
REASONS = "docs/dependencies.md"
_ROW = re.compile(r"^\| `([a-z0-9.+-]+)` \|\s*(\S.*?)\s*\|", re.MULTILINE)


def check(files: list[SourceFile]) -> list[Finding]:
    by_path = {file.path: file for file in files}
    if PACKAGES not in by_path or REASONS not in by_path:
        return [Finding(PACKAGES, 1, f"{PACKAGES} and {REASONS} must both exist")]
    installed = {line.split()[1] for line in by_path[PACKAGES].lines if line and line[0] != "#"}
    explained = {match.group(1) for match in _ROW.finditer(by_path[REASONS].text)}
    return [
        Finding(REASONS, 1, f"{name} is installed but has no row with its reason")
        for name in sorted(installed - explained)
    ] + [
        Finding(PACKAGES, 1, f"{name} has a row in {REASONS} but is not installed")
        for name in sorted(explained - installed)
    ]
