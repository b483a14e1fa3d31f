// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

struct `A disk that does not answer` {
    /// Blobs whose opening hangs while the gate is closed, for five seconds at most.
    private final class GatedBlobs: BlobStore {
        struct State {
            var isClosed = false
            var waiting = 0
            var hasGivenUp = false
        }

        let inner: DirectoryBlobStore
        let state = Locked(State())

        init(_ inner: DirectoryBlobStore) { self.inner = inner }

        func open(_ id: BlobID) throws(StoreError) -> OpenBlob {
            state.withLock { $0.waiting += 1 }
            for _ in 0..<500 where state.withLock({ $0.isClosed }) { usleep(10_000) }
            state.withLock { if $0.isClosed { $0.hasGivenUp = true } }
            return try inner.open(id)
        }

        func writer() throws(StoreError) -> any BlobWriter { try inner.writer() }
        func contains(_ id: BlobID) throws(StoreError) -> Bool { try inner.contains(id) }
        func delete(_ id: BlobID) throws(StoreError) -> Bool { try inner.delete(id) }
        func census(before: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> BlobCensus {
            try inner.census(before: before, keeping: isUsed)
        }
        func sweep(before: Instant, at now: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> Int {
            try inner.sweep(before: before, at: now, keeping: isUsed)
        }
        func recover(keeping isUsed: (BlobID) throws -> Bool) throws { try inner.recover(keeping: isUsed) }
        func each(_ body: (BlobID) throws -> Void) throws { try inner.each(body) }
    }

    @Test func `blocks only clients that request its content`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let home = try Home(at: test.directory.path)
        let blobs = GatedBlobs(try DirectoryBlobStore(path: home.blobsPath))
        let service = try await CarrelService(home: home, database: test.service.database, blobs: blobs, clock: test.clock)
        let order = try await test.order()
        blobs.state.withLock { $0.isClosed = true }
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    let target = "/v1/stream/hls/\(order.id)/playlist.m3u8"
                    let answer = await service.router.respond(to: HTTPRequest(.get, target))
                    #expect(answer.status == .ok)
                }
            }
            while blobs.state.withLock({ $0.waiting < 4 }) { await Task.yield() }
            let alive = await service.router.respond(to: HTTPRequest(.get, "/healthz"))
            #expect(alive.status == .ok)
            #expect(!blobs.state.withLock { $0.hasGivenUp }, "this was answered only once the disk was")
            blobs.state.withLock { $0.isClosed = false }
        }
    }
}
