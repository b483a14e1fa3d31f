# SPDX-License-Identifier: Apache-2.0
"""The parts that the documentation of a public declaration of a product lacks; `scripts/lint` reads it.

Each comment has a summary line: its first line is text. The comment of a function, initializer or subscript also documents the errors that
it throws, and each parameter, unless the parameter is named like its type (`request: HTTPRequest`), or the comment says that "each parameter
is the property of its name". If it documents one parameter, it documents all. `scripts/public-symbols` finds declarations without a comment.

    python3 scripts/documentation.py [TARGET…]     file:line of each declaration with what it lacks; the default is all targets of products
"""

import os, re, subprocess, sys

MODIFIER = r"(?:(?:static|class|final|nonisolated|mutating|nonmutating|override|convenience|required|consuming|borrowing) +)*"
ATTRIBUTE = r"(?:@\w+(?:\([^)]*\))? +)*"
PUBLIC = re.compile(
    rf"^ *{ATTRIBUTE}{MODIFIER}public +{MODIFIER}(?:indirect +)?"
    r"(func|init|subscript|var|let|typealias|struct|enum|class|actor|protocol)\b")
WITNESS = re.compile(r"static func (==|<)|func hash\(into|init\((rawValue|[a-zA-Z]+Literal)\b")
REQUIREMENT = re.compile(rf"^ *{ATTRIBUTE}{MODIFIER}(func|init|subscript|var|associatedtype)\b")
PROTOCOL = re.compile(r"^( *)(?:@\w+(?:\([^)]*\))? +)*public protocol \w+[^{]*\{$")


def products(manifest):
    """The targets that the products in Package.swift name."""
    part = re.search(r"^    products: \[\n(.*?)^    \],", manifest, re.M | re.S)
    return sorted(set(re.findall(r'"(Carrel\w+)"', part.group(1)))) if part else []


def signature(lines, start):
    """The text of a declaration from its line up to its body."""
    text, depth = "", 0
    for line in lines[start:start + 40]:
        line = re.sub(r"(?<!:)//.*", "", line)
        for index, character in enumerate(line):
            if character in "([": depth += 1
            if character in ")]": depth -= 1
            if character == "{" and depth == 0: return text + line[:index]
        text += line + " "
        if depth == 0 and ")" in text and not re.search(r"(->|throws|async|where|,)\s*$", text):
            rest = lines[start + 1:start + 2] if line is lines[start] else []
            if not rest or not re.match(r"^ *(\)|->|async|throws|rethrows|where)", rest[0]): return text
    return text


def split(text, separator=","):
    """The parts of a text between separators outside all brackets and string literals."""
    parts, depth, quoted, part = [], 0, False, ""
    for index, character in enumerate(text):
        if character == '"': quoted = not quoted
        if not quoted:
            if character in "([{<": depth += 1
            if character in ")]}" or (character == ">" and text[index - 1] != "-"): depth -= 1
            if character == separator and depth == 0:
                parts.append(part)
                part = ""
                continue
        part += character
    return parts + [part] if part.strip() else parts


def arguments(text):
    """The names and types of the parameters of a signature, and the text after them."""
    at = re.search(r"\b(func|init|subscript)\b", text).end()
    angle = 0
    while at < len(text) and (text[at] != "(" or angle > 0):  # an operator's name has no letters: `func < (`
        if text[at] == "<" and re.match(r"[\w?!]", text[at - 1]): angle += 1
        if text[at] == ">" and angle > 0: angle -= 1
        at += 1
    depth, end = 0, at
    while end < len(text):
        if text[end] == "(": depth += 1
        if text[end] == ")": depth -= 1
        end += 1
        if depth == 0: break
    found = []
    for part in split(text[at + 1:end - 1]):
        name, _, kind = part.partition(":")
        words = re.sub(r"@\w+(\([^)]*\))?", "", name).split()
        if words: found.append((words[-1].strip("`"), kind.split(" = ")[0].strip()))
    return found, text[end:]


def plain(kind):
    """A type's name without modules, optionals, generics and markers of ownership; its plural for an array."""
    kind = re.sub(r"@\w+(\([^)]*\))? *|\b(any|some|inout|borrowing|consuming|sending|isolated) +", "", kind).strip("? ()")
    many = re.fullmatch(r"\[([\w.]+)\]", kind)
    name = re.sub(r"<.*", "", many.group(1) if many else kind).split(".")[-1]
    return (re.sub("y$", "ie", name) + "s" if many else name)


def faults(comment, declaration):
    """The parts that a comment lacks for a declaration; None for one without parameters."""
    text = [line.strip()[3:].strip() for line in comment]
    lacks = []
    if not text or not text[0] or text[0].startswith("-"): lacks.append("a summary line")
    if declaration is None: return lacks
    body = "\n".join(text)
    documented = set(re.findall(r"^- [Pp]arameter `?(\w+)`?:", body, re.M))
    if (section := re.search(r"^- [Pp]arameters:\n((?:(?!- [A-Z]).*\n?)*)", body, re.M)):
        documented |= set(re.findall(r"^- `?(\w+)`?:", section.group(1), re.M))
    parameters, rest = arguments(declaration)
    memberwise = "each parameter is the property of its name" in body
    missing = [] if memberwise else [name for name, kind in parameters
               if name != "_" and name not in documented and (documented or not plain(kind).endswith(name[0].upper() + name[1:]))]
    lacks += [f"- Parameter {name}" for name in missing]
    clause = rest.split(" where ")[0]
    result = clause.find("->")
    effects = clause if result < 0 else clause[:result]
    if re.search(r"\bthrows\b(?! *\(Never\))", effects) and not re.search(r"^- Throws:", body, re.M): lacks.append("- Throws")
    return lacks


def examine(path):
    """The places of a file whose comments lack something."""
    lines = open(path, encoding="utf-8").read().split("\n")
    comment, end, literal = [], None, False
    for number, line in enumerate(lines, 1):
        ticks = line.count('"""')
        if literal:
            literal = ticks % 2 == 0
            continue
        literal = ticks % 2 == 1
        if line.lstrip().startswith("///"):
            comment.append(line)
            continue
        if end is not None and line == end + "}": end = None
        required = REQUIREMENT.match(line) if end is not None and re.match(rf"^{end}    [^ ]", line) else None
        if (declared := PUBLIC.match(line) or required) and comment and not WITNESS.search(line):
            isCall = declared.group(1) in ("func", "init", "subscript")
            lacks = faults(comment, signature(lines, number - 1) if isCall else None)
            if lacks: yield number, line.strip(), lacks
        if (opened := PROTOCOL.match(line)): end = opened.group(1)
        if not re.match(r"^ *@\w+(\(.*\))?$", line): comment = []


if __name__ == "__main__":
    manifest = open("Package.swift", encoding="utf-8").read() if os.path.exists("Package.swift") else ""
    chosen = sys.argv[1:] or products(manifest)
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "Sources/*.swift"],
                            capture_output=True, text=True, check=True).stdout.split("\n")
    for file in sorted(set(listed)):
        if len(file.split("/")) > 3 and file.split("/")[2] in chosen and os.path.exists(file):
            for number, text, lacks in examine(file): print(f"{file}:{number}: {text[:90]}: lacks {', '.join(lacks)}")
