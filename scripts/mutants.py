# SPDX-License-Identifier: Apache-2.0
"""Finds the comparisons and branches of Swift files, and writes the files so that each can be another one when it is told."""
import pathlib, re

# What takes the place of an operator, by turns: what it is in the mutants.
OTHERS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
          "+": ["-"], "??": ["the right side"]}
PRECEDENCE = {"&&": "LogicalConjunction", "||": "LogicalDisjunction", "+": "Addition", "??": "NilCoalescing"}
DIGITS = "⊕⊖⊗⊘⊙⊚⊛⊜⊝⊞"
# What changed files call. CARREL_MUTANT is the number of the mutant that counts; CARREL_MUTANT_TRACE a file with a byte for each
# number, which is set where the mutant is reached.
TRACE_BYTES = 1 << 16
RUNTIME = f"""
import Glibc
private let mutant_@@ = unsafe getenv("CARREL_MUTANT").flatMap {{ unsafe Int(String(cString: $0)) }} ?? 0
nonisolated(unsafe) private let trace_@@: UnsafeMutablePointer<UInt8>? = unsafe {{
    guard let path = unsafe getenv("CARREL_MUTANT_TRACE") else {{ return nil }}
    let bytes = unsafe mmap(nil, {TRACE_BYTES}, PROT_READ | PROT_WRITE, MAP_SHARED, open(path, O_RDWR), 0)
    return unsafe bytes?.assumingMemoryBound(to: UInt8.self)
}}()
public func mutantOn_@@(_ number: Int) -> Bool {{
    if let trace = unsafe trace_@@ {{ unsafe trace[number] = 1 }}
    return number != mutant_@@
}}
public func mutantFlip_@@(_ number: Int, _ condition: Bool) -> Bool {{ mutantOn_@@(number) == condition }}
func mutant_@@min<T: Comparable>(_ number: Int, _ a: T, _ b: T) -> T {{ mutantOn_@@(number) ? min(a, b) : max(a, b) }}
func mutant_@@max<T: Comparable>(_ number: Int, _ a: T, _ b: T) -> T {{ mutantOn_@@(number) ? max(a, b) : min(a, b) }}
"""


def masked(text):
    """The text with comments and strings blanked out, as long as it was."""
    out, i = list(text), 0
    def blank(a, b):
        for k in range(a, b):
            if out[k] != "\n": out[k] = " "
    def string_end(i):
        hashes = re.match(r"#*", text[i:]).group()
        quote = '"""' if text.startswith('"""', i + len(hashes)) else '"'
        i += len(hashes) + len(quote)
        while not text.startswith(quote + hashes, i):
            if text.startswith("\\" + hashes + "(", i):
                i, depth = i + 2 + len(hashes), 1
                while depth:
                    if text[i] == '"': i = string_end(i); continue
                    depth += {"(": 1, ")": -1}.get(text[i], 0)
                    i += 1
            else: i += 2 if text[i] == "\\" and not hashes else 1
        return i + len(quote) + len(hashes)
    while i < len(text):
        if text.startswith("//", i): end = (text + "\n").index("\n", i)
        elif text.startswith("/*", i): end = text.index("*/", i) + 2
        elif re.match(r'#*"', text[i:i + 9]): end = string_end(i)
        else: i += 1; continue
        blank(i, end)
        if text[i] in '"#': out[i] = out[end - 1] = '"'
        i = end
    return "".join(out)


