"""Sizes beyond which code stops being read: lines of a file, lines and parameters of a function.

Functions are found by a scanner, not a compiler: it follows braces through the text without
comments and literals, and takes as a function what follows a parameter list outside any function.
clang-tidy (make lint) adds cognitive complexity.
"""

import re
from dataclasses import dataclass

from cpp_source import Finding, SourceFile, cpp_files

FILE_LINES = 400
HEADER_LINES = 300
FUNCTION_LINES = 60
PARAMETERS = 6

_SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt")
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_CONTROL = re.compile(r"^\s*(if|for|while|switch|catch|else|do|try)\b")
_ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*")
_NOT_PARAMETERS = re.compile(r"\b(alignas|decltype|noexcept|explicit|requires|__attribute__)\s*\(\)")


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    last_line: int
    parameters: int

    @property
    def lines(self) -> int:
        return self.last_line - self.first_line + 1


def check(files: list[SourceFile]) -> list[Finding]:
    findings = []
    for file in files:
        findings += _file_size(file)
    for file in cpp_files(files):
        for function in functions(file):
            findings += _function_size(file, function)
    return findings


def _file_size(file: SourceFile) -> list[Finding]:
    is_cpp = file.path.endswith((".h", ".cpp"))
    if not (is_cpp or file.path.endswith(_SCRIPTS) or file.text.startswith("#!")):
        return []
    limit = HEADER_LINES if file.path.endswith(".h") else FILE_LINES
    if len(file.lines) <= limit:
        return []
    return [Finding(file.path, limit + 1, f"{len(file.lines)} lines; the budget is {limit}: split by noun")]


def _function_size(file: SourceFile, function: Function) -> list[Finding]:
    findings = []
    if function.lines > FUNCTION_LINES:
        findings.append(Finding(file.path, function.first_line,
                                f"{function.name} has {function.lines} lines; the budget is {FUNCTION_LINES}"))
    if function.parameters > PARAMETERS:
        findings.append(Finding(
            file.path, function.first_line,
            f"{function.name} takes {function.parameters} parameters; the budget is {PARAMETERS}:"
            " pass a struct"))
    return findings


def functions(file: SourceFile) -> list[Function]:
    """The function definitions of a file, lambdas and local classes counted with their function."""
    code = _PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), file.code)
    found = []
    scopes = []  # per open brace: "scope" (namespace, type), "body" (function) or "other"
    statement = 0  # where the text before the next brace begins
    open_function = None
    for match in re.finditer(r"[{};]", code):
        offset = match.start()
        if match.group(0) == "{":
            head = code[statement:offset]
            kind = "other" if "body" in scopes else _kind_of(head)
            if kind == "body":
                open_function = (head, statement, len(scopes))
            scopes.append(kind)
            statement = statement if kind == "other" and "body" not in scopes else offset + 1
        elif match.group(0) == "}":
            kind = scopes.pop() if scopes else "other"
            if kind == "body":
                found.append(_function(file, open_function, offset))
            statement = statement if kind == "other" and "body" not in scopes else offset + 1
        else:
            statement = offset + 1
    return found


def _kind_of(head: str) -> str:
    """What a brace outside any function opens, by the text between the last statement and it."""
    plain = _without_groups(head)
    if "=" in re.sub(r"operator\s*\S{1,3}\s*\(|[<>=!]=", "", plain) or _CONTROL.match(plain):
        return "other"  # an initialiser
    if "()" in _NOT_PARAMETERS.sub(" ", plain) and not _ends_in_member_initialiser(plain):
        return "body"
    return "scope" if _SCOPE.search(plain) else "other"


def _ends_in_member_initialiser(plain: str) -> bool:
    """`Foo::Foo(int a) : a_{` opens an initialiser, `... : a_(a) {` the body."""
    return re.search(r"\)\s*(noexcept\s*)?:(?!:).*[\w>]\s*$", plain, re.DOTALL) is not None


def _without_groups(head: str) -> str:
    """Empties (...), <...>, [...] and {...}, innermost first."""
    previous = None
    while previous != head:
        previous = head
        head = re.sub(r"\([^()]+\)", "()", head)
        head = re.sub(r"\{[^{}]*\}", "()", head)
        head = re.sub(r"\[[^\[\]]*\]", " ", head)
        head = re.sub(r"<[^<>]*>", " ", head)
    return head


def _function(file: SourceFile, opened: tuple[str, int, int], end: int) -> Function:
    head, start, _ = opened
    start += _ACCESS.match(head).end()
    name = re.search(r"(operator\s*[^\s\w(]+|operator\s*\(\s*\)|~?[\w:~]+)\s*\(", head)
    return Function(
        name=name.group(1) if name else "function",
        first_line=file.line_of(start),
        last_line=file.line_of(end),
        parameters=_count_parameters(head[name.end():] if name else ""),
    )


def _count_parameters(rest: str) -> int:
    """Parameters in the text that follows the opening parenthesis."""
    depth, commas, any_text = 0, 0, False
    for char in rest:
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            if depth == 0:
                break
            depth -= 1
        elif char == "," and depth == 0:
            commas += 1
        any_text = any_text or not char.isspace()
    return commas + 1 if any_text else 0
