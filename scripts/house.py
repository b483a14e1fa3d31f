# SPDX-License-Identifier: Apache-2.0
"""Which file of a target names the types of which other, and which folder those of which other: `scripts/lint` reads it."""

import collections, os, re, sys

DECLARED = re.compile(
    r"^(?:@\w+(?:\([^)]*\))? +)*(?:(?:public|package|internal|fileprivate|private|final|indirect|nonisolated|distributed) +)*"
    r"(?:struct|class|enum|protocol|actor|typealias|macro) +`?(\w+)", re.M)
PRIVATE = re.compile(r"^(?:@\w+(?:\([^)]*\))? +)*(?:(?:final|indirect|nonisolated) +)*(?:private|fileprivate) ", re.M)


def code(text):
    """The text without comments and the words of string literals; what is interpolated stays."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'#*"""(.*?)"""#*', lambda m: " ".join(re.findall(r"\\\(([^)]*)\)", m.group(1))), text, flags=re.S)
    return re.sub(r'"((?:[^"\\\n]|\\.)*)"', lambda m: " ".join(re.findall(r"\\\(([^)]*)\)", m.group(1))), text)


def graph(folder):
    """The files of a target, each with the files whose types it names."""
    texts = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".swift"):
                path = os.path.join(place, name)
                texts[os.path.relpath(path, folder)] = code(open(path, encoding="utf-8").read())
    owners = collections.defaultdict(set)
    for path, text in texts.items():
        for found in DECLARED.finditer(text):
            if not PRIVATE.match(found.group(0)): owners[found.group(1)].add(path)
    single = {name: next(iter(paths)) for name, paths in owners.items() if len(paths) == 1}
    edges = {}
    for path, text in texts.items():
        words = set(re.findall(r"(?<![\w])([A-Z]\w*)", text))
        edges[path] = {single[word] for word in words if word in single} - {path}
    return edges


def circles(edges):
    """The strongly connected components of more than one file (Tarjan)."""
    number, low, stack, on, found, count = {}, {}, [], set(), [], [0]

    def visit(start):
        work = [(start, iter(sorted(edges[start])))]
        number[start] = low[start] = count[0]; count[0] += 1
        stack.append(start); on.add(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = count[0]; count[0] += 1
                    stack.append(other); on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on: low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work: low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part = set()
                    while True:
                        other = stack.pop(); on.discard(other); part.add(other)
                        if other == node: break
                    if len(part) > 1: found.append(part)

    for node in sorted(edges):
        if node not in number: visit(node)
    return found


def pairs(edges):
    """The pairs of folders of a target that depend on each other, with a file of each direction."""
    links = collections.defaultdict(list)
    for path, others in edges.items():
        one = os.path.dirname(path) or "."
        for other in others:
            two = os.path.dirname(other) or "."
            if one != two: links[one, two].append((path, other))
    return {(one, two): (links[one, two], links[two, one]) for one, two in links if one < two and (two, one) in links}


def exceptions(path):
    """What exceeds a rule: a kind, a target, the number it may reach; a reason stands on the line above."""
    found, reason = {}, False
    for number, line in enumerate(open(path, encoding="utf-8") if os.path.exists(path) else [], 1):
        line = line.strip()
        if line.startswith("#"): reason = True
        elif line:
            kind, target, most = line.split()
            if not reason: breach(f"{path}:{number}", "an exception without a reason above it")
            found[kind, target], reason = int(most), False
        else: reason = False
    return found


def breach(place, what):
    global broken
    broken = True
    print(f"{place}: {what}")


def check(kind, target, place, number, limit, what):
    """A number that a rule limits; exceptions are no higher than they have to be."""
    allowed = known.pop((kind, target), None)
    if number > (allowed or limit): breach(place, f"{what}; {allowed or limit} at most")
    elif allowed and number <= limit: breach(LIST, f"{kind} {target} is no exception any more: remove the line")
    elif allowed and number < allowed and kind != "lines": breach(LIST, f"{kind} {target} is {number} by now: lower the line")


LIST = "Tests/house.txt"
LAYER, TARGET = 4000, 6000
broken = False

if __name__ == "__main__":
    known = exceptions(LIST)
    manifest = open("Package.swift", encoding="utf-8").read() if os.path.exists("Package.swift") else ""
    places = re.findall(r'(?:library\(\s*"|executable\(\s*"Sources/)(\w+/\w+)"', manifest)
    layers = [f"Server/Carrel{name}" for name in re.findall(r'^ +server\(\s*"(\w+)"', manifest, re.M)]
    # the layers stand where the first folder below the server ends
    clients = next((i for i, place in enumerate(places) if place.startswith("Clients/")), len(places))
    places[clients:clients] = layers
    rank = {place.split("/")[1]: number for number, place in enumerate(places)}
    folders = list(dict.fromkeys(place.split("/")[0] for place in places))
    house = {folder: [0, 0, 0] for folder in folders}
    for place in places:
        folder, target = place.split("/")
        path = f"Sources/{place}"
        files = [os.path.join(base, name) for base, _, names in os.walk(path) for name in names if name.endswith(".swift")]
        lines, imported = 0, set()
        for file in sorted(files):
            text = open(file, encoding="utf-8").read()
            lines += text.count("\n") - (2 if text.startswith("// SPDX-") else 0)  # without the license
            for name in re.findall(r"^(?:@\w+ +)?(?:[a-z]+ +)?import +(?:struct +|class +|enum +|protocol +|func +)?(Carrel\w+)", text, re.M):
                imported.add(name)
                if name in rank and rank[name] >= rank[target]:
                    breach(file, f"imports {name}, which Package.swift lists after {target}")
                if folder == "Server" and name == "CarrelHTTPServer": breach(file, "a layer of the server imports the HTTP server")
        house[folder][0] += 1
        house[folder][1] += lines
        house[folder][2] += len(imported)
        limit = 1000 if target == "CarrelServer" else LAYER if folder == "Server" else TARGET
        check("lines", target, path, lines, limit, f"{lines} lines")
        edges = graph(path)
        found, both = circles(edges), pairs(edges)
        for circle in found:
            if len(circle) > 2 and ("circles", target) not in known: print(f"{path}: a circle of {', '.join(sorted(circle))}")
        count = sum(len(circle) for circle in found if len(circle) > 2)
        check("circles", target, path, count, 0, f"{count} files in circles of more than two")
        for one, two in both if ("pairs", target) not in known else []: print(f"{path}: {one} and {two} name types of each other")
        check("pairs", target, path, len(both), 0, f"{len(both)} pairs of folders that depend on each other")
    for kind, target in known: breach(LIST, f"{kind} {target}: there is no such target")
    if broken: sys.exit(1)
    for folder, (targets, lines, arrows) in house.items():
        print(f"{folder:13}{targets:3} targets {lines:7,} lines {arrows:4} imports")