class Source:
    """A file and the places in it that can be changed."""

    def __init__(self, path, module, first):
        self.path, self.module, self.text = path, module, pathlib.Path(path).read_text()
        self.mask, self.mutants, self.edits, self.next = masked(self.text), {}, [], first
        self.claimed, self.forbidden = [], [(m.start(), self.until(m.end(), ")")) for m in re.finditer(r"\bprecondition\(", self.mask)]
        self.switches(); self.operators(); self.conditions(); self.ternaries(); self.words()

    def until(self, i, stops, step=1):
        """Where, from i on, one of the stops is met outside brackets."""
        depth, opening, closing = 0, "([{", ")]}"
        while i < len(self.mask):
            c = self.mask[i]
            if depth == 0 and any(self.mask.startswith(stop, i) for stop in stops): return i
            depth += (c in opening) - (c in closing)
            i += 1
        raise ValueError(f"{self.path}: no {stops}")

    def pieces(self, a, b):
        """The range between commas outside brackets, without surrounding spaces."""
        for piece in self.top(a, b).split(","):
            text = self.mask[a:a + len(piece)]
            yield a + len(text) - len(text.lstrip()), a + len(text.rstrip())
            a += len(piece) + 1

    def add(self, at, was, becomes, edits):
        """One more mutant; edits: start, end, text with N for its number."""
        if any(a <= at < b for a, b in self.forbidden): return
        number, self.next = self.next, self.next + 1
        self.mutants[number] = (self.text.count("\n", 0, at) + 1, " ".join(was.split()), becomes)
        self.edits += [(a, b, text.replace("#N#", str(number)).replace("_@@", "_" + self.module), number) for a, b, text in edits]
        return number

    def top(self, a, b):
        """The range without what is in brackets."""
        depth, out = 0, ""
        for c in self.mask[a:b]:
            depth -= c in ")]}"
            out += c if depth == 0 else " "
            depth += c in "([{"
        return out

    def flip(self, a, b):
        """Turns a condition round, unless turning its one comparison round does the same."""
        flat = self.top(a, b)
        marks = re.findall(r"\s(?:[<>]=?|[!=]=)\s|&&|\|\||(?:^|\s)!(?=\S)", flat)
        if len(marks) == 1 and marks[0] not in ("&&", "||") or flat.strip() in ("true", "false"): return
        self.add(a, self.text[a:b], "turned round", [(a, a, "mutantFlip_@@(#N#, "), (b, b, ")")])

    def operators(self):
        for m in re.finditer(r"(?<=\s)(<=|>=|==|!=|<|>|&&|\|\||\?\?|\+(?= 1\b))(?=\s)", self.mask):
            line = self.mask[self.mask.rfind("\n", 0, m.start()) + 1:self.mask.index("\n", m.end())]
            if re.search(r"\b(func|extension|init)\b.*\bwhere\b|func [<=>]", line): continue
            at, op = m.start(), m[1]
            numbers = [self.add(at, op + " " + self.text[m.end():].split("\n")[0].strip()[:40], f"{op} as {other}", []) for other in OTHERS[op]]
            if numbers[0] is None: continue
            name = op + "".join(DIGITS[int(d)] for d in str(numbers[0]))
            self.edits.append((at, m.end(), name, numbers[0]))
            self.claimed.append((name, op, numbers))
        for m in re.finditer(r"(?<![\w)\]!?=])!(?=[\w($])", self.mask):
            number = self.add(m.start(), self.text[m.start():].split("\n")[0][:40], "without !", [])
            if number is None: continue
            name = "!" + "".join(DIGITS[int(d)] for d in str(number))
            self.edits.append((m.start(), m.end(), name, number))
            self.claimed.append((name, "!", [number]))

    def conditions(self):
        for m in re.finditer(r"\b(if|while|guard|where)\b", self.mask):
            kind, a = m[1], m.end()
            if self.mask[m.start() - 1] == "#": continue
            if kind == "where":
                if re.match(r"\s*[A-Z][\w.]*\s*(:|==)", self.mask[a:]) or self.mask[m.start() - 1] == "(" or self.mask[a] == ":": continue
                label = re.search(r"(^|\n)\s*case\b[^\n]*$", self.mask[:m.start()])
                b = self.until(a, [":"] if label else ["{"])
            else: b = self.until(a, [" else"] if kind == "guard" else ["{"])
            bound = False
            for x, y in self.pieces(a, b):
                if re.match(r"(let|var|case|#)\b", self.mask[x:]): bound = True
                else: self.flip(x, y)
            if bound and kind != "where":
                end = a + len(self.mask[a:b].rstrip())
                self.add(m.start(), self.text[m.start():end], "never", [(end, end, ", mutantOn_@@(#N#)")])

    def ternaries(self):
        for m in re.finditer(r"\s\?\s", self.mask):
            end = len(self.mask[:m.start() + 1].rstrip())
            i, depth = end, 0
            while i and not (depth == 0 and (self.mask[i - 1] in "([{,;\n" or re.search(r"(\s(=|\?\?|:)|:|\breturn|\bin)\s$", self.mask[:i]))):
                depth += (self.mask[i - 1] in ")]}") - (self.mask[i - 1] in "([{")
                i -= 1
            i += len(self.mask[i:end]) - len(self.mask[i:end].lstrip())
            if not re.search(r"\s([<>]=?|[!=]=|&&|\|\|)\s|^!", self.top(i, end)): self.flip(i, end)

    def words(self):
        for m in re.finditer(r"\b(true|false)\b", self.mask):
            if any(a <= m.start() < b for a, b in self.labels): continue
            self.add(m.start(), m[0], "true" if m[0] == "false" else "false", [(m.start(), m.end(), f"mutantFlip_@@(#N#, {m[0]})")])
        for m in re.finditer(r"(?<![\w.])(min|max)(?=\()", self.mask):
            self.add(m.start(), self.text[m.start():].split("\n")[0][:40], "max" if m[0] == "min" else "min",
                     [(m.start(), m.end(), f"mutant_@@{m[0]}"), (m.end() + 1, m.end() + 1, "#N#, ")])

    def switches(self):
        """Each case by turns does not match: another one, that binds nothing, stands in for it."""
        self.labels = []
        for m in re.finditer(r"\bswitch\b", self.mask):
            start = self.until(m.end(), ["{"]) + 1
            end, found, i = self.until(start, ["}"]), [], start
            for label in re.finditer(r"(?m)^[ ]*(case|default)\b", self.mask[start:end]):
                at, before = start + label.end(), self.mask[start:start + label.start()]
                if sum(before.count(c) for c in "([{") != sum(before.count(c) for c in ")]}"): continue
                colon = self.until(at, [":"])
                if " = " in self.mask[at:colon]: continue
                if found: found[-1][3] = start + label.start()
                found.append([start + label.start(1), at, colon, end])
                self.labels.append((at, colon))
            body = lambda c: " ".join(self.text[c[2] + 1:c[3]].split())
            plain = [c for c in found if not re.search(r"\b(let|var|where)\b", self.mask[c[1]:c[2]])]
            default = [c for c in found if self.mask.startswith("default", c[0])]
            donors = default + [c for c in reversed(plain) if c not in default]
            if len(found) < 2 or not donors: continue
            first = donors[0]
            second = next((c for c in donors if body(c) != body(first)), None)
            for case in found:
                other = second if case is first else first
                if other is None or body(case) == body(other) or case is first and default: continue
                edits, where = [], re.search(r"\bwhere\b", self.mask[case[1]:case[2]])
                if where: edits = [(case[1] + where.end(), case[1] + where.end(), " mutantOn_@@(#N#) && ("), (case[2], case[2], ")")]
                else: edits = [(y, y, " where mutantOn_@@(#N#)") for _, y in self.pieces(case[1], case[2])]
                if case is first: edits.append((end, end, f"\ncase _ where !mutantOn_@@(#N#): {self.text[other[2] + 1:other[3]].strip()}\n"))
                self.add(case[0], self.text[case[0]:case[2]], f"as {self.text[other[0]:other[2]]}", edits)
            if not default:
                self.edits.append((end, end, f"\ndefault: {self.text[first[2] + 1:first[3]].strip()}\n", None))

    def changed(self, dropped):
        """The text with all mutants but those dropped, and by line of it, which are on that line."""
        out, at, lines, where = "", 0, {}, sorted(enumerate(self.edits), key=lambda e: (e[1][0], e[1][1], e[0]))
        for _, (a, b, text, number) in where:
            if number in dropped: continue
            out += self.text[at:a]
            if number is not None: lines.setdefault(out.count("\n") + 1 + text.startswith("\n"), set()).add(number)
            out, at = out + text, b
        return out + self.text[at:], lines


