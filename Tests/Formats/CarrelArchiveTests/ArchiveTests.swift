// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelTesting
import Testing

private typealias Item = ZipBuilder.Item

struct `ZIP archive` {
    private let directory = TemporaryDirectory()

    private func open(_ bytes: [UInt8], total: Int64 = 1 << 30, entries: Int = 20_000) throws(ArchiveError) -> Archive {
        try Archive(path: directory.write("a.zip", bytes), limits: ArchiveLimits(totalBytes: total, entries: entries))
    }

    private func refusal(_ bytes: [UInt8], entries: Int = 20_000) -> ArchiveError? {
        do throws(ArchiveError) {
            _ = try open(bytes, entries: entries)
            return nil
        } catch {
            return error
        }
    }

    private func content(_ archive: Archive, _ index: Int, chunk: Int = 1000) throws(ArchiveError) -> [UInt8] {
        let reader = try archive.open(archive.entries[index])
        var content: [UInt8] = []
        while true {
            let part = try reader.read(atMost: chunk)
            if part.isEmpty { return content }
            content += part
        }
    }

    @Test func `lists and reads its entries`() async throws {
        let text = Array(repeatElement(Array("chapter one, ".utf8), count: 3000).joined())
        var link = Item("book/link", Array("../elsewhere".utf8))
        link.attributes = 0o120777 << 16
        let items = [
            Item("book/"), Item("book/01.mp3", text), try await Item("book/02.mp3", text).deflated(), link, Item("tom", []),
            Item("Smørrebrød ✓.txt", [1, 2, 3]), Item([0x42, 0x9b, 0x6b], [4]),
        ]
        for isLarge in [false, true] {
            var builder = ZipBuilder(items)
            builder.isLarge = isLarge
            builder.comment = Array("a comment with PK\u{5}\u{6} in it".utf8)
            let archive = try open(builder.bytes())
            #expect(
                archive.entries.map(\.name) == [
                    "book/", "book/01.mp3", "book/02.mp3", "book/link", "tom", "Smørrebrød ✓.txt", "B¢k",
                ]
            )
            #expect(archive.entries.map(\.isDirectory) == [true, false, false, false, false, false, false])
            #expect(archive.entries.map(\.isSymbolicLink) == [false, false, false, true, false, false, false])
            #expect(archive.entries.map(\.size) == items.map { Int64($0.content.count) })
            #expect(archive.entries.map(\.packedSize) == items.map { Int64($0.packed.count) })
            for index in items.indices.reversed() {
                for chunk in [1000, 100_000] { #expect(try content(archive, index, chunk: chunk) == items[index].content) }
            }
        }
    }

    @Test(arguments: [
        ("../up", "leaves its folder"), ("a/../../up", "leaves its folder"), ("a/..", "leaves its folder"),
        ("/etc/passwd", "is absolute"),
        ("C:/x", "names a drive"), ("c:x", "names a drive"), ("..\\up", "leaves its folder"),
        ("a\\..\\..\\up", "leaves its folder"),
        ("\\\\host\\up", "is absolute"), ("C:\\x", "names a drive"), ("a\\\\b", "has an empty part"),
        ("a\0b", "holds a NUL"), ("", "is empty"), ("a//b", "has an empty part"), ("a/./b", "has an empty part"),
        ("/", "is absolute"),
        ("a\u{1b}[2Jb", "holds a control character"), ("x\ny", "holds a control character"),
    ])
    func `refuses names that lead elsewhere`(name: String, fault: String) {
        let error = refusal(ZipBuilder([Item("good", [1]), Item(name, [2])]).bytes())
        #expect(error?.code == .unsafeName)
        #expect(error?.message.hasSuffix("of entry 1 \(fault)") == true)
        #expect(error?.message.unicodeScalars.contains { $0.value < 32 } == false)
    }

    @Test func `leaves names out that lead elsewhere where that is asked for, and reads the others`() throws {
        let names = ["../up", "a", "/etc/passwd", "b/../../up", "b/c", "C:\\x", "d"]
        let bytes = ZipBuilder(names.map { Item($0, Array($0.utf8)) }).bytes()
        let archive = try Archive(
            path: directory.write("a.zip", bytes),
            limits: ArchiveLimits(totalBytes: 1 << 20),
            leavingOutEscapes: true
        )
        #expect(archive.entries.map(\.name) == ["a", "b/c", "d"])
        #expect(archive.leftOut.map(\.parts) == [["up"], ["etc", "passwd"], ["b", "up"], ["C:", "x"]])
        #expect(archive.leftOut.first?.message == "name \"../up\" of entry 0 leaves its folder")
        for (place, entry) in archive.entries.enumerated() { #expect(try content(archive, place) == Array(entry.name.utf8)) }
        let other = try open(ZipBuilder([Item("x", [1])]).bytes()).entries[0]
        #expect(throws: ArchiveError.self) { try archive.open(other) }
        #expect(throws: ArchiveError.self) {
            try Archive(
                path: directory.write("b.zip", ZipBuilder([Item("a\0b", [1])]).bytes()),
                limits: ArchiveLimits(totalBytes: 1 << 20),
                leavingOutEscapes: true
            )
        }
    }

