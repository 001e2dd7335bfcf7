"""Finds places in C++ text where one small change should change a result.

Purely lexical, and made for clang-formatted code: a binary operator has white space on both sides,
which a template bracket, a pointer declarator or a sign has not. Nothing is chosen by line number.
"""

import dataclasses
import re

# DATA is the arithmetic of statements that compute or move values; ARITHMETIC is all of it.
DATA, ARITHMETIC, CONTROL = "data", "arithmetic", "control"

# operator -> what it becomes
ARITHMETIC_OPERATORS = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "+=": "-=",
    "-=": "+=",
    "*=": "+=",
    "/=": "*=",
}
CONTROL_OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
}
ARITHMETIC_CALLS = {
    "std::min": "std::max",
    "std::max": "std::min",
    "addF32": "mulF32",
    "mulF32": "addF32",
    "maxF32": "addF32",
    "ceilDiv": "roundUp",
}

# Errors, assertions, checks and books: a change there is not a change of a result.
SKIPPED_STATEMENT = re.compile(
    r"\berror<|\bfault\b|\bfail|SPYRE_|static_assert|\bassert\b|\bfmt::|\bthrow\b|\btemplate\b"
    r"|\boperator\b|[Ss]anit|[Cc]ounter|[Rr]ace|[Vv]iolat|[Cc]heck|[Rr]ecord|[Dd]iagnos|[Mm]essage"
    r"|[Cc]ycle|[Cc]lock|[Cc]ost\b|[Pp]oison|[Ss]hadow|reserve\(|\bassign\("
)
# An arithmetic function, a conversion, a copy, an element assigned or read at a computed place, an
# address that is followed.
DATA_STATEMENT = re.compile(
    r"F32\(|fma|_mm\d*_|memcpy|memmove|deviceToFloat|floatToDevice|\bat\(|\bload\(|\bstore\(|\bcombine\("
    r"|\] [-+*]?= |\w\[[^\]]* [-+*] "
)

_SKIPPED_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<raw>[^(]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'"""
    r"""|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
_OPERATOR = re.compile(r"(?<=\s)(?:[+\-*/%]=?|<=?|>=?|==|!=|&&|\|\|)(?=\s)")
_CALL = re.compile(r"\b(?:std::min|std::max|addF32|mulF32|maxF32|ceilDiv)(?=[<(])")
_CONSTANT = re.compile(r"(?<![\w.'])(?:[0-9]|[1-9][0-9]{1,2})(?![\w.'])")
_ADDED = re.compile(r"\s*[\w.\->\[\]]+ [+\-]= [^;{}]*;")


@dataclasses.dataclass(frozen=True)
class Site:
    """One change: text[begin:end] becomes `replacement`."""

    begin: int
    end: int
    replacement: str
    kind: str
    statement: str  # normalised, with the place marked
    probe: int  # where an expression begins that runs exactly when the changed one does, or -1

    def apply(self, text: str) -> str:
        return text[: self.begin] + self.replacement + text[self.end :]

    def line(self, text: str) -> int:
        return text.count("\n", 0, self.begin) + 1


def mask(text: str) -> str:
    """The text with comments, literals and preprocessor lines blanked, at the same positions."""
    return _SKIPPED_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def statement_bounds(code: str) -> list[tuple[int, int]]:
    """Spans between ';' and the braces of blocks. A for header is one span with what stands before it, and
    braces of initialisers, which clang-format writes without blanks inside, are part of their statement."""
    bounds, begin, stack = [], 0, []
    for match in re.finditer(r"\bfor \(|[(){};]", code):
        token = match.group()
        inside = bool(stack) and stack[-1] in ("for (", "init")
        if token == "{" and not code[match.end() : match.end() + 1].isspace():
            stack.append("init")
        elif token == "}" and stack and stack[-1] == "init":
            stack.pop()
        elif token in ("(", "for ("):
            stack.append(token)
        elif token == ")":
            if stack:
                stack.pop()
        elif token == "{" or token == "}" or not inside:
            if token == "{":
                stack.append("block")
            elif token == "}" and stack:
                stack.pop()
            bounds.append((begin, match.end()))
            begin = match.end()
    return bounds


def _marked(code: str, begin: int, end: int, at: int, to: int) -> str:
    text = code[begin:at] + "@" + code[at:to] + "@" + code[to:end]
    return " ".join(text.split())


def _next_token(code: str, at: int) -> int:
    return at + len(code[at:]) - len(code[at:].lstrip())


def find_sites(text: str) -> list[Site]:
    """All sites of a file in the order of the text."""
    code, sites = mask(text), []
    bounds = statement_bounds(code)
    for index, (begin, end) in enumerate(bounds):
        statement = code[begin:end]
        # The condition of a refusal belongs to it.
        following = slice(*bounds[index + 1]) if statement.endswith("{") and index + 1 < len(bounds) else slice(0)
        guarded = code[following] if re.match(r"\s*(?:\} else )?if\b", statement) else ""
        if SKIPPED_STATEMENT.search(statement) or SKIPPED_STATEMENT.search(guarded):
            continue

        arithmetic = DATA if DATA_STATEMENT.search(statement) else ARITHMETIC

        def add(match, replacement, kind, probe):
            at, to = begin + match.start(), begin + match.end()
            sites.append(Site(at, to, replacement, kind, _marked(code, begin, end, at, to), probe))

        for match in _OPERATOR.finditer(statement):
            operator, after = match.group(), _next_token(code, begin + match.end())
            if operator in ARITHMETIC_OPERATORS:
                add(match, ARITHMETIC_OPERATORS[operator], arithmetic, after)
            elif operator in CONTROL_OPERATORS:
                add(match, CONTROL_OPERATORS[operator], CONTROL, after)
        for match in _CALL.finditer(statement):
            opening = code.find("(", begin + match.end())
            add(match, ARITHMETIC_CALLS[match.group()], arithmetic, opening + 1)
        for match in _CONSTANT.finditer(statement):
            add(match, str(int(match.group()) + 1), CONTROL, begin + match.start())
        dropped = _ADDED.fullmatch(statement)
        if dropped:
            inside = re.compile(r"\S.*;", re.DOTALL).search(statement)
            equal = begin + statement.index("= ") + 2
            add(inside, ";", arithmetic, equal)
    return sites
