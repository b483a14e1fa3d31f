// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

struct `scripts/test-report` {
    private let directory = TemporaryDirectory()

    /// An event stream as `swift test` writes it, made from lines such as `start A.s/f()/x.swift:1:2`.
    private func stream(_ events: [String]) -> String {
        var lines: [String] = []
        let names = events.map { String($0.split(separator: " ", maxSplits: 1)[1].split(separator: "|")[0]) }
        for (index, name) in names.enumerated() where names.firstIndex(of: name) == index {
            let kind = name.contains("()") || name.contains(":)") ? "function" : "suite"
            lines.append(
                #"{"kind":"test","payload":{"displayName":"x","id":"\#(escape(name))","isParameterized":false,"kind":"\#(kind)","name":"x"},"version":"6.3.0"}"#
            )
        }
        for event in events {
            if event.hasPrefix("issue ") {
                lines.append(issue(event))
                continue
            }
            let words = event.split(separator: " ", maxSplits: 1).map(String.init)
            let parts = words[1].split(separator: "|").map(String.init)
            let (kind, symbol): (String, String) =
                switch words[0] {
                case "start": ("testStarted", "default")
                case "pass": ("testEnded", "pass")
                case "fail": ("testEnded", "fail")
                case "known": ("testEnded", "passWithKnownIssue")
                case "skip": ("testSkipped", "skip")
                case "cancel": ("testEnded", "skip")
                default: ("testCaseCancelled", "")
                }
            let reason = parts.count > 1 ? #" skipped: \"\#(escape(parts[1]))\""# : "."
            let messages = symbol.isEmpty ? "[]" : #"[{"symbol":"\#(symbol)","text":"Test x\#(reason)"}]"#
            lines.append(
                #"{"kind":"event","payload":{"instant":{"absolute":1.0},"kind":"\#(kind)","messages":\#(messages),"testID":"\#(escape(parts[0]))"},"version":"6.3.0"}"#
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The message of a failed test, from `issue ID|text` or `issue ID|text|known`.
    private func issue(_ event: String) -> String {
        let parts = event.dropFirst("issue ".count).split(separator: "|").map(String.init)
        let issue = #"{"isFailure":true,"isKnown":\#(parts.count > 2),"severity":"error"}"#
        let messages = #"[{"symbol":"fail","text":"Issue recorded"},{"symbol":"details","text":"\#(escape(parts[1]))"}]"#
        return
            #"{"kind":"event","payload":{"issue":\#(issue),"kind":"issueRecorded","messages":\#(messages),"testID":"\#(escape(parts[0]))"},"version":"6.3.0"}"#
    }

    private func escape(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("/", with: "\\/")
    }

    private func report(
        _ events: [String],
        again: [String] = [],
        allowed: String? = nil,
        options: [String] = [],
        fixtures: String? = nil
    ) async throws -> (succeeded: Bool, lines: [String]) {
        let streams = [events, again].enumerated().filter { $0.offset == 0 || !$0.element.isEmpty }
        let files = streams.map { directory.write("events\($0.offset).jsonl", stream($0.element)) }
        let rules = allowed.map { ["--allowed", directory.write("allowed.txt", $0)] } ?? []
        let result = try await runProcess(
            ["\(repository)/scripts/test-report"] + rules + options + files,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "CARREL_FIXTURES": fixtures ?? ""]
        )
        #expect(result.errorText == "")
        return (result.status.isSuccess, result.text.split(separator: "\n").map(String.init))
    }

    private static let good = ["start T.S", "start T.S/a()/x.swift:1:2", "pass T.S/a()/x.swift:1:2", "pass T.S"]

    @Test func `counts tests, not suites and cases`() async throws {
        let (succeeded, lines) = try await report(Self.good + ["start T.b(n:)/x.swift:3:2", "known T.b(n:)/x.swift:3:2"])
        #expect(succeeded)
        #expect(lines == ["2 passed, 0 failed, 0 skipped"])
    }

    @Test func `a test that fails fails the run`() async throws {
        let (succeeded, lines) = try await report(
            Self.good + ["start T.`S`/`b \"x\"`()/x.swift:3:2", "fail T.`S`/`b \"x\"`()/x.swift:3:2"]
        )
        #expect(!succeeded)
        #expect(lines == ["failed: T.S/b \"x\"()", "1 passed, 1 failed, 0 skipped"])
    }

    @Test func `reports the first unknown issue of a failed test`() async throws {
        let (_, lines) = try await report([
            "start T.b()/x.swift:3:2", "issue T.b()/x.swift:3:2|one|known", "issue T.b()/x.swift:3:2|word 7, \"a/b\"",
            "issue T.b()/x.swift:3:2|three", "fail T.b()/x.swift:3:2",
        ])
        #expect(lines == ["failed: T.b(): Issue recorded: word 7, \"a/b\"", "0 passed, 1 failed, 0 skipped"])
    }

    private static let bad = ["start T.`S`/`b (x) \"y\"`()/x.swift:3:2", "issue T.`S`/`b (x) \"y\"`()/x.swift:3:2|late"]

    @Test func `names what failed as a pattern for another run, where that is allowed and little`() async throws {
        let events = Self.good + Self.bad + ["fail T.`S`/`b (x) \"y\"`()/x.swift:3:2", "start T.c()/x.swift:9:2"]
        func again(_ events: [String], _ allowed: String) async throws -> [String] {
            let (succeeded, lines) = try await report(events, options: ["--again", directory.write("again.txt", allowed)])
            #expect(succeeded)
            return lines
        }
        #expect(try await again(events, "T.S/*\nT.c*  # late\n") == [#"^T\.`S`/`b \(x\) "y"`\(\)"#, #"^T\.c\(\)"#])
        #expect(try await again(events, "T.S/*\n") == [], "one may not")
        #expect(try await again(Self.good, "*\n") == [])
        #expect(try await again((1...4).map { "start T.c\($0)()/x.swift:9:2" }, "*\n") == [], "too many")
    }

    @Test func `what passes when it runs again is unsteady, and what fails again failed`() async throws {
        let events = Self.good + Self.bad + ["fail T.`S`/`b (x) \"y\"`()/x.swift:3:2"]
        let start = "start T.`S`/`b (x) \"y\"`()/x.swift:3:2"
        let passed = try await report(events, again: [start, "pass T.`S`/`b (x) \"y\"`()/x.swift:3:2"])
        #expect(passed.succeeded)
        #expect(
            passed.lines == [
                "unsteady: T.S/b (x) \"y\"(): failed, and passed by itself: Issue recorded: late",
                "2 passed, 0 failed, 0 skipped",
            ]
        )
        let failed = try await report(events, again: Self.bad + ["fail T.`S`/`b (x) \"y\"`()/x.swift:3:2"])
        #expect(!failed.succeeded)
        #expect(failed.lines == ["failed: T.S/b (x) \"y\"(): Issue recorded: late", "1 passed, 1 failed, 0 skipped"])
        let stuck = try await report(events, again: [start])
        #expect(stuck.lines == ["never finished: T.S/b (x) \"y\"()", "1 passed, 1 failed, 0 skipped"])
    }

    @Test func `a test that never ended failed`() async throws {
        let (succeeded, lines) = try await report(Self.good + ["start T.b()/x.swift:3:2"])
        #expect(!succeeded)
        #expect(lines == ["never finished: T.b()", "1 passed, 1 failed, 0 skipped"])
    }

    @Test func `skipped and canceled tests and tests with a canceled case are skipped`() async throws {
        let (succeeded, lines) = try await report(
            Self.good + [
                "skip T.b()/x.swift:3:2|mpv is not installed", "start T.c()/x.swift:4:2", "cancel T.c()/x.swift:4:2|no fixtures",
                "start T.d(n:)/x.swift:5:2", "case T.d(n:)/x.swift:5:2", "pass T.d(n:)/x.swift:5:2",
            ]
        )
        #expect(succeeded, "outside CI a skip is no failure")
        #expect(
            lines == [
                "skipped: T.b(): mpv is not installed", "skipped: T.c(): no fixtures", "skipped: T.d(n:): a case was cancelled",
                "1 passed, 0 failed, 3 skipped",
            ]
        )
    }