    @Test(arguments: ["..mp3", "a/..b/c", "...", "a b/c", "kapitel 1: start"])
    func `takes names that only look odd`(name: String) throws {
        #expect(try open(ZipBuilder([Item(name, [1])]).bytes()).entries[0].name == name)
    }

    @Test func `refuses two entries of one name`() {
        #expect(refusal(ZipBuilder([Item("a", [1]), Item("b"), Item("a", [2])]).bytes())?.code == .duplicateName)
        #expect(refusal(ZipBuilder([Item("a", [1]), Item("a/")]).bytes())?.code == .duplicateName)
        #expect(refusal(ZipBuilder([Item("a/b", [1]), Item("a\\b", [2])]).bytes())?.code == .duplicateName)
    }

    /// As some programs for Windows write them.
    @Test func `takes backslashes in names as slashes`() throws {
        let archive = try open(ZipBuilder([Item("book\\"), Item("book\\CD 1\\01.mp3", [1, 2])]).bytes())
        #expect(archive.entries.map(\.name) == ["book/", "book/CD 1/01.mp3"])
        #expect(archive.entries.map(\.isDirectory) == [true, false])
        #expect(try content(archive, 1) == [1, 2])
    }

    @Test func `refuses entries that share bytes`() {
        // the quoted overlap of a well-known bomb: many entries, one kernel
        var second = Item("b", [1, 2, 3])
        second.offset = 0
        second.localName = Array("a".utf8)
        var first = Item("a", [1, 2, 3])
        #expect(refusal(ZipBuilder([first, second]).bytes())?.code == .damaged, "the names differ")
        // the second lies inside the first
        let inner = ZipBuilder([Item("b", [9])]).bytes()
        first = Item("a", inner)
        second = Item("b", [9])
        second.offset = 31
        var builder = ZipBuilder([first, second])
        #expect(refusal(builder.bytes())?.code == .overlap)
        // content that extends into the directory
        builder = ZipBuilder([Item("a", [1, 2, 3])])
        var bytes = builder.bytes()
        for place in [18, 22, 34 + 20, 34 + 24] { bytes[place] = 50 }
        #expect(refusal(bytes)?.code == .overlap)
    }

    @Test func `refuses directories that two readers read differently`() {
        var item = Item("a", [1, 2, 3])
        item.localName = Array("b".utf8)
        #expect(refusal(ZipBuilder([item]).bytes())?.code == .damaged)
        // a second end record after the first
        let one = ZipBuilder([Item("one", [1])]).bytes()
        var two = ZipBuilder([Item("two", [2]), Item("three", [3])])
        two.comment = one
        let error = refusal(two.bytes())
        #expect(error?.code == .damaged || error?.code == .notZip)
    }

