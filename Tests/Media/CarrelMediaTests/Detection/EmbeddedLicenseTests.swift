// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelMP4
import CarrelMedia
import CarrelTesting
import Glibc
import ProtectedMedia
import Testing

struct `An embedded license` {
    private let folder = TemporaryDirectory()

    private func licenses(_ path: String) throws -> [[UInt8]] { try MediaFile(LocalFile(path)).licenses }

    @Test(arguments: ["note.cbc.dcf", "multi-object.dcf", "av.pdcf-cbc.mp4"])
    func `is set, replaced and removed, and nothing else changes`(name: String) throws {
        let bytes = try Fixtures.bytes("media/dcf/\(name)")
        let path = folder.write(name, bytes)
        unsafe chmod(path, 0o640)
        #expect(try licenses(path) == [])
        for new in [[numbered(100)], [numbered(3), []], [numbered(5000)]] {
            try EmbeddedLicense.replace(new, in: path)
            #expect(try licenses(path) == new)
            let now = try #require(folder.read(name))
            #expect(Array(now.prefix(bytes.count)) == bytes)
            #expect(now.count == bytes.count + DCFMutableInformation(rights: new).box.count)
        }
        try EmbeddedLicense.replace([], in: path)
        #expect(folder.read(name) == bytes)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o640)
        // no copy is left
        #expect(try folderNames() == [name])
    }

    private func folderNames() throws -> [String] {
        let opened = unsafe opendir(folder.path)
        let folder = try unsafe #require(opened)
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    @Test func `leaves the transaction id and other boxes`() throws {
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 1, low: 1) }
        try writer.write(
            BytesReader(numbered(20)),
            contentType: "a/b",
            DCFHeaders(cipher: .counter, contentID: "cid:1"),
            key: streamKey
        )
        var information = DCFMutableInformation(rights: [numbered(9)], transactionID: numbered(16))
        information.otherBoxes = [0, 0, 0, 9] + Array("abcd".utf8) + [7]
        let path = folder.write("a.dcf", try writer.finish(information).bytes)
        try EmbeddedLicense.replace([], in: path)
        information.rights = []
        #expect(try DCFFile(LocalFile(path)).mutableInformation == information)
        try EmbeddedLicense.replace([[1, 2]], in: path)
        information.rights = [[1, 2]]
        #expect(try DCFFile(LocalFile(path)).mutableInformation == information)
    }

    @Test func `that other boxes follow is wiped, and a new one is appended`() throws {
        let bytes = try Fixtures.bytes("media/dcf/av.pdcf-ctr.mp4")
        let old = DCFMutableInformation(rights: [Array("a former license".utf8)]).box
        let free: [UInt8] = [0, 0, 0, 8] + Array("skip".utf8)
        let path = folder.write("a.mp4", bytes + old + free)
        try EmbeddedLicense.replace([[5, 6, 7]], in: path)
        let now = try #require(folder.read("a.mp4"))
        #expect(now.count == bytes.count + old.count + free.count + DCFMutableInformation(rights: [[5, 6, 7]]).box.count)
        #expect(Array(now[bytes.count..<bytes.count + 8]) == Array(old[..<4]) + Array("free".utf8))
        #expect(now[bytes.count + 8..<bytes.count + old.count].allSatisfy { $0 == 0 })
        #expect(try licenses(path) == [[5, 6, 7]])
        // the samples are where they were
        let file = try MP4File(BytesReader(now))
        #expect(try file.digest(of: "vide") == MP4File(BytesReader(bytes)).digest(of: "vide"))
    }

    @Test func `keeps a link to the file`() throws {
        let path = folder.write("a.dcf", try Fixtures.bytes("media/dcf/note.cbc.dcf"))
        let link = folder.file("link")
        #expect(unsafe symlink(path, link) == 0)
        try EmbeddedLicense.replace([[1]], in: link)
        #expect(try licenses(path) == [[1]])
        var status = stat()
        #expect(unsafe lstat(link, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test func `is refused where the file has no place for it`() throws {
        func code(_ name: String, _ bytes: [UInt8], _ licenses: [[UInt8]] = [[1]]) throws -> MediaError.Code? {
            let path = folder.write(name, bytes)
            do {
                try EmbeddedLicense.replace(licenses, in: path)
                return nil
            } catch let error as MediaError {
                #expect(folder.read(name) == bytes)
                return error.code
            }
        }
        let dcf = try Fixtures.bytes("media/dcf/note.cbc.dcf")
        #expect(try code("a", try Fixtures.bytes("media/cenc/audio.cenc.mp4")) == .unsupported)
        #expect(try code("b", Array("text".utf8)) == .unsupported)
        #expect(try code("c", dcf, [[UInt8](repeating: 0, count: 1 << 20)]) == .unsupported)
        // the last box extends to the end, whatever that is
        #expect(try code("d", dcf + [0, 0, 0, 0] + Array("free".utf8)) == .unsupported)
        let none = folder.file("none")
        #expect(throws: MediaError(.unavailable, "")) { try EmbeddedLicense.replace([[1]], in: none) }
        #expect(throws: Malformed.self) { try EmbeddedLicense.replace([[1]], in: folder.write("e", Array(dcf.dropLast()))) }
        #expect(throws: Malformed.self) {
            let pdcf = try Fixtures.bytes("media/dcf/av.pdcf-cbc.mp4")
            try EmbeddedLicense.replace([[1]], in: folder.write("f", pdcf + [0, 0, 0]))
        }
    }
}
