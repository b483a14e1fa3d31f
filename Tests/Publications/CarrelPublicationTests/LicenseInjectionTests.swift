// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelTesting
import CarrelZlib
import Glibc
import ProtectedPublications
import Testing

@testable import CarrelArchive
@testable import CarrelPublication

/// An archive in memory.
private struct Bytes: ArchiveSource {
    let bytes: [UInt8]
    var length: Int64 { Int64(bytes.count) }

    func read(_ range: Range<Int64>) throws(ArchiveError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else { throw ArchiveError(.damaged, "archive is cut off") }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}

@Suite("A license put into a package")
struct LicenseInjectionTests {
    private let directory = TemporaryDirectory()
    private let old = Array("{\"id\":\"old\"}".utf8)
    private let new = Array("{\"id\":\"new\",\"provider\":\"https://library.example\"}".utf8)

    /// The contents of an archive, by name.
    private func contents(_ archive: any Resource) async throws -> [String: [UInt8]] {
        let fetcher = try await ArchiveFetcher(archive)
        var found: [String: [UInt8]] = [:]
        for link in try await fetcher.links() {
            found[link.href] = try await fetcher.get(link).read(upTo: 16 << 20)
        }
        return found
    }

    private func contents(_ path: String) async throws -> [String: [UInt8]] {
        try await contents(try FileResource(Link(href: "package"), path: path))
    }

    /// Checks an archive with three other programs.
    private func checkByOthers(_ path: String) async throws {
        for command in [["unzip", "-tqq"], ["7z", "t", "-bso0"], ["zip", "-T", "-q"]] {
            let result = try await runProcess([try requirePeer(command[0])] + command.dropFirst() + [path])
            #expect(
                result.status.isSuccess,
                "\(command[0]): \(result.errorText) \(String(decoding: result.output, as: UTF8.self))"
            )
        }
        // libzip, which is strict here
        let archive = try Archive(path: path, limits: ArchiveLimits(totalBytes: 64 << 20))
        for entry in archive.entries {
            let reader = try archive.open(entry)
            while !(try reader.read(atMost: 1 << 16)).isEmpty {}
        }
    }

    /// Makes an archive with the `zip` command.
    private func makeZip(_ name: String, _ files: [String: [UInt8]], _ options: [String] = []) async throws -> String {
        let folder = "\(name).d"
        for (file, bytes) in files {
            let parent = file.split(separator: "/").dropLast().joined(separator: "/")
            try await checkProcess(["mkdir", "-p", directory.file("\(folder)/\(parent)")])
            directory.write("\(folder)/\(file)", bytes)
        }
        try await checkProcess(
            [try requirePeer("zip"), "-qr"] + options + ["../\(name)"] + files.keys.sorted(),
            directory: directory.file(folder)
        )
        return directory.file(name)
    }

    private let epub: [String: [UInt8]] = [
        "mimetype": Array("application/epub+zip".utf8), "META-INF/container.xml": Array("<container/>".utf8),
        "META-INF/encryption.xml": Array("<encryption/>".utf8), "a b.xhtml": (0..<5000).map { UInt8($0 & 63) },
    ]

    @Test func `is there, and everything else is as it was, for every reader`() async throws {
        let path = try await makeZip("book.epub", epub)
        try await LicenseInjection.inject(old, into: path)
        var expected = epub.reduce(into: [:]) { $0[ResourcePath(decoded: $1.key)?.href ?? ""] = $1.value }
        expected["META-INF/license.lcpl"] = old
        #expect(try await contents(path) == expected)
        try await checkByOthers(path)
        // and again: a renewed one takes its place
        try await LicenseInjection.inject(new, into: path)
        expected["META-INF/license.lcpl"] = new
        #expect(try await contents(path) == expected)
        try await checkByOthers(path)
    }

    @Test func `defect 7: is whole, however long it is`() async throws {
        let path = try await makeZip("book.webpub", ["manifest.json": Array("{}".utf8)])
        let long = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await LicenseInjection.inject(long, into: path)
        #expect(try await contents(path)["license.lcpl"] == long)
        try await checkByOthers(path)
    }

