"""docs/operations/ and the code name the same things: flags of the commands, paths of both
listeners, header fields. (Configuration keys and metrics are compared by unit tests, which know
types and defaults too.)"""

import re

from cpp_source import Finding, SourceFile

COMMANDS = "docs/operations/commands.md"
API = "docs/operations/api.md"
ADMIN = "docs/operations/admin.md"

_CLI = "src/rolter/cli/"
_FLAG = re.compile(r'add_(?:option|flag)\(\s*"([^"]+)"')
_COMMAND = re.compile(r'add_subcommand\(\s*"([^"]+)"')
_ADMIN_FLAGS = "add_admin_options(*command"
_PATH_SOURCES = {
    API: ("src/rolter/openai/endpoint.cpp", "src/rolter/proxy/local_answers.cpp"),
    ADMIN: ("src/rolter/admin/admin_service.cpp", "src/rolter/admin/admin_server.cpp"),
}
_PATH = re.compile(r'"(/[a-z0-9_/]+)"')
_DOCUMENTED_PATH = re.compile(r"`(?:(?:GET|POST) )?(/[a-z0-9_/.]*)`")
_FIELD = re.compile(r'"(x-[a-z-]+)', re.IGNORECASE)
_DOCUMENTED_FIELD = re.compile(r"`(x-[a-z-]+)`")
_FIELD_FOLDERS = ("admission", "admin", "http", "proxy")
# metrics_path is a setting; the page's files are listed by the build.
_SETTINGS = {"/metrics"}
_PAGE = "/page/"


def check(files: list[SourceFile]) -> list[Finding]:
    by_path = {file.path: file for file in files}
    missing = [path for path in (COMMANDS, API, ADMIN) if path not in by_path]
    if missing:
        return [Finding(missing[0], 1, "the reference is missing")]
    return _flags(by_path) + _paths(by_path) + _fields(by_path)


def _compare(page: str, what: str, code: set[str], documented: set[str]) -> list[Finding]:
    return [Finding(page, 1, f"{what} {name} is in the code but not on this page")
            for name in sorted(code - documented)] + \
           [Finding(page, 1, f"{what} {name} is on this page but not in the code")
            for name in sorted(documented - code)]


def _names(declared: str) -> set[str]:
    """ "-c,--config" and "!--no-details"; a name without dashes is a positional argument."""
    return {name.lstrip("!") for name in declared.split(",") if name.lstrip("!").startswith("-")}


def _flags_in(text: str) -> set[str]:
    return {name for match in _FLAG.finditer(text) for name in _names(match.group(1))}


def flags_by_command(by_path: dict[str, SourceFile]) -> dict[str, set[str]]:
    """As the code declares them."""
    shared = _flags_in(by_path[_CLI + "admin_client.cpp"].text)
    code = {}
    for path, file in by_path.items():
        command = _COMMAND.search(file.text) if path.startswith(_CLI) else None
        if command:
            code[command.group(1)] = _flags_in(file.text) | (
                shared if _ADMIN_FLAGS in file.text else set())
    return code


def _flags(by_path: dict[str, SourceFile]) -> list[Finding]:
    code = flags_by_command(by_path)
    sections = re.split(r"^## rolter ", by_path[COMMANDS].text, flags=re.MULTILINE)[1:]
    documented = {section.split("\n")[0].strip(): _flags_of_rows(section) for section in sections}
    findings = _compare(COMMANDS, "the command", set(code), set(documented))
    for command in sorted(set(code) & set(documented)):
        findings += _compare(COMMANDS, f"rolter {command}: the flag", code[command],
                             documented[command])
    return findings


def _flags_of_rows(section: str) -> set[str]:
    cells = (line.split("|")[1] for line in section.splitlines() if line.startswith("| `-"))
    return {name for cell in cells for name in re.findall(r"`(-[a-z-]+)`", cell)}


def _paths(by_path: dict[str, SourceFile]) -> list[Finding]:
    findings = []
    for page, sources in _PATH_SOURCES.items():
        code = {path for source in sources for path in _PATH.findall(by_path[source].text)}
        rows = (line.split("|")[1] for line in by_path[page].lines if line.startswith("| `"))
        documented = {path for row in rows for path in _DOCUMENTED_PATH.findall(row)
                      if path != "/" and not path.startswith(_PAGE)}
        findings += _compare(page, "the path", code - _SETTINGS, documented - _SETTINGS)
    return findings


def _fields(by_path: dict[str, SourceFile]) -> list[Finding]:
    code = {name.lower() for path, file in by_path.items()
            if re.match(rf"src/rolter/({'|'.join(_FIELD_FOLDERS)})/", path)
            and path.endswith((".h", ".cpp"))
            for name in _FIELD.findall(file.text)}
    documented = set(_DOCUMENTED_FIELD.findall(by_path[API].text))
    return _compare(API, "the field", code, documented)
