// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import Glibc
import Testing

/// Apps outside of the tree, which use every product: against this checkout, and in their shipped form, against a tagged clone.
@Suite("An app outside of the tree", .serialized)
struct OutsideAppTests {
    private static let isLong = unsafe getenv("CARREL_LONG") != nil
    private static let apps = [
        "FoundationApp", "LicensedBookApp", "MediaApp", "PlayerApp", "ProxyApp", "PublicationApp", "ReaderApp", "RightsApp",
        "WebReaderApp",
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

    /// A build with a sanitizer is in a folder of its own, whose products this package would not find.
    private static let isPlain = unsafe getenv("CARREL_SANITIZER") == nil

    @Test(.enabled(if: isPlain, "not with a sanitizer"), .timeLimit(.minutes(10)))
    func `builds against this checkout, and runs`() async throws {
        let directory = TemporaryDirectory()
        let binaries = try await Self.build(in: directory)
        let book = try await Self.book()
        defer { withExtendedLifetime(book) {} }
        for (name, words) in Self.output {
            let result = try await runProcess(["\(binaries)/\(name)", book.path])
            #expect(result.status == .exited(0) && result.text == words, "\(name): \(result.text)\(result.errorText)")
        }
        try await Self.vaults("\(binaries)/VaultApp")
        let opened = try await runProcess(["\(binaries)/OpenPublication", book.path])
        #expect(opened.text == "Outside\n- Chapter 1\n86 bytes\n", "\(opened.text)\(opened.errorText)")
        // a clear book needs no player
        let clear = try await runProcess(["\(binaries)/LicensedBookApp", directory.file("none"), "none", book.path])
        #expect(clear.text == "Outside   open\n86 true \n86 \n", "\(clear.text)\(clear.errorText)")
        try await Self.shelf("\(binaries)/ListShelf", directory)
        try await Self.film(binaries, directory)
    }

    /// Builds the apps in debug mode, into this checkout's folder, whose modules and objects they share: only the apps are compiled. The plan of
    /// that build takes the place of the checkout's, which is removed, so that the next build plans again.
    private static func build(in directory: TemporaryDirectory) async throws -> String {
        try await checkProcess(["cp", "-r", "\(repository)/Tests/OutsideApp", directory.file("app")])
        let build = """
            trap 'rm -f .build/debug.yaml' EXIT
            swift build --package-path "$1" --scratch-path .build --disable-build-manifest-caching --disable-sandbox \
              --explicit-target-dependency-import-check error
            """
        // without TMPDIR: SwiftPM's lock of the folder is in the system's
        var environment = Self.environment
        environment["TMPDIR"] = nil
        environment["CARREL_PATH"] = repository
        let built = try await runProcess(
            ["bash", "-c", build, "bash", directory.file("app")],
            environment: environment,
            directory: repository,
            timeout: .seconds(540)
        )
        try await checkProcess(["rm", "-f", "\(repository)/.build/debug.yaml"])
        try #require(built.status == .exited(0), "\(built.text.suffix(4000))\(built.errorText.suffix(2000))")
        return "\(repository)/.build/debug"
    }

    private static func vaults(_ program: String) async throws {
        var environment = Self.environment
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
        environment["TSS2_LOG"] = "all+none"
        let directory = TemporaryDirectory()
        let result = try await runProcess([program, directory.path], environment: environment)
        let codes = "vault.unavailable\nvault.absent\nvault.absent\n"
        #expect(result.text == "file passphrase\n\(codes)", "\(result.text)\(result.errorText)")
    }

    /// Signs in at a server of two products, with a right and a wrong password.
    private static func shelf(_ program: String, _ directory: TemporaryDirectory) async throws {
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let isRight = (request.target + String(decoding: request.body, as: UTF8.self)).contains("sesame")
                let body =
                    if request.target.hasPrefix("/verify") {
                        #"<subscription state="active"><issues><issue>atlas</issue><issue>whale</issue></issues></subscription>"#
                    } else if isRight { "<token>T</token>" } else { #"<error status="notrecognised" message="Try again."/>"# }
                guard connection.respond(body: Array(body.utf8)) else { return }
            }
        }
        defer { withExtendedLifetime(server) {} }
        for (password, words) in [("wrong", "Try again.\n"), ("sesame", "atlas\nwhale\n")] {
            let result = try await runProcess(
                [program, "http://127.0.0.1:\(server.port)/", "alice", directory.file("subscription")],
                input: Array("\(password)\n".utf8)
            )
            #expect(result.text == words, "\(result.text)\(result.errorText)")
        }
    }

    /// Decrypts and plays a film of four seconds, which ffmpeg encrypts.
    private static func film(_ binaries: String, _ directory: TemporaryDirectory) async throws {
        let (ffmpeg, curl) = (try requirePeer("ffmpeg"), try requirePeer("curl"))
        let key = "000102030405060708090a0b0c0d0e0f"
        let film = directory.file("film.mp4")
        try await checkProcess([
            ffmpeg, "-v", "error", "-f", "lavfi", "-i", "testsrc=d=4:s=320x240:r=25", "-c:v", "libx264", "-g", "25", "-pix_fmt",
            "yuv420p", "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", key, "-encryption_kid",
            "00112233445566778899aabbccddeeff", film,
        ])
        let clear = directory.file("clear.mp4")
        let result = try await runProcess(["\(binaries)/DecryptFile", film, clear], input: Array("\(key)\n".utf8))
        #expect(result.text == "\(Fixtures.bytes(at: clear)?.count ?? 0) bytes\n", "\(result.text)\(result.errorText)")
        try await checkProcess([ffmpeg, "-v", "error", "-xerror", "-i", clear, "-f", "null", "-"])
        let wrong = String(key.reversed())
        let refused = try await runProcess(
            ["\(binaries)/DecryptFile", film, directory.file("none.mp4")],
            input: Array("\(wrong)\n".utf8)
        )
        #expect(refused.text.hasPrefix("the key given for key id 00112233445566778899aabbccddeeff"), "\(refused.text)")

        try await checkProcess(["mkfifo", directory.file("end")])
        let program = try BackgroundProcess([
            "bash", "-c", #"{ echo "$1"; cat "$2"; } | stdbuf -oL "$3" "$4""#, "bash", key, directory.file("end"),
            "\(binaries)/PlayFilm", film,
        ])
        let line = try await program.waitForLine(containing: "open http://")
        let playlist = try await checkProcess([curl, "-sS", "--fail", String(line.split(separator: " ")[1])])
        #expect(playlist.hasPrefix("#EXTM3U"), "\(playlist)")
        try await checkProcess(["bash", "-c", #"echo >"$1""#, "bash", directory.file("end")])
        #expect(try await program.waitForExit() == .exited(0), "\(program.errors)")
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
        ("SavedKeysApp", "keys.unplayable 9eb4050de44b4802932e27d75083e266\n0\n"),
        ("RightsApp", "no license\nproxy.refused-key\n"),
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
            <manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>
            <item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>
            <spine><itemref idref="a"/></spine></package>
            """
        )
        directory.write(
            "a.xhtml",
            #"<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The white Whale.</p></body></html>"#
        )
        directory.write(
            "n.xhtml",
            """
            <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>Contents</title></head>
            <body><nav epub:type="toc"><ol><li><a href="a.xhtml">Chapter 1</a></li></ol></nav></body></html>
            """
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