    @Test func `is in the root of a Readium package`() async throws {
        let made = try await ProtectedPublication.pdf(at: directory.file("a.lcpdf"), byteCount: 100_000, .none)
        try await LicenseInjection.inject(new, into: made.path)
        #expect(try await contents(made.path).keys.sorted() == ["license.lcpl", "manifest.json", "publication.pdf"])
        try await checkByOthers(made.path)
    }

    @Test(arguments: [
        ["-fd"], ["-fz"], ["-9"], ["-0", "-X"],
    ])
    func `leaves data descriptors, ZIP64, packed entries and extra fields alone`(options: [String]) async throws {
        let path = try await makeZip("book.epub", epub, options)
        let before = try #require(directory.read("book.epub"))
        try await LicenseInjection.inject(new, into: path)
        #expect(try #require(directory.read("book.epub")).starts(with: before.dropLast(22)))
        #expect(try await contents(path).count == 5)
        try await checkByOthers(path)
    }

    @Test func `keeps the comment, the mode and the file itself`() async throws {
        let path = try await makeZip("book.epub", epub)
        let comment = String(repeating: "A comment. ", count: 3000)
        try await checkProcess([
            try requirePeer("python3"), "-c",
            "import sys, zipfile\nzipfile.ZipFile(sys.argv[1], 'a').comment = sys.argv[2].encode()", path, comment,
        ])
        unsafe chmod(path, 0o640)
        var before = stat()
        #expect(unsafe stat(path, &before) == 0)
        try await LicenseInjection.inject(new, into: path)
        var after = stat()
        #expect(unsafe stat(path, &after) == 0)
        #expect(after.st_ino == before.st_ino && after.st_mode == before.st_mode)
        let bytes = try #require(directory.read("book.epub"))
        #expect(bytes.suffix(comment.utf8.count).elementsEqual(comment.utf8))
        #expect(try await contents(path).count == 5)
        try await checkByOthers(path)
    }

    @Test func `is appended to a self-extracting program, whether its offsets count that or not`() async throws {
        let path = try await makeZip("book.epub", epub)
        let archive = try #require(directory.read("book.epub"))
        directory.write("book.epub", Array("#!/bin/sh\nexit 0\n".utf8) + archive)
        unsafe chmod(path, 0o640)
        #expect(try await contents(path).count == 4)
        try await LicenseInjection.inject(new, into: path)
        #expect(try await contents(path)["META-INF/license.lcpl"] == new)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(directory.read("book.epub.new") == nil)
        try await checkProcess([try requirePeer("zip"), "-qA", path])
        try await LicenseInjection.inject(old, into: path)
        #expect(try await contents(path)["META-INF/license.lcpl"] == old)
        #expect(try await contents(path).count == 5)
    }

    @Test(arguments: [["-9"], ["-fz"]], [0, 700])
    func `leaves the old or the new archive wherever the writing stops`(options: [String], comment: Int) async throws {
        let path = try await makeZip("book.epub", epub, options)
        if comment > 0 {
            try await checkProcess([
                try requirePeer("python3"), "-c",
                "import sys, zipfile\nzipfile.ZipFile(sys.argv[1], 'a').comment = b'c' * int(sys.argv[2])", path, "\(comment)",
            ])
        }
        try await LicenseInjection.inject(old, into: path)
        let before = try #require(directory.read("book.epub"))
        let insertion = try EntryInsertion(
            Bytes(bytes: before),
            name: "META-INF/license.lcpl",
            content: new,
            checksum: crc(new),
            limit: 1000
        )
        #expect(insertion.isSafeInPlace)
        #expect(insertion.steps.count == 4)
        var bytes = before
        func write(_ part: ArraySlice<UInt8>, at offset: Int) {
            if bytes.count < offset + part.count { bytes += repeatElement(0, count: offset + part.count - bytes.count) }
            bytes.replaceSubrange(offset..<offset + part.count, with: part)
        }
        for (number, step) in insertion.steps.enumerated() {
            // what is swapped lies within one sector of the disk, and is written whole or not at all; what is longer is not
            let swapped = insertion.steps[3].bytes.count
            let isSwap = number == 0 || number == 3
            #expect(!isSwap || Int(step.offset) % 512 + swapped <= 512)
            var done = isSwap ? min(swapped, step.bytes.count) : 0
            if isSwap { write(step.bytes[..<done], at: Int(step.offset)) }
            while true {
                let found = try await contents(BytesResource(Link(href: "a"), bytes))
                #expect(found["META-INF/license.lcpl"] == (number == 3 ? new : old), "step \(number), byte \(done)")
                #expect(found.count == 5)
                guard done < step.bytes.count else { break }
                write(step.bytes[done..<done + 1], at: Int(step.offset) + done)
                done += 1
            }
            let stopped = directory.write("stopped.epub", bytes)
            // libzip can read it, too
            let archive = try Archive(path: stopped, limits: ArchiveLimits(totalBytes: 1 << 20))
            #expect(archive.entries.count == 5, "step \(number)")
        }
        try await checkByOthers(directory.file("stopped.epub"))
        // and what stopped is finished by the next
        try await LicenseInjection.inject(new, into: directory.file("stopped.epub"))
        #expect(try await contents(directory.file("stopped.epub"))["META-INF/license.lcpl"] == new)
    }