def runtime(module, sources, dropped):
    """What the changed files of a module call."""
    say = [RUNTIME.replace("_@@", "_" + module)]
    for source in sources:
        for name, op, ids in source.claimed:
            n = ids[0]
            if n in dropped: continue
            if op == "!":
                say += [f"prefix operator {name}", f"prefix func {name}(a: Bool) -> Bool {{ mutantOn_{module}({n}) ? !a : a }}"]
                continue
            say.append(f"infix operator {name}: {PRECEDENCE.get(op, 'Comparison')}Precedence")
            head = f"@discardableResult func {name}"
            if op in ("&&", "||"):
                two = f"mutantOn_{module}({n}) {'!=' if op == '||' else '=='} a ? try b() : a"
                say.append(f"{head}(a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool {{ {two} }}")
            elif op == "??":
                for t in ("T", "T?"):
                    say.append(f"{head}<T>(a: T?, b: @autoclosure () throws -> {t}) rethrows -> {t} {{ mutantOn_{module}({n}) ? try a ?? b() : try b() }}")
            elif op == "+": say.append(f"{head}<T: AdditiveArithmetic>(a: T, b: T) -> T {{ mutantOn_{module}({n}) ? a + b : a - b }}")
            else:
                kind = "Equatable" if op in ("==", "!=") else "Comparable"
                tail = "".join(f"if !mutantOn_{module}({i}) {{ return a {other} b }}; " for i, other in zip(ids, OTHERS[op])) + f"return a {op} b"
                say.append(f"{head}<T: {kind}>(a: T, b: T) -> Bool {{ {tail} }}")
                say.append(f"{head}<T: {kind}, U: {kind}>(a: (T, U), b: (T, U)) -> Bool {{ {tail} }}")
                if kind == "Equatable": say.append(f"{head}<T>(a: T?, b: _OptionalNilComparisonType) -> Bool {{ {tail} }}")
    return "\n".join(say) + "\n"
