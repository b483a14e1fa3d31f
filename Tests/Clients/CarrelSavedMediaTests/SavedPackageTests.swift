// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import CarrelSavedMedia
import CarrelTesting
import Glibc
import Testing

struct `A saved package` {
    private static let id = "abcdefghijklmnopqrstuvwxyz"
    private static let address = "https://example.test/film/master.m3u8?ticket=SECRET-TICKET"
    private let directory = TemporaryDirectory()
    private let key = Secret.random(count: 32)

    private var folder: String { directory.file(Self.id) }

    private static func piece(
        _ path: String,
        _ range: Range<Int64>? = nil,
        number: Int = 0,
        isEncrypted: Bool = true
    ) -> SavedPiece {
        SavedPiece(
            address: "https://example.test/film/\(path)?ticket=SECRET-TICKET",
            range: range,
            duration: .seconds(6),
            start: .seconds(6 * number),
            isEncrypted: isEncrypted
        )
    }

    /// Three pieces of their own, and three ranges of one file.
    private static let streams = [
        SavedStream(kind: .video, bandwidth: 500_000, pieces: (0..<3).map { piece("v\($0).ts", number: $0) }),
        SavedStream(
            kind: .audio,
            isWhole: true,
            pieces: (0..<3).map { piece("audio.mp4", Int64($0 * 1000)..<Int64($0 * 1000 + 1000), number: $0, isEncrypted: false) }
        ),
    ]

