"""Paths of one machine have no place in the repository: it must build anywhere."""

import re

from cpp_source import Finding, SourceFile

# Written in halves so that this file passes its own check.
_MACHINE = re.compile("(?<![\\w.~$}-])/(" + "|".join(["wor" + "k", "roo" + "t", r"hom" + r"e/\w+"]) + r")(?=[/\s\"'`)]|$)")
_TEMPORARY = re.compile("(?<![\\w.~$}-])/tm" + r"p(?=[/\s\"'`)]|$)")


def check(files: list[SourceFile]) -> list[Finding]:
    findings = []
    for file in files:
        for number, line in enumerate(file.lines, start=1):
            match = _MACHINE.search(line)
            if not match and not file.path.startswith("tests/"):
                match = _TEMPORARY.search(line)
            if match:
                findings.append(Finding(file.path, number, f"path of one machine: {match.group(0)}"))
    return findings
