import CarrelHTTP
import CarrelStore
import CarrelThreads

/// Opens and reads blobs on threads that may wait for a disk, so that none of those that serve connections does.
struct ColdBlobs: Sendable {
    private let blobs: any BlobStore
    private let threads = BlockingThreads(name: "cold-read", count: 4)

    init(_ blobs: any BlobStore) {
        self.blobs = blobs
    }

    func run<Result: Sendable>(_ work: @escaping @Sendable (any BlobStore) throws -> Result) async throws -> Result {
        try await threads.run { [blobs] in try work(blobs) }
    }

    /// The file of a blob, as it is served.
    func file(_ id: String) async throws -> OpenFile {
        try await run { blobs in
            let blob = try blobs.open(try BlobID(stored: id))
            return try withExtendedLifetime(blob) { try OpenFile(duplicating: blob.descriptor) }
        }
    }
}
