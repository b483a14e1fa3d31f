// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHome
package import CarrelStore
import CarrelThreads
import CarrelWebAPI

/// Opens and reads blobs on threads that may wait for a disk, so that none of those that serve connections does.
package struct BlobIOPool: Sendable {
    /// The attributes that identify a file that was already compared.
    private struct Version: Equatable, Sendable {
        let size: Int64
        let modified: Instant
    }

    private static let comparedLimit = 20_000

    private let blobs: any BlobStore
    private let threads = BlockingThreadPool(name: "cold-read", count: 4)
    private let compared = Compared()

    private final class Compared: Sendable {
        let versions = Locked(LRUCache<String, Version>(limit: BlobIOPool.comparedLimit))
    }

    init(_ blobs: any BlobStore) {
        self.blobs = blobs
    }

    package func run<Result: Sendable>(_ work: @escaping @Sendable (any BlobStore) throws -> Result) async throws -> Result {
        try await threads.run { [blobs] in try work(blobs) }
    }

    /// The file of a blob, for serving.
    func file(_ id: String) async throws -> OpenFile {
        try await run { blobs in
            let blob = try blobs.open(try BlobID(stored: id))
            return try withExtendedLifetime(blob) { try OpenFile(duplicating: blob.descriptor) }
        }
    }

    /// The file of a small blob, for serving: a cover or a sample, whose length is not recorded. Its digest is verified when it
    /// is first opened, and again if the file was replaced.
    ///
    /// - Throws: `store.damaged` if the bytes do not match the blob's name.
    func soundFile(_ id: String) async throws -> OpenFile {
        try await run { [compared] blobs in
            let name = try BlobID(stored: id)
            let blob = try blobs.open(name)
            return try withExtendedLifetime(blob) {
                let file = try OpenFile(duplicating: blob.descriptor)
                let version = Version(size: file.size, modified: file.modified)
                if compared.versions.withLock({ $0[id] }) != version {
                    try blob.verify(name)
                    compared.versions.withLock { $0.insert(version, for: id, cost: 1) }
                }
                return file
            }
        }
    }
}
