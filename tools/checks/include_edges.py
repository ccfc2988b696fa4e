"""Which folder of src/rolter may include which, and which third-party header goes where.

The table is the architecture: ARCHITECTURE.md explains it. A new edge is a change of design, so it
is made here, in the same commit, with its reason.
"""

import re

from cpp_source import Finding, SourceFile, cpp_files

CORE = ("base", "config", "openai", "kvcache", "cluster", "balance", "admission")
_SHELL = ("http", "telemetry", "feeds", "proxy", "admin", "simulator")
_ALL = CORE + _SHELL

# folder -> folders, or single headers, of ours it may include besides itself
ALLOWED = {
    "base": (),
    "config": ("base",),
    "openai": ("base",),
    "kvcache": ("base",),
    "cluster": ("base", "config"),
    # config: a strategy is made from its route, as plain values
    "balance": ("base", "config", "cluster", "kvcache", "openai/prompt.h"),
    "admission": ("base", "config"),
    "http": ("base",),
    "telemetry": ("base",),
    "feeds": ("base", "config", "cluster", "kvcache", "http"),
    "proxy": CORE + ("http", "telemetry"),
    "admin": CORE + ("http", "telemetry", "feeds", "proxy"),
    "simulator": ("base", "config", "cluster", "kvcache", "balance", "openai", "http"),
    "runtime": _ALL,
    "cli": _ALL + ("runtime",),
}

# The pure core decides; it never talks, waits, starts threads or opens files.
_CORE_BANNED = {
    r"boost/(asio|beast)": "sockets and coroutines belong to http/ and above",
    r"zmq": "ZeroMQ belongs to feeds/ and simulator/",
    r"openssl/": "TLS belongs to http/",
    r"(thread|stop_token|future|condition_variable|semaphore|latch|barrier)$":
        "the core starts no threads and waits for none",
    r"(sys/(socket|epoll|select|un)|netinet|arpa)": "the core opens no sockets",
    r"(fstream|cstdio|iostream)$": "the core reads and writes no files",
}

# header -> folders whose files may include it; heavy ones only in .cpp files
_THIRD_PARTY = {
    r"boost/beast": ("http",),
    r"boost/asio": ("http", "feeds", "proxy", "admin", "simulator", "runtime", "cli"),
    r"simdjson": ("openai", "feeds", "admin", "simulator", "cli"),
    r"toml\+\+": ("config",),
    r"spdlog": ("telemetry", "runtime", "cli"),
    r"CLI/": ("cli",),
    r"zmq": ("feeds", "simulator"),
    r"openssl/": ("http",),
    r"msgpuck": ("kvcache", "feeds", "simulator"),
    r"prometheus/": ("telemetry", "admin"),
}
_HEAVY = re.compile(r"boost/beast|simdjson|toml\+\+|spdlog|CLI/")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_LINK = re.compile(r"\brolter_([a-z]+)\b")


def folder_of(path: str) -> str | None:
    match = re.match(r"src/rolter/([a-z]+)/", path)
    return match.group(1) if match else None


def check(files: list[SourceFile]) -> list[Finding]:
    findings = []
    for file in cpp_files(files):
        for match in _INCLUDE.finditer(file.text):
            message = _fault(file.path, match.group(1), match.group(2))
            if message:
                findings.append(file.finding(match.start(), message))
    for file in files:
        if file.path.endswith("/CMakeLists.txt") and folder_of(file.path):
            findings += _link_faults(file)
    return findings


def _fault(path: str, quote: str, header: str) -> str | None:
    folder = folder_of(path)
    if header.startswith("."):
        return f'include "{header}": name the header from its root ("rolter/...")'
    if folder is None:
        return None
    if folder not in ALLOWED:
        return f"folder {folder} is not in the table of tools/checks/include_edges.py"
    if quote == '"' and not header.startswith("rolter/"):
        return f'include "{header}": sources of src/ include ours as "rolter/..." and others as <...>'
    if header.startswith("rolter/"):
        return _edge_fault(folder, header.removeprefix("rolter/"))
    return _third_party_fault(path, folder, header)


def _edge_fault(folder: str, header: str) -> str | None:
    other = header.split("/")[0]
    if other == folder or other in ALLOWED[folder] or header in ALLOWED[folder]:
        return None
    allowed = ", ".join(ALLOWED[folder]) or "nothing of ours"
    return f"{folder} may not include rolter/{header} (it may use: {allowed})"


def _third_party_fault(path: str, folder: str, header: str) -> str | None:
    if folder in CORE:
        for pattern, reason in _CORE_BANNED.items():
            if re.match(pattern, header):
                return f"{folder} is part of the pure core and may not include <{header}>: {reason}"
    for pattern, folders in _THIRD_PARTY.items():
        if re.match(pattern, header) and folder not in folders:
            return f"<{header}> belongs in {', '.join(folders)}, not in {folder}"
    if path.endswith(".h") and _HEAVY.match(header):
        return f"<{header}> takes seconds to compile: include it in .cpp files only"
    return None


def _link_faults(file: SourceFile) -> list[Finding]:
    folder = folder_of(file.path)
    folders = {name.split("/")[0] for name in ALLOWED.get(folder, ())}
    return [
        file.finding(match.start(), f"{folder} may not link rolter_{match.group(1)}")
        for match in _LINK.finditer(file.text)
        if match.group(1) in ALLOWED and match.group(1) not in folders | {folder}
    ]
