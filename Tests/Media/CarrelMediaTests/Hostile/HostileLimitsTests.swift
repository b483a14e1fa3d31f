// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import ProtectedMedia
import Testing

struct `Limits of MP4 files` {
    /// Makes a file whose only sample description has another type.
    private static func typed(_ type: String, _ file: [UInt8]) throws -> [UInt8] {
        var file = file
        let at = try #require(file.indices.first { file[$0...].starts(with: Array("enca".utf8)) })
        file.replaceSubrange(at..<at + 4, with: Array(type.utf8))
        return file
    }

    private static var made: ProtectedMovie {
        var made = ProtectedMovie()
        made.samples = ProtectedMovie.samples(1, hasParts: true)
        return made
    }

    private static func copy(_ bytes: [UInt8]) async throws -> [UInt8] {
        let file = try MP4File(BytesReader(bytes))
        var keys = GivenKeys()
        keys.add(Secret(made.defaults.keyBytes), for: nil)
        var copy = try ClearCopy(file, keys: try await TrackDecrypter.keys(of: file, from: keys))
        var sink = BytesSink()
        try copy.write(to: &sink)
        return sink.bytes
    }

    @Test func `do not ask for the type of a protected description`() async throws {
        for bytes in [try Self.made.file(), try Self.made.fragments()] {
            let copied = try await Self.copy(try Self.typed("abcd", bytes))
            #expect(try await copied == Self.copy(bytes))
            #expect(try MP4File(BytesReader(copied)).tracks.allSatisfy { $0.protection == nil && $0.entries[0].type == "alac" })
        }
    }

    @Test func `refuse auxiliary information past any file`() async throws {
        var made = Self.made
        made.information = .auxiliaryOfEach
        var bytes = try made.file()
        let table = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("saio".utf8)) })
        var offset: [UInt8] = []
        offset.append(bigEndian: 0x7fff_ffff_ffff_fff0 as UInt64)
        bytes.replaceSubrange(table + 20..<table + 28, with: offset)
        let error = await #expect(throws: Malformed.self) { _ = try await Self.copy(bytes) }
        #expect(error?.what == "auxiliary information lies past any file" && error?.offset == table + 20)
    }

    @Test func `end the count of samples`() throws {
        let count = 400_000_000
        let tables =
            HostileFile.box("stts", HostileFile.words(0, 1, count, 1))
            + HostileFile.box("stsc", HostileFile.words(0, 1, 1, count, 1))
            + HostileFile.box("stco", HostileFile.words(0, 1, 0)) + HostileFile.box("stsz", HostileFile.words(0, 1, count))
        let file = HostileFile(HostileFile.brand + HostileFile.movie(tables: tables), length: Int64(count))
        let facts = try MediaInspection.describe(file)
        let track = try #require(facts.object?["tracks"]?.array?.first?.object)
        #expect(track["samples"] == .integer(10_000_000) && track["samplesLeftOut"] == .bool(true))
    }
}
