// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

/// Apps outside of the tree, one for each product, against a tagged clone: what a guest meets first.
@Suite("An app outside of the tree")
struct OutsideAppTests {
    private static let isLong = unsafe getenv("CARREL_LONG") != nil
    private static let apps = [
        "FoundationApp", "MediaApp", "PlayerApp", "ProxyApp", "PublicationApp", "ReaderApp", "WebReaderApp",
    ]
    /// How far the size of a program may be from the one that is written down, in per cent.
    private static let tolerance = 3

    /// The parts of a program.
    private struct Program: Equatable {
        /// KiB of the stripped program.
        var size: Int
        /// Debian's libraries that it needs, in addition to the C library and Swift's own.
        var libraries: [String]

        /// A line of `Tests/outside-apps.txt`.
        func line(_ name: String) -> String { "\(name) \(size) \(libraries.joined(separator: " "))" }
    }

    @Test(.enabled(if: isLong, "only with CARREL_LONG=1"), .timeLimit(.minutes(30)))
    func `builds, runs, and is as large and links as much as is written down`() async throws {
        let git = try requirePeer("git")
        let directory = TemporaryDirectory()
        let clone = directory.file("carrel")
        try await checkProcess([git, "clone", "--quiet", repository, clone])
        try await checkProcess([git, "-C", clone, "tag", "0.0.1"])
        try await checkProcess(["cp", "-r", "\(repository)/Tests/OutsideApp", directory.file("app")])
        // programs as shipped, with Swift's own libraries in them
        var environment = Self.environment
        environment["CARREL_URL"] = "file://\(clone)"
        let build = [
            "swift", "build", "--package-path", directory.file("app"), "-c", "release", "--static-swift-stdlib", "--jobs", "2",
            "--disable-sandbox",
        ]
        let built = try await runProcess(build, environment: environment, timeout: .seconds(1700))
        #expect(built.status == .exited(0), "\(built.text.suffix(4000))\(built.errorText.suffix(2000))")
        let binaries = try await checkProcess(build + ["--show-bin-path"], environment: environment).split(separator: "\n")[0]

        let book = try await Self.book()
        defer { withExtendedLifetime(book) {} }
        for (name, words) in Self.output {
            let result = try await runProcess(["\(binaries)/\(name)", book.path])
            #expect(result.status == .exited(0) && result.text == words, "\(name): \(result.text)\(result.errorText)")
        }
        var lines: [String] = []
        for name in Self.apps {
            let program = try await Self.program("\(binaries)/\(name)")
            lines.append(program.line(name))
        }
        print(lines.joined(separator: "\n"))
        let path = "\(repository)/Tests/outside-apps.txt"
        let known = String(decoding: Fixtures.bytes(at: path) ?? [], as: UTF8.self)
        if unsafe getenv("UPDATE_GOLDEN") != nil {
            let comments = known.split(separator: "\n").filter { $0.hasPrefix("#") }.map(String.init)
            try await checkProcess(["tee", path], input: Array((comments + lines).map { $0 + "\n" }.joined().utf8))
            return
        }
        for line in lines {
            #expect(Self.isKnown(line, in: known), "\(line)\nis not what Tests/outside-apps.txt says:\n\(known)")
        }
    }

    /// The output of each program.
    private static let output = [
        ("FoundationApp", "true 1970-01-01T00:00:00.000Z\n86\n"),
        ("MediaApp", "other false\nmedia.wrong-key\n"),
        ("PublicationApp", "Outside true 0\n86\nWhale\ntrue 1 1970-01-01T00:00:00.000Z\ntrue -1\n"),
        ("PlayerApp", "player.not-personalized -4001\ncompound-url false\n"),
        ("ProxyApp", "true\n"),
        ("ReaderApp", "reader.unavailable upstream.unreachable\ntext/html false\n"),
        ("WebReaderApp", "200\n"),
    ]

    /// This process's, without what it says about tests.
    private static var environment: [String: String] {
        var found: [String: String] = [:]
        for name in ["PATH", "HOME", "TMPDIR", "LANG"] {
            if let value = unsafe getenv(name) { found[name] = unsafe String(cString: value) }
        }
        return found
    }

    /// An unpacked EPUB of one chapter.
    private static func book() async throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        try await checkProcess(["mkdir", "-p", directory.file("META-INF")])
        directory.write("mimetype", "application/epub+zip")
        directory.write(
            "META-INF/container.xml",
            """
            <container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
            <rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
            """
        )
        directory.write(
            "a.opf",
            """
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:test:outside</dc:identifier>
            <dc:title>Outside</dc:title></metadata>
            <manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>
            <spine><itemref idref="a"/></spine></package>
            """
        )
        directory.write(
            "a.xhtml",
            #"<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The white Whale.</p></body></html>"#
        )
        return directory
    }

    private static func program(_ path: String) async throws -> Program {
        let (strip, readelf) = (try requirePeer("strip"), try requirePeer("readelf"))
        try await checkProcess([strip, "-o", "\(path).stripped", path])
        let size = try await checkProcess(["stat", "-c", "%s", "\(path).stripped"])
        let needed = try await checkProcess([readelf, "-d", path]).split(separator: "\n").filter { $0.contains("(NEEDED)") }
            .compactMap { $0.split(separator: "[").last?.split(separator: "]").first.map(String.init) }
        let ofSystem = [
            "libc.so", "libm.so", "libgcc_s.so", "libstdc++.so", "libpthread.so", "libdl.so", "ld-linux", "libresolv.so",
        ]
        let libraries = needed.filter { name in !ofSystem.contains { name.hasPrefix($0) } }.sorted()
        return Program(size: (Int(size.filter(\.isNumber)) ?? 0) / 1024, libraries: libraries)
    }

    /// Whether a program links exactly what is written down, and is about as large.
    private static func isKnown(_ line: String, in known: String) -> Bool {
        let words = line.split(separator: " ")
        return known.split(separator: "\n").contains { candidate in
            let parts = candidate.split(separator: " ")
            guard parts.count == words.count, parts[0] == words[0], parts[2...] == words[2...], let before = Int(parts[1]),
                let now = Int(words[1])
            else { return false }
            return abs(now - before) * 100 <= before * tolerance
        }
    }

    /// The comparison itself, without the build.
    @Test(arguments: [
        ("A 1000 libz.so.1", true), ("A 1030 libz.so.1", true), ("A 970 libz.so.1", true), ("A 1031 libz.so.1", false),
        ("A 1000 libz.so.1 libcurl.so.4", false), ("A 1000", false), ("B 1000 libz.so.1", false),
    ])
    func `may not grow or link more unnoticed`(line: String, isKnown: Bool) {
        #expect(Self.isKnown(line, in: "# name KiB libraries\nA 1000 libz.so.1\n") == isKnown)
    }
}
