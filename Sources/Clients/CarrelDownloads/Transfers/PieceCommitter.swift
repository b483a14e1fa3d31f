// SPDX-License-Identifier: Apache-2.0

import CarrelSavedMedia
import CarrelThreads

/// Makes finished pieces durable, many at a time: one sync of the file system, then one transaction of the journal.
actor PieceCommitter {
    /// The pieces of a full batch, and its bytes.
    private static let pieceLimit = 256
    private static let byteLimit: Int64 = 64 << 20

    private let writer: SavedPackageWriter
    private let threads: BlockingThreadPool
    private let batchTime: Duration
    private let record: @Sendable ([(name: SavedPieceName, digest: SavedDigest)]) async throws -> Void
    private var files: [PieceFile] = []
    private var digests: [(name: SavedPieceName, digest: SavedDigest)] = []
    private var byteCount: Int64 = 0
    private var alarm: Task<Void, Never>?
    /// The batches that are being made durable.
    private var last: Task<Void, any Error>?
    private var failure: (any Error)?

    /// - Parameters:
    ///   - writer: the package.
    ///   - threads: threads that may wait for the disk.
    ///   - batchTime: the longest time that a piece waits for others.
    ///   - record: writes durable pieces to the journal.
    init(
        _ writer: SavedPackageWriter,
        threads: BlockingThreadPool,
        batchTime: Duration,
        record: @escaping @Sendable ([(name: SavedPieceName, digest: SavedDigest)]) async throws -> Void
    ) {
        self.writer = writer
        self.threads = threads
        self.batchTime = batchTime
        self.record = record
    }

    /// Adds a finished piece. Waits while the disk has more than one batch to write.
    ///
    /// - Throws: the failure of an earlier batch.
    func add(_ file: PieceFile, _ digest: SavedDigest) async throws {
        if let failure { throw failure }
        files.append(file)
        digests.append((file.name, digest))
        byteCount += digest.length
        if files.count >= Self.pieceLimit || byteCount >= Self.byteLimit {
            let earlier = last
            start()
            try await earlier?.value
        } else if alarm == nil {
            alarm = Task { [batchTime] in
                try? await Task.sleep(for: batchTime)
                if !Task.isCancelled { start() }
            }
        }
    }

    /// Makes all pieces durable.
    ///
    /// - Throws: the failure of a batch: of the disk, or of the journal.
    func finish() async throws {
        start()
        try await last?.value
        if let failure { throw failure }
    }

    /// Starts a batch after those before it.
    private func start() {
        alarm?.cancel()
        alarm = nil
        guard !files.isEmpty else { return }
        let (batch, stored) = (files, digests)
        (files, digests, byteCount) = ([], [], 0)
        last = Task { [last, writer, threads, record] in
            try await last?.value
            do {
                try await threads.run { try writer.commit(batch) }
                try await record(stored)
            } catch {
                failure = failure ?? error
                throw error
            }
        }
    }
}
