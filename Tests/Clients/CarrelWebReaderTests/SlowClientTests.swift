// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelPublication
import CarrelWebReader
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@Suite("A client that takes its time")
struct SlowClientTests {
    /// A gibibyte of zeros that knows how far it was read.
    private final class Zeros: Resource {
        let link = Link(href: "zeros.bin")
        private let farthest = Locked<Int64>(0)
        static let byteCount: Int64 = 1 << 30

        var readTo: Int64 { farthest.withLock { $0 } }

        func length() async throws(ResourceError) -> Int64 { Self.byteCount }

        func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
            let range = range.clamped(to: 0..<Self.byteCount)
            farthest.withLock { $0 = max($0, range.upperBound) }
            buffer += [UInt8](repeating: 0, count: range.count)
        }
    }

    @Test func `makes the reading of the resource wait`() async throws {
        let zeros = Zeros()
        var manifest = Manifest(metadata: Metadata(title: "Zeros"))
        manifest.readingOrder = [zeros.link]
        let publication = Publication.Builder(manifest: manifest, format: .zip, fetcher: SingleResourceFetcher(zeros)).build()
        let server = PublicationServer(publication)
        let address = try server.start().publication + "zeros.bin"
        let parts = address.split(separator: "/", maxSplits: 2)
        let port = try #require(parts[1].split(separator: ":").last.flatMap { UInt16($0) })
        let socket = LoopbackPort.connect(port)
        try #require(socket >= 0)
        let request = Array("GET /\(parts[2]) HTTP/1.1\r\nHost: \(parts[1])\r\n\r\n".utf8)
        let sent = unsafe request.withUnsafeBytes { unsafe send(socket, $0.baseAddress, $0.count, 0) }
        #expect(sent == request.count)
        // until nothing more is read: what fits into the buffers of the server and of the sockets
        var before: Int64 = -1
        while zeros.readTo != before || before == 0 {
            before = zeros.readTo
            try await Task.sleep(for: .milliseconds(300))
        }
        #expect(zeros.readTo < 64 << 20, "\(zeros.readTo) bytes were read for a client that took none")
        close(socket)
        await server.stop()
    }
}