    private static func content(_ name: SavedPieceName) -> [UInt8] {
        (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ name.number &* 50 &+ name.stream) }
    }

    private func plan(_ mode: SealMode = .keys, isProtected: Bool = true, id: String = id, key: Secret? = nil) throws
        -> SavedPackageWriter
    {
        let writer = try SavedPackageWriter.create(folder: directory.file(id), id: id, key: key ?? self.key)
        try writer.plan(
            source: SavedSource(address: Self.address, form: .hls),
            documents: [
                SavedDocument(
                    address: Self.address,
                    range: nil,
                    finalAddress: "https://cdn.example.test/x",
                    bytes: Array("#EXTM3U SECRET".utf8)
                )
            ],
            streams: Self.streams,
            mode: mode,
            isProtected: isProtected
        )
        return writer
    }

    @discardableResult
    private func fetch(_ writer: SavedPackageWriter) throws -> [SavedPieceName: SavedDigest] {
        var digests: [SavedPieceName: SavedDigest] = [:]
        var files: [PieceFile] = []
        for (place, stream) in writer.streams.enumerated() {
            for name in stream.names(stream: place) {
                let file = try writer.file(for: name)
                try file.append(Self.content(name))
                digests[name] = try file.finish()
                files.append(file)
            }
        }
        try writer.commit(files)
        return digests
    }

    private func save(_ mode: SealMode = .keys, isProtected: Bool = true, id: String = id, key: Secret? = nil) throws {
        let writer = try plan(mode, isProtected: isProtected, id: id, key: key)
        let digests = try fetch(writer)
        try writer.complete { digests[$0] }
    }

    private func all(_ package: SavedPackage, _ address: String, _ range: Range<Int64>? = nil) throws -> [UInt8] {
        let bytes = try package.bytes(address, range: range)
        var all: [UInt8] = []
        while let next = try bytes.next() { all += next }
        #expect(Int64(all.count) == bytes.length)
        return all
    }

    /// The error of reading everything; nil if there is none.
    private func fault(key: Secret? = nil, id: String = id) -> SavedMediaError? {
        do throws(SavedMediaError) {
            let package = try SavedPackage.open(folder: directory.file(id), key: key ?? self.key)
            _ = try package.document(Self.address)
            for (place, stream) in Self.streams.enumerated() {
                for (piece, name) in zip(stream.pieces, stream.names(stream: place)) {
                    let bytes = try package.bytes(piece.address, range: piece.range)
                    var read: [UInt8] = []
                    while let next = try bytes.next() { read += next }
                    #expect(read == Self.content(name))
                }
            }
            return nil
        } catch { return error }
    }

    // MARK: - Reading

    @Test(arguments: [SealMode.keys, .all], [true, false])
    func `has its documents and media, by their addresses and ranges`(mode: SealMode, isProtected: Bool) throws {
        try save(mode, isProtected: isProtected)
        #expect(fault() == nil)
        let package = try SavedPackage.open(folder: folder, key: key)
        #expect(package.isComplete && package.id == Self.id && package.mode == mode && package.source.address == Self.address)
        let document = try #require(try package.document(Self.address))
        #expect(document.finalAddress == "https://cdn.example.test/x" && document.bytes == Array("#EXTM3U SECRET".utf8))
        #expect(try package.document(Self.address, range: 0..<5) == nil)
        let audio = (0..<3).flatMap { Self.content(SavedPieceName(stream: 1, number: $0)) }
        let address = Self.streams[1].pieces[0].address
        #expect(try all(package, address) == audio && package.length(of: address) == 3000)
        for range in [0..<1, 999..<1001, 500..<2500, 2999..<3000, 1000..<2000] as [Range<Int64>] {
            #expect(try all(package, address, range) == Array(audio[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
        #expect(throws: SavedMediaError(.missing, "")) { try package.bytes(address, range: 2999..<3001) }
        #expect(throws: SavedMediaError(.missing, "")) { try package.bytes("https://example.test/other.ts") }
        let video = Self.streams[0].pieces[1].address
        #expect(try all(package, video, 10..<20) == Array(Self.content(SavedPieceName(stream: 0, number: 1))[10..<20]))
        #expect(throws: SavedMediaError(.missing, "")) { try package.bytes(video, range: 10..<2000) }
    }

    @Test func `is sealed by its mode, and has no address in the clear`() throws {
        func isClear(_ file: String) -> Bool {
            let stored = directory.read("\(Self.id)/\(file)") ?? []
            return stored.count == 1000
        }
        try save()
        #expect(isClear("0-1/00000.frag") && !isClear("1-1/00000.frag"), "clear media of a protected source are sealed")
        for name in try FixtureFolder.names(in: folder) {
            for file in (try? FixtureFolder.names(in: "\(folder)/\(name)")) ?? [""] {
                let bytes = Fixtures.bytes(at: file.isEmpty ? "\(folder)/\(name)" : "\(folder)/\(name)/\(file)") ?? []
                for secret in ["SECRET", "example.test", "ticket"] { #expect(bytes.firstRange(of: Array(secret.utf8)) == nil) }
            }
        }
        #expect(unsafe system("rm -r \(folder)") == 0)
        try save(isProtected: false)
        #expect(isClear("0-1/00000.frag") && isClear("1-1/00000.frag"), "a clear source stays clear")
        #expect(unsafe system("rm -r \(folder)") == 0)
        try save(.all, isProtected: false)
        #expect(!isClear("0-1/00000.frag") && !isClear("1-1/00000.frag"))
    }

    // MARK: - Damage

    @Test(arguments: [SealMode.keys, .all], ["0-1/00001.frag", "1-1/00001.frag", "Data/00000.data", "Data/00002.data"])
    func `with an altered, cut, extended or swapped file names it`(mode: SealMode, file: String) throws {
        try save(mode)
        let path = "\(Self.id)/\(file)"
        let stored = try #require(directory.read(path))
        var altered = stored
        altered[stored.count / 2] ^= 1
        for bytes in [altered, Array(stored.dropLast()), stored + [0], []] {
            _ = directory.write(path, bytes)
            #expect(fault()?.code == .damaged && fault()?.message.contains(file) == true, "\(String(describing: fault()))")
        }
        // another file of the package
        let other = file.replacing("00001.frag", with: "00000.frag").replacing("Data/00002", with: "Data/00001")
        if other != file {
            _ = directory.write(path, try #require(directory.read("\(Self.id)/\(other)")))
            #expect(fault()?.code == .damaged && fault()?.message.contains(file) == true)
        }
        unsafe unlink(directory.file(path))
        #expect(fault()?.code == .missing && fault()?.message.contains(file) == true)
        // a link is refused
        _ = directory.write("elsewhere", stored)
        #expect(unsafe symlink(directory.file("elsewhere"), directory.file(path)) == 0)
        #expect(fault()?.code == .damaged && fault()?.message.contains(file) == true)
        unsafe unlink(directory.file(path))
        _ = directory.write(path, stored)
        #expect(fault() == nil)
    }

    @Test(arguments: ["boot.xml", "0-1/StreamInfoBoot.xml", "1-1/StreamInfoBoot.xml"])
    func `with an altered or swapped table names it`(file: String) throws {
        try save()
        let text = String(decoding: try #require(directory.read("\(Self.id)/\(file)")), as: UTF8.self)
        _ = directory.write("\(Self.id)/\(file)", text.replacing("<Version>1.0", with: "<Version >1.0"))
        #expect(fault()?.code == .damaged && fault()?.message.contains(file) == true)
        // a table of the plan, from before the end of the download
        _ = directory.write("\(Self.id)/\(file)", text.replacing("<Complete>YES", with: "<Complete>NO"))
        #expect(fault()?.code == .damaged && fault()?.message.contains(file) == true)
        unsafe unlink(directory.file("\(Self.id)/\(file)"))
        #expect(fault()?.code == .missing && fault()?.message.contains(file) == true)
    }

    @Test func `of another item is refused, as a whole and in parts`() throws {
        try save()
        let other = "bbbbbbbbbbbbbbbbbbbbbbbbbb"
        let otherKey = Secret.random(count: 32)
        try save(id: other, key: otherKey)
        #expect(fault() == nil && fault(key: otherKey, id: other) == nil)
        // the other package in its place, with the key of this one
        #expect(fault(id: other)?.code == .damaged)
        #expect(fault(key: otherKey)?.code == .damaged)
        let files = [
            "0-1/00000.frag", "1-1/00000.frag", "Data/00002.data", "Data/00000.data", "0-1/StreamInfoBoot.xml", "boot.xml",
        ]
        for file in files {
            let own = try #require(directory.read("\(Self.id)/\(file)"))
            _ = directory.write("\(Self.id)/\(file)", try #require(directory.read("\(other)/\(file)")))
            // what is stored as delivered is the same for both
            if file != "0-1/00000.frag" { #expect(fault()?.code == .damaged, "\(file)") }
            _ = directory.write("\(Self.id)/\(file)", own)
        }
        #expect(throws: SavedMediaError(.sealed, "")) { try SavedPackage.open(folder: folder, key: nil) }
    }

    @Test func `altered while it is read is noticed`() throws {
        try save()
        let package = try SavedPackage.open(folder: folder, key: key)
        let address = Self.streams[0].pieces[0].address
        #expect(try all(package, address).count == 1000)
        let file = "\(Self.id)/0-1/00000.frag"
        var stored = try #require(directory.read(file))
        stored[5] ^= 1
        let descriptor = unsafe open(directory.file(file), O_WRONLY)
        #expect(unsafe pwrite(descriptor, stored, stored.count, 0) == stored.count)
        close(descriptor)
        #expect(throws: SavedMediaError(.damaged, "")) { try package.bytes(address) }
    }

    // MARK: - Downloads under way

    @Test func `that is incomplete plays what is stored`() throws {
        let writer = try plan()
        let first = SavedPieceName(stream: 0, number: 0)
        let file = try writer.file(for: first)
        try file.append(Self.content(first))
        let digest = try file.finish()
        #expect(writer.storedLength(of: first) == nil, "not under its final name yet")
        try writer.commit([file])
        #expect(writer.storedLength(of: first) == digest.length)
        try writer.check(first, digest)
        #expect(throws: SavedMediaError(.damaged, "")) {
            try writer.check(first, SavedDigest(length: digest.length, sha256: Array(repeating: 0, count: 32)))
        }
        #expect(throws: SavedMediaError(.missing, "")) { try writer.check(SavedPieceName(stream: 0, number: 1), digest) }
        let package = try SavedPackage.open(folder: folder, key: key) { $0 == first ? digest : nil }
        #expect(!package.isComplete)
        #expect(try all(package, Self.streams[0].pieces[0].address) == Self.content(first))
        #expect(throws: SavedMediaError(.missing, "")) { try package.bytes(Self.streams[0].pieces[1].address) }
        #expect(throws: SavedMediaError(.missing, "")) { try writer.complete { $0 == first ? digest : nil } }
    }

    @Test func `is continued with the addresses of its plan`() throws {
        _ = try plan()
        let writer = try SavedPackageWriter.open(folder: folder, key: key)
        #expect(writer.source?.address == Self.address && writer.id == Self.id)
        #expect(writer.streams.map(\.kind) == [.video, .audio] && writer.streams.map(\.isWhole) == [false, true])
        #expect(writer.streams.map(\.pieces) == Self.streams.map(\.pieces))
        let digests = try fetch(writer)
        try writer.complete { digests[$0] }
        #expect(fault() == nil)
        #expect(throws: SavedMediaError(.format, "")) { try SavedPackageWriter.create(folder: folder, id: Self.id, key: key) }
    }

    @Test func `takes a file from before a crash only if it is whole`() throws {
        let writer = try plan()
        let digests = try fetch(writer)
        for (name, digest) in digests { #expect(try writer.digest(of: name) == digest) }
        // sealed, and a range of a resource
        let ranged = SavedPieceName(stream: 1, number: 1)
        let path = "\(Self.id)/1-1/00001.frag"
        let stored = try #require(directory.read(path))
        var altered = stored
        altered[100] ^= 1
        for bytes in [altered, Array(stored.dropLast()), []] {
            _ = directory.write(path, bytes)
            #expect(try writer.digest(of: ranged) == nil)
        }
        try writer.remove(ranged)
        #expect(writer.storedLength(of: ranged) == nil)
        #expect(try writer.digest(of: ranged) == nil)
    }

    /// A folder under a temporary name makes the write of a file fail.
    @Test(arguments: ["Data/00000.data", "0-1/StreamInfoBoot.xml", "1-1/StreamInfoBoot.xml", "boot.xml"])
    func `whose end is interrupted is read and continued`(file: String) throws {
        let writer = try plan()
        let digests = try fetch(writer)
        let obstacle = directory.file("\(Self.id)/\(file).part")
        #expect(unsafe mkdir(obstacle, 0o700) == 0)
        #expect(throws: SavedMediaError(.disk, "")) { try writer.complete { digests[$0] } }
        let package = try SavedPackage.open(folder: folder, key: key) { digests[$0] }
        #expect(!package.isComplete)
        #expect(try all(package, Self.streams[1].pieces[0].address).count == 3000)
        #expect(unsafe rmdir(obstacle) == 0)
        let next = try SavedPackageWriter.open(folder: folder, key: key)
        try next.complete { digests[$0] }
        #expect(fault() == nil)
    }

    @Test(arguments: ["Data/00000.data", "0-1/StreamInfoBoot.xml", "boot.xml"])
    func `whose plan is interrupted is planned again`(file: String) throws {
        for name in ["", "/Data", "/0-1"] { #expect(unsafe mkdir(folder + name, 0o700) == 0) }
        let obstacle = directory.file("\(Self.id)/\(file).part")
        #expect(unsafe mkdir(obstacle, 0o700) == 0)
        #expect(throws: SavedMediaError(.disk, "")) { try plan() }
        #expect(throws: SavedMediaError(.missing, "")) { try SavedPackageWriter.open(folder: folder, key: key) }
        #expect(unsafe rmdir(obstacle) == 0)
        try save()
        #expect(fault() == nil)
    }

    @Test func `with more than its limits is refused`() throws {
        let writer = try SavedPackageWriter.create(folder: folder, id: Self.id, key: key)
        func plan(_ streams: [SavedStream], _ documents: [SavedDocument] = []) throws {
            let source = SavedSource(address: Self.address, form: .hls)
            try writer.plan(source: source, documents: documents, streams: streams, mode: .keys, isProtected: false)
        }
        let piece = Self.piece("v.ts")
        let document = SavedDocument(address: "a", range: nil, finalAddress: "a", bytes: [])
        var large = document
        large.bytes = Array(repeating: 0, count: SavedLimits.documentBytes)
        let long = SavedPiece(
            address: String(repeating: "a", count: 70_000),
            range: nil,
            duration: .zero,
            start: .zero,
            isEncrypted: false
        )
        let one = SavedStream(kind: .video, pieces: [piece])
        #expect(throws: SavedMediaError(.format, "")) { try plan([]) }
        #expect(throws: SavedMediaError(.format, "")) {
            try plan([SavedStream(kind: .video, pieces: Array(repeating: piece, count: 1_000_000))])
        }
        #expect(throws: SavedMediaError(.format, "")) { try plan(Array(repeating: one, count: 257)) }
        #expect(throws: SavedMediaError(.format, "")) { try plan([one], Array(repeating: document, count: 10_000)) }
        #expect(throws: SavedMediaError(.format, "")) { try plan([one], [large]) }
        #expect(throws: SavedMediaError(.format, "")) { try plan([SavedStream(kind: .video, pieces: [long])]) }
        #expect(throws: SavedMediaError(.format, "")) { try SavedPackageWriter.create(folder: folder, id: "../x", key: key) }
        try plan([one])
    }
}
