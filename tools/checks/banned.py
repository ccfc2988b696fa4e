"""Calls and words this code base does without, each with its reason.

An exception carries its own reason on the same line or the one above it:
    // allowed(sleep): the deadline itself is what is tested
"""

import re
from dataclasses import dataclass

from cpp_source import Finding, SourceFile, cpp_files


@dataclass(frozen=True)
class Rule:
    name: str
    pattern: re.Pattern
    reason: str
    within: tuple[str, ...] = ("src/", "tests/", "bench/", "fuzz/")
    exempt: tuple[str, ...] = ()

    def applies_to(self, path: str) -> bool:
        return path.startswith(self.within) and not path.startswith(self.exempt)


def _rule(name, pattern, reason, **places) -> Rule:
    return Rule(name, re.compile(pattern), reason, **places)


_SRC = ("src/",)
_PROGRAM = ("src/rolter/runtime/", "src/rolter/cli/")

CODE_RULES = (
    _rule("clock", r"\b\w*_?[cC]lock\s*::\s*now\b|\b(std::)?time\s*\(\s*(nullptr|NULL|0)\s*\)"
          r"|\b(gettimeofday|clock_gettime)\s*\(",
          "time is an argument (TimePoint, or a Clock), so that every decision can be replayed",
          within=_SRC, exempt=_PROGRAM),
    _rule("entropy", r"\bstd::random_device\b|\b(std::)?s?rand\s*\(|\bdrand48\b",
          "randomness is an argument (Rng), so that every decision can be replayed",
          exempt=("src/rolter/base/random.cpp",)),
    _rule("environment", r"\b(std::|secure_)?getenv\s*\(",
          "the environment is read once, by cli/, and handed on as a value",
          within=_SRC, exempt=_PROGRAM),
    _rule("threads", r"\bstd::j?thread\b|\bstd::async\b|\bpthread_create\b",
          "runtime/ is the only owner of threads", within=_SRC, exempt=_PROGRAM),
    _rule("detach", r"[.>]\s*detach\s*\(\s*\)|\basio::detached\b|\bco_spawn\s*\([^;]*\bdetached\b",
          "every task and thread belongs to a scope that is closed and awaited"),
    _rule("sleep", r"\bsleep_(for|until)\b|\b(u|nano)sleep\s*\(|::sleep\s*\(",
          "wait for the event itself: a sleep is too long on a fast machine, too short on a slow one"),
    _rule("regex", r"\bstd::w?regex\b|\bregex_(match|search|replace)\b",
          "recursion and exponential time on the input of strangers", within=_SRC),
    _rule("using-namespace-std", r"\busing\s+namespace\s+std\s*;", "names must show where they come from"),
    _rule("c-parsing", r"\b(std::)?(strtok|sscanf|atoi|atol|atoll|atof|gets)\s*\(",
          "no error, or hidden state: use std::from_chars or absl"),
    _rule("c-strings", r"\b(std::)?(strcpy|strcat|sprintf|vsprintf)\s*\(", "unbounded writes"),
    _rule("naked-new", r"\bnew\s+(?!\()[A-Za-z_:]|\bdelete\s*\[\s*\]|\bdelete\s+[A-Za-z_(*]"
          r"|\b(std::)?(malloc|calloc|realloc|free)\s*\(",
          "one owner: std::make_unique, or a container",
          exempt=("bench/allocations.cpp",)),  # replaces operator new to count its calls
    _rule("atomic-shared-ptr", r"\batomic\s*<\s*(std::)?shared_ptr\b",
          "libstdc++ 12 races under TSan and locks on every load: use SnapshotCell"),
    _rule("silent-catch", r"\bcatch\s*\(\s*\.\.\.\s*\)\s*\{\s*\}",
          "expected failures are values; an unexpected one must be seen"),
    _rule("console", r"\bstd::(cout|cerr|clog)\b|\b(std::)?f?printf\s*\(|\bfmt::print\b",
          "logs go through telemetry, answers to the user through cli/",
          within=_SRC, exempt=("src/rolter/cli/",)),
    _rule("beast-streams", r"\b(beast::tcp_stream|any_io_executor|http::async_(read|write)\w*)\b",
          "22-25 us a request against 11.9: plain sockets with the concrete executor, parsers by put()",
          within=("src/rolter/http/", "src/rolter/proxy/")),
    _rule("disabled-test", r"\bDISABLED_\w+|\bGTEST_SKIP\s*\(\s*\)\s*;",
          "a test runs, or says in one line why it cannot", within=("tests/",)),
)

TEXT_RULES = (
    _rule("unfinished", r"\b(TODO|FIXME|XXX|HACK)\b", "finish it, or file an issue",
          within=("",), exempt=("tools/checks/",)),
    _rule("nolint", r"NOLINT(NEXTLINE|BEGIN)?(\s*$|\s*\*/|\((?!\w)|\([\w.,\s-]+\)(?!:\s*\S))",
          "write NOLINT(check-name): reason", exempt=("tests/tools/",)),
    _rule("glob", r"^\s*file\s*\(\s*GLOB", "sources are listed, so that a build sees new ones",
          within=("CMakeLists.txt", "cmake/", "src/", "tests/", "bench/", "fuzz/")),
)


def _is_allowed(file: SourceFile, line: int, rule: Rule) -> bool:
    marker = re.compile(rf"allowed\({re.escape(rule.name)}\):\s*\S")
    return any(marker.search(file.lines[i]) for i in (line - 2, line - 1) if 0 <= i < len(file.lines))


def _matches(file: SourceFile, text: str, rules: tuple[Rule, ...]) -> list[Finding]:
    findings = []
    for rule in rules:
        if not rule.applies_to(file.path):
            continue
        for match in rule.pattern.finditer(text):
            line = file.line_of(match.start())
            if not _is_allowed(file, line, rule):
                findings.append(Finding(
                    file.path, line, f"banned ({rule.name}): {match.group(0).strip()!r}: {rule.reason}"))
    return findings


def check(files: list[SourceFile]) -> list[Finding]:
    findings = []
    for file in cpp_files(files):
        findings += _matches(file, file.code, CODE_RULES)
    for file in files:
        for number, line in enumerate(file.lines, start=1):
            for rule in TEXT_RULES:
                if rule.applies_to(file.path) and rule.pattern.search(line):
                    findings.append(Finding(file.path, number, f"banned ({rule.name}): {rule.reason}"))
    return findings
