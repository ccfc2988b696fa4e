"""Whatever the documentation names exists: metrics, keys and their tables, header fields, paths,
commands and their flags, on any page, in a sentence, a table or an example. (That the reference
pages name all there is: reference.py and unit tests of the configuration and the metrics.)"""

import re
import tomllib

from cpp_source import Finding, SourceFile

CONFIGURATION = "docs/operations/configuration.md"
METRICS = "docs/operations/metrics.md"
# What the original gateway called its things.
_OF_OTHERS = ("docs/operations/migration.md",)
_DECISIONS = "docs/adr/"  # name other people's functions too

_METRIC = re.compile(r"\brolter_[a-z_]+\b(?!\.\w)")
_METRIC_SUFFIX = re.compile(r"_(bucket|sum|count)$")
_FIELD = re.compile(r"\bx-(?:rolter|ratelimit|session|request|data-parallel)(?:-[a-z]+)*\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w./-])/(?:admin|page|v1|v2)(?:/[a-z_.]+)+")
_CODE = re.compile(r"```[^\n]*\n.*?```|`[^`\n]+`|^ {4,}\S.*$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?<![\w-])rolter ([a-z][a-z-]+)\b((?:[^`\n|;#]|\\\n)*)")
_FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
_TABLE_KEY = re.compile(r"`\[+([a-z_.]+)\]+(?:`,? `|[ ])([a-z_]+)\b[^`]*`")
_KEY_VALUE = re.compile(r"`([a-z_]+) = [^`\n]+`")
_UNDERSCORED = re.compile(r"`([a-z]+(?:_[a-z0-9]+)+)`")
_TOML = re.compile(r"```toml\n(.*?)```", re.DOTALL)
_SECTION = re.compile(r"^#{2,3} `\[+([a-z_.]+)\]+`$", re.MULTILINE)
_ROW_KEYS = re.compile(r"^\| ((?:`[a-z_]+`(?:, )?)+) \|", re.MULTILINE)


def check(files: list[SourceFile]) -> list[Finding]:
    pages = [file for file in files if file.path == "README.md" or (
        file.path.startswith("docs/") and file.path.endswith(".md") and file.path not in _OF_OTHERS)]
    names = _Names(files)
    return [finding for page in pages for finding in _of_page(page, names)]


class _Names:
    """What there is, by the code, and by the two reference pages that unit tests hold against it."""

    def __init__(self, files: list[SourceFile]):
        by_path = {file.path: file for file in files}
        source = "\n".join(file.text for file in files if file.path.startswith("src/"))
        self.words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", source))
        self.lower = source.lower()
        self.paths = set(re.findall(r'"(/[a-z0-9_/]+)"', source))
        self.metrics = set(_METRIC.findall(source))
        self.flags = _flags_by_command(by_path)
        self.keys = _keys_by_table(by_path[CONFIGURATION].text)
        self.any_key = set().union(*self.keys.values())


def _flags_by_command(by_path: dict[str, SourceFile]) -> dict[str, set[str]]:
    import reference  # the other direction; it knows how commands are declared

    return reference.flags_by_command(by_path)


def _keys_by_table(page: str) -> dict[str, set[str]]:
    parts = _SECTION.split(page)[1:]
    return {table: {key for row in _ROW_KEYS.findall(text) for key in re.findall(r"[a-z_]+", row)}
            for table, text in zip(parts[::2], parts[1::2])}


def _of_page(page: SourceFile, names: _Names) -> list[Finding]:
    findings = []

    def wrong(offset: int, what: str, name: str) -> None:
        findings.append(page.finding(offset, f"{what} {name} does not exist"))

    for match in _METRIC.finditer(page.text):
        name = _METRIC_SUFFIX.sub("", match.group(0))
        if not name.endswith("_") and match.group(0) not in names.words and name not in names.metrics:
            wrong(match.start(), "the metric", name)
    for match in _FIELD.finditer(page.text):
        if match.group(0).lower() not in names.lower:
            wrong(match.start(), "the field", match.group(0))
    for match in _CODE.finditer(page.text):
        _of_code(match, names, wrong)
    for match in _TABLE_KEY.finditer(page.text):
        table, key = match.groups()
        if key not in names.keys.get(table, ()):
            wrong(match.start(), "the key", f"[{table}] {key}")
    for match in _KEY_VALUE.finditer(page.text):
        if match.group(1) not in names.any_key:
            wrong(match.start(), "the key", match.group(1))
    for match in _UNDERSCORED.finditer(page.text):
        if match.group(1) not in names.words and not page.path.startswith(_DECISIONS):
            wrong(match.start(), "the name", match.group(1))
    for match in _TOML.finditer(page.text):
        for name in _unknown_in(match.group(1), names):
            wrong(match.start(), "the key", name)
    return findings


def _of_code(match: re.Match, names: _Names, wrong) -> None:
    """Paths, and commands with their flags."""
    text, start = match.group(0), match.start()
    for path in _PATH.finditer(text):
        name = path.group(0).rstrip("./")
        if path.group(0).startswith(("/admin", "/v1", "/v2")) and not any(
                known == name or known.startswith(name + "/") or known == name + "/"
                for known in names.paths):
            wrong(start + path.start(), "the path", name)
    for call in _COMMAND.finditer(text):
        command, rest = call.groups()
        if command not in names.flags:
            wrong(start + call.start(), "the command", f"rolter {command}")
            continue
        for flag in _FLAG.findall(rest):
            if flag not in names.flags[command] | {"--help"}:
                wrong(start + call.start(), f"rolter {command}: the flag", flag)


def _unknown_in(toml: str, names: _Names) -> list[str]:
    try:
        document = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        return [f"(an example that is no TOML: {error})"]
    unknown = []

    def look(table: str, value: dict) -> None:
        for key, inner in value.items():
            path = f"{table}.{key}" if table else key
            one = inner[0] if isinstance(inner, list) and inner and isinstance(inner[0], dict) else inner
            if isinstance(one, dict) and path in names.keys:
                for element in inner if isinstance(inner, list) else [inner]:
                    look(path, element)
            elif key not in names.keys.get(table, ()):
                unknown.append(path)

    look("", document)
    return unknown