    /// Makes an archive with names that `zip` does not write.
    private func makeNamed(_ name: String, _ files: [(name: String, content: String)]) async throws -> String {
        let path = directory.file(name)
        let program = """
            import sys, zipfile
            with zipfile.ZipFile(sys.argv[1], 'w') as archive:
                for at in range(2, len(sys.argv), 2): archive.writestr(sys.argv[at], sys.argv[at + 1])
            """
        let files = files.flatMap { [$0.name, $0.content] }
        try await checkProcess([try requirePeer("python3"), "-c", program, path] + files)
        return path
    }

    @Test(arguments: [
        ("./META-INF/container.xml", "./META-INF/license.lcpl"), ("META-INF//container.xml", "META-INF//license.lcpl"),
        ("META-INF/container.xml", "a/../META-INF/./license.lcpl"),
    ])
    func `takes the place of one whose name is spelled in another way`(container: String, license: String) async throws {
        let path = try await makeNamed("book.epub", [(container, "<container/>"), (license, "old"), ("a.xhtml", "a")])
        #expect(try await contents(path)["META-INF/license.lcpl"] == Array("old".utf8))
        for content in [old, new] {
            try await LicenseInjection.inject(content, into: path)
            let found = try await contents(path)
            #expect(found["META-INF/license.lcpl"] == content)
            #expect(found.keys.sorted() == ["META-INF/container.xml", "META-INF/license.lcpl", "a.xhtml"])
        }
        let archive = try CentralDirectory(try ArchiveFile(path: path), limit: 100)
        #expect(archive.records.count == 3)
    }

    @Test func `does not break the package for who opened the file before and reads it after, wherever the writing is`()
        async throws
    {
        let path = try await makeZip("book.epub", epub)
        try await LicenseInjection.inject(old, into: path)
        let file = try ArchiveFile(path: path, isWritten: true)
        let insertion = try EntryInsertion(file, name: "META-INF/license.lcpl", content: new, checksum: crc(new), limit: 1000)
        let readers = try insertion.steps.map { _ in try FileResource(Link(href: "a"), path: path) }
        for (number, step) in insertion.steps.enumerated() {
            try file.write(step.bytes, at: step.offset)
            let found = try await contents(readers[number])
            #expect(found["META-INF/license.lcpl"] == (number == 3 ? new : old), "after step \(number)")
            #expect(found.count == 5)
        }
    }