    @Test func `in CI only what the list allows may be skipped`() async throws {
        let events = Self.good + ["skip T.b()/x.swift:3:2|mpv is not installed", "skip T.c()/x.swift:4:2|CARREL_LONG is not set"]
        let refused = try await report(events, allowed: "# long tests\n*: *CARREL_LONG*   # run elsewhere\n")
        #expect(!refused.succeeded)
        #expect(
            refused.lines.suffix(2) == [
                "not allowed to be skipped: T.b(): mpv is not installed", "1 passed, 0 failed, 2 skipped",
            ]
        )
        #expect(try await report(events, allowed: "*CARREL_LONG*\nT.b*: mpv *\n").succeeded)
    }

    @Test func `tests for want of data are skipped where there are none, which is said, and fail where there are`() async throws {
        let reason = "CARREL_FIXTURES is not set: a.epub is not there to test with"
        let events = Self.good + ["skip T.b()/x.swift:3:2|\(reason)", "skip T.c()/x.swift:4:2|\(reason)"]
        let without = try await report(events, allowed: "*: *CARREL_FIXTURES*\n")
        #expect(without.succeeded)
        #expect(
            without.lines.suffix(2) == [
                "third-party test data: none, tests skipped without it: 2 "
                    + "(set CARREL_FIXTURES to its folder, or put it at ../shared/fixtures)",
                "1 passed, 0 failed, 2 skipped",
            ]
        )
        let with = try await report(events, allowed: "*: *CARREL_FIXTURES*\n", fixtures: "/somewhere")
        #expect(!with.succeeded)
        #expect(with.lines.count { $0.hasPrefix("not allowed to be skipped: ") } == 2)
        #expect(with.lines.last == "1 passed, 0 failed, 2 skipped")
        #expect(try await report(Self.good, allowed: "*: *CARREL_FIXTURES*\n").lines == ["1 passed, 0 failed, 0 skipped"])
    }

    /// A test that fails and then passes hides a defect, unless the time of another program is part of it, or a live source's.
    @Test func `only suites of browsers, players and live sources may be tried again`() throws {
        let list = String(decoding: try #require(Fixtures.bytes(at: "\(repository)/Tests/second-try.txt")), as: UTF8.self)
        let patterns = list.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(patterns.count > 10)
        for pattern in patterns {
            let parts = pattern.split(separator: "/", maxSplits: 1)
            let names = parts[0].split(separator: ".", maxSplits: 1)
            try #require(names.count == 2 && parts.last == "*" && !names[1].contains("*"), "\(pattern) names no suite")
            let sources = files(in: Repository.folder(of: String(names[0]))).filter { $0.hasSuffix(".swift") }
                .map { String(decoding: Fixtures.bytes(at: $0) ?? [], as: UTF8.self) }
                .filter { $0.contains("struct `\(names[1])`") || $0.contains("struct \(names[1]) ") }
            let drives = [
                "ListeningPage", "AdminSite", "ReaderPage", "Browser.start", "requirePeer(\"mpv\")", "requirePeer(\"vlc\")",
                "MadeOrigin()", "LivePackets",
            ]
            let isDriver = sources.contains { source in drives.contains(where: source.contains) }
            #expect(isDriver, "\(pattern) drives no browser, no player and no live source")
        }
    }

    private func files(in folder: String) -> [String] {
        var found: [String] = []
        guard let stream = unsafe opendir(folder) else { return found }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isFolder = unsafe entry.pointee.d_type == DT_DIR
            if !isFolder {
                found.append("\(folder)/\(name)")
            } else if !name.hasPrefix(".") {
                found += files(in: "\(folder)/\(name)")
            }
        }
        return found
    }

    @Test func `no test at all is a failure`() async throws {
        let (succeeded, lines) = try await report([])
        #expect(!succeeded)
        #expect(lines.last == "0 passed, 0 failed, 0 skipped")
    }
}
