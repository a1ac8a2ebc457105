"""What of a Typst file is typed text: without code, mathematics, comments, labels and citations."""

import re

CODE = re.compile(r"(let|set|show|import|include|if|for|while|context|return)\b")
NAME = re.compile(r"[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)*")
LABEL = re.compile(r"<[\w:.-]+>")
CITATION = re.compile(r"@([\w:-]+(?:\.[\w:-]+)*)")
CLOSES = {"(": ")", "{": "}", "[": "]"}


def typed_numbers(source):
    """Digits in the text of a Typst file, each with some of the text before it."""
    text = " ".join(text_of(source).split())
    return [text[max(found.start() - 40, 0) : found.end()] for found in re.finditer(r"\d[\d.,]*", text)]


def cited(source):
    """Keys that a Typst file refers to: citations, and labels of its own."""
    return set(CITATION.findall(re.sub(r"(?m)^\s*//.*$", "", source)))


def text_of(source):
    """The text alone."""
    text, end = _markup(source, 0, "")
    assert end == len(source), f"read {end} of {len(source)} characters"
    return text


def _markup(source, at, close):
    """Text from here to a closing bracket, or to the end; and where that is."""
    text = []
    while at < len(source) and source[at] != close:
        rest = source[at : at + 200]
        if (skipped := _skipped(source, at)) is not None:
            at = skipped
        elif rest[0] == "\\":
            at += 2
        elif found := LABEL.match(rest) or CITATION.match(rest):
            at += found.end()
        elif rest[0] == "#":
            inner, at = _expression(source, at + 1)
            text.append(inner)
        elif rest[0] == "[":  # brackets in the text
            inner, at = _markup(source, at + 1, "]")
            text.append(inner)
            at += 1
        else:
            text.append(rest[0])
            at += 1
    return "".join(text), at


def _skipped(source, at):
    """Where a comment, code to be shown or mathematics ends that begins here."""
    if source.startswith("//", at) and source[at - 1 : at] != ":":
        return (source + "\n").index("\n", at)
    if source.startswith("/*", at):
        return source.index("*/", at) + 2
    if source[at] == "`":
        ticks = re.compile("`+").match(source, at)[0]
        return source.index(ticks, at + len(ticks)) + len(ticks)
    if source[at] == "$":
        return source.index("$", at + 1) + 1
    return None


def _expression(source, at):
    """Text within an expression of code that begins here, and where the expression ends."""
    if CODE.match(source, at):
        return _code(source, at, "\n")
    text = []
    if found := NAME.match(source, at):
        at = found.end()
    while at < len(source) and source[at] in '({["':
        inner, at = _bracketed(source, at)
        text.append(inner)
        if found := re.compile(r"\.([A-Za-z][\w-]*)(?=[(\[])").match(source, at):
            at = found.end()
    return "".join(text), at


def _bracketed(source, at):
    if source[at] == '"':
        return "", re.compile(r'"(\\.|[^"\\])*"').match(source, at).end()
    read = _markup if source[at] == "[" else _code
    text, end = read(source, at + 1, CLOSES[source[at]])
    return text, end + 1


def _code(source, at, close):
    """Text within code, to a closing bracket or the end of a line; and where that is."""
    text = []
    while at < len(source) and source[at] != close:
        if source[at] in '({["':
            inner, at = _bracketed(source, at)
            text.append(inner)
        elif (skipped := _skipped(source, at)) is not None:
            at = skipped
        else:
            at += 1
    return "".join(text), at