    @Test func `refuses what is cut off or no archive`() {
        #expect(refusal([])?.code == .notZip)
        #expect(refusal(Array("no archive".utf8))?.code == .notZip)
        let bytes = ZipBuilder([Item("a", [1, 2, 3]), Item("b", [4])]).bytes()
        #expect(refusal(bytes) == nil)
        for count in 0..<bytes.count { #expect(refusal(Array(bytes.prefix(count)))?.code == .notZip) }
        #expect(refusal(Array(bytes.dropFirst(5))) != nil)
        #expect(refusal(bytes + [0])?.code == .notZip)
        do throws(ArchiveError) {
            _ = try Archive(path: directory.path, limits: ArchiveLimits(totalBytes: 1))
            Issue.record("a folder was opened")
        } catch {
            #expect(error.code == .unreadable)
        }
    }

    @Test func `has a limit of entries`() throws {
        let bytes = ZipBuilder((0..<11).map { Item("\($0)", [1]) }).bytes()
        #expect(refusal(bytes, entries: 10)?.code == .tooManyEntries)
        #expect(try open(bytes, entries: 11).entries.count == 11)
    }

    @Test func `stops a bomb by what comes out of it`() async throws {
        let zeros = [UInt8](repeating: 0, count: 3 << 20)
        var bomb = try await Item("bomb", zeros).deflated()
        bomb.declaredSize = 10
        let lying = try open(ZipBuilder([bomb]).bytes())
        #expect(throws: ArchiveError.self) { try content(lying, 0, chunk: 65536) }
        bomb.declaredSize = nil
        do throws(ArchiveError) {
            _ = try content(try open(ZipBuilder([bomb]).bytes()), 0, chunk: 65536)
            Issue.record("a bomb came out whole")
        } catch {
            #expect(error.code == .bomb)
            #expect(error.message == "entry \"bomb\" grows to more than 200 times its packed size")
        }
        // the total counts over all entries and repeated reading
        let noise = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
        let archive = try open(ZipBuilder([Item("a", noise), Item("b", noise)]).bytes(), total: 1_500_000)
        #expect(try content(archive, 0).count == 600_000)
        #expect(try content(archive, 1).count == 600_000)
        do throws(ArchiveError) {
            _ = try content(archive, 0)
            Issue.record("more came out than allowed")
        } catch {
            #expect(error.code == .bomb)
        }
    }

    @Test func `refuses wrong checksums and sizes, encryption and odd compression`() async throws {
        var item = Item("a", Array("some text".utf8))
        item.checksum ^= 1
        #expect(throws: ArchiveError.self) { try content(try open(ZipBuilder([item]).bytes()), 0) }
        item = Item("a", Array("some text".utf8))
        item.declaredSize = 4
        #expect(throws: ArchiveError.self) { try content(try open(ZipBuilder([item]).bytes()), 0) }
        item = try await Item("a", Array("some text that is deflated".utf8)).deflated()
        item.packed[3] ^= 0xff
        #expect(throws: ArchiveError.self) { try content(try open(ZipBuilder([item]).bytes()), 0) }
        for (flags, method, code) in [(1, 0, ArchiveError.Code.encrypted), (0, 14, .unsupported), (0, 12, .unsupported)] {
            item = Item("a", Array("some text".utf8))
            item.flags = flags
            item.method = method
            let archive = try open(ZipBuilder([item]).bytes())
            #expect(archive.entries[0].isEncrypted == (flags == 1))
            do throws(ArchiveError) {
                _ = try archive.open(archive.entries[0])
                Issue.record("opened")
            } catch {
                #expect(error.code == code)
            }
        }
    }

    @Test func `never traps`() async throws {
        var random = SplitMix(seed: 5)
        var builder = ZipBuilder([
            Item("a/", []), Item("a/b", [1, 2, 3, 4]), try await Item("c", [UInt8](repeating: 7, count: 300)).deflated(),
        ])
        for isLarge in [false, true] {
            builder.isLarge = isLarge
            let good = builder.bytes()
            for _ in 0..<400 {
                var bad = good
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bad[Int.random(in: 0..<bad.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                do throws(ArchiveError) {
                    let archive = try open(bad)
                    for index in archive.entries.indices { _ = try content(archive, index) }
                } catch {
                    #expect(error.code.identifier.hasPrefix("archive."))
                }
            }
        }
    }

    @Test(arguments: [
        ("libzip/encrypt-none.zip", ["plain", "encrypted"], [false, false]),
        ("libzip/encrypt-aes256.zip", ["plain", "encrypted"], [false, true]),
        ("libzip/encrypt.zip", ["encrypted", "plain"], [true, false]),
        ("libzip/encrypt_plus_extra.zip", ["encrypted", "plain"], [true, false]),
        ("libzip/encrypt-1234.zip", ["sample.txt"], [true]),
        ("libzip/zip64.zip", ["-"], [false]), ("libzip/streamed-zip64.zip", ["-"], [false]),
        ("libzip/zip64-3mf.zip", ["-"], [false]),
    ])
    func `opens archives of others`(name: String, names: [String], areEncrypted: [Bool]) throws {
        let archive = try Archive(path: try Fixtures.path("readium/zip/\(name)"), limits: ArchiveLimits(totalBytes: 1 << 20))
        #expect(archive.entries.map(\.name) == names)
        #expect(archive.entries.map(\.isEncrypted) == areEncrypted)
        for entry in archive.entries where !entry.isEncrypted {
            #expect(try content(archive, entry.index).count == Int(entry.size))
        }
    }

    // an archive inside another's comment, one after other bytes, one with an impossible size
    @Test(arguments: [
        "libzip/zip64-in-archive-comment.zip", "zip-rs/zip64_demo.zip", "libzip/incons-zip64-checkcons-overflow.zip",
    ])
    func `refuses archives that may be read in two ways`(name: String) throws {
        let path = try Fixtures.path("readium/zip/\(name)")
        #expect(throws: ArchiveError.self) { try Archive(path: path, limits: ArchiveLimits(totalBytes: 1 << 20)) }
    }

    @Test func `reads what zip made`() async throws {
        let zip = try requirePeer("zip")
        directory.write("one.txt", "one")
        directory.write("two.txt", String(repeating: "two ", count: 5000))
        try await checkProcess([zip, "-q", "z.zip", "one.txt", "two.txt"], directory: directory.path)
        let archive = try Archive(path: directory.file("z.zip"), limits: ArchiveLimits(totalBytes: 1 << 20))
        #expect(archive.entries.map(\.name) == ["one.txt", "two.txt"])
        #expect(try content(archive, 1) == Array(String(repeating: "two ", count: 5000).utf8))
    }
}
