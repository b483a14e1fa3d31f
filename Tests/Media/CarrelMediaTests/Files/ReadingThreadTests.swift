// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTesting
import CarrelThreads
import Glibc
import ProtectedMedia
import Testing

/// A file in memory that keeps the names of the threads that read it.
private final class WitnessedReader: ByteReader, Sendable {
    let bytes: [UInt8]
    let threads = Locked<Set<String>>([])

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var length: Int64 { Int64(bytes.count) }

    func read(_ range: Range<Int64>) -> [UInt8] {
        let descriptor = unsafe open("/proc/thread-self/comm", O_RDONLY)
        defer { close(descriptor) }
        var name = [UInt8](repeating: 0, count: 32)
        let count = unsafe Glibc.read(descriptor, &name, name.count)
        let text = String(decoding: name.prefix(max(0, count - 1)), as: UTF8.self)
        threads.withLock { _ = $0.insert(text) }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}

struct `A file whose keys are asked for` {
    private static let files = [
        "cenc/av.cenc.mp4", "cenc/av-nonfrag.cenc.mp4", "dcf/mp3.cbc.dcf", "dcf/av.pdcf-ctr.mp4", "marlin/av.acbc.mp4",
    ]

    @Test(arguments: ProtectedFixture.all.filter { files.contains($0.name) })
    func `is read on threads that may block`(fixture: ProtectedFixture) async throws {
        let reader = WitnessedReader(try Fixtures.bytes("media/\(fixture.name)"))
        _ = try await MediaDecryption(of: reader, keys: fixture.keys)
        #expect(reader.threads.withLock { $0 } == ["media-read"])
    }

    @Test @MainActor func `is read there for a caller on the main actor too`() async throws {
        let fixture = try #require(ProtectedFixture.all.first { $0.name == Self.files[0] })
        let reader = WitnessedReader(try Fixtures.bytes("media/\(fixture.name)"))
        _ = try await MediaDecryption(of: reader, as: .transportStream, keys: fixture.keys)
        #expect(reader.threads.withLock { $0 } == ["media-read"])
    }
}