    /// Waits until another process waits for a file's lock.
    private func untilAnotherWaits(for path: String) async throws {
        var status = stat()
        try #require(unsafe stat(path, &status) == 0)
        while true {
            let locks = try await checkProcess(["cat", "/proc/locks"])
            let waiting = locks.split(separator: "\n").filter { $0.contains("-> FLOCK") }
            if waiting.contains(where: { $0.contains(":\(status.st_ino) ") }) { return }
            await Task.yield()
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func `waits for another writer, and continues from its result`(isReplacing: Bool) async throws {
        let path = try await makeZip("book.epub", epub)
        let other = try ArchiveFile(path: path, isWritten: true)
        try #require(flock(other.descriptor, LOCK_EX) == 0)
        async let injected: Void = LicenseInjection.inject(new, into: path)
        try await untilAnotherWaits(for: path)
        if isReplacing {
            var more = epub
            more["b.xhtml"] = old
            #expect(unsafe rename(try await makeZip("other.epub", more), path) == 0)
        } else {
            let insertion = try EntryInsertion(other, name: "b.xhtml", content: old, checksum: crc(old), limit: 100)
            for step in insertion.steps { try other.write(step.bytes, at: step.offset) }
        }
        flock(other.descriptor, LOCK_UN)
        try await injected
        let found = try await contents(path)
        #expect(found["META-INF/license.lcpl"] == new)
        #expect(found["b.xhtml"] == old)
        #expect(found.count == 6)
        try await checkByOthers(path)
    }

    @Test func `makes a copy without taking a name of others, or the place of a link`() async throws {
        let path = try await makeZip("book.epub", epub)
        directory.write("book.epub", Array("#!/bin/sh\nexit 0\n".utf8) + (try #require(directory.read("book.epub"))))
        directory.write("book.epub.new", "of the reader")
        let others = directory.file("links")
        try await checkProcess(["mkdir", others])
        let link = "\(others)/read.epub"
        try #require(unsafe symlink("../book.epub", link) == 0)
        let before = try await checkProcess(["ls", "-A", directory.path, others])
        try await LicenseInjection.inject(new, into: link)
        #expect(directory.read("book.epub.new") == Array("of the reader".utf8))
        var status = stat()
        #expect(unsafe lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try await contents(path)["META-INF/license.lcpl"] == new)
        let after = try await checkProcess(["ls", "-A", directory.path, others])
        #expect(after == before)
    }

    @Test func `is visible to open packages after they are invalidated`() async throws {
        let path = try await makeZip("book.epub", epub)
        try await LicenseInjection.inject(old, into: path)
        let first = try await ArchiveFetcher(try FileResource(Link(href: "a"), path: path))
        try await LicenseInjection.inject(new, into: path)
        #expect(try await first.get("META-INF/license.lcpl").read(upTo: 1000) == old)
        let second = try await ArchiveFetcher(try FileResource(Link(href: "a"), path: path))
        let fetcher = InvalidatingFetcher(fetcher: first) { _ in second }
        fetcher.invalidate()
        #expect(try await fetcher.get("META-INF/license.lcpl").read(upTo: 1000) == new)
    }

    @Test func `is refused where there is no archive, or none that may be written`() async throws {
        let text = directory.write("a.txt", "no archive")
        await #expect(throws: ResourceError(.malformed, "")) { try await LicenseInjection.inject(new, into: text) }
        await #expect(throws: ResourceError(.unavailable, "")) {
            try await LicenseInjection.inject(new, into: directory.file("none"))
        }
        #expect(directory.read("a.txt") == Array("no archive".utf8))
    }

    private func crc(_ bytes: [UInt8]) -> UInt32 {
        var sum = CRC32()
        sum.update(bytes.rawSpan)
        return sum.value
    }

    @Test(
        arguments: [
            (["META-INF/container.xml", "license.lcpl"], "license.lcpl"),
            (["manifest.json", "META-INF/license.lcpl"], "META-INF/license.lcpl"),
            (["META-INF/container.xml", "license.lcpl", "META-INF/license.lcpl"], "META-INF/license.lcpl"),
            (["META-INF/license.lcpl", "license.lcpl"], "license.lcpl"), (["META-INF/container.xml"], "META-INF/license.lcpl"),
        ]
    )
    func `stands where readers of the package look for it`(names: [String], place: String) async throws {
        let archive = MadeArchive(names.map { MadeArchive.Entry($0, $0.hasSuffix("lcpl") ? old : Array("x".utf8)) })
        let path = directory.write("a.epub", archive.bytes)
        try await LicenseInjection.inject(new, into: path)
        let found = try await contents(path)
        #expect(found[place] == new)
        #expect(found.count == Set(names + [place]).count)
        let fetcher = try await ArchiveFetcher(try FileResource(Link(href: "a.epub"), path: path))
        #expect(LicenseLocation(in: try await fetcher.paths()).path.string == place)
        let beside = try await LicensedFetcher(fetcher, license: old)
        #expect(beside.path.string == place)
        #expect(try await beside.get(Link(beside.path)).read(upTo: 100) == old)
        #expect(beside.storedLength(of: Link(beside.path))?.byteCount == Int64(old.count))
    }
}
