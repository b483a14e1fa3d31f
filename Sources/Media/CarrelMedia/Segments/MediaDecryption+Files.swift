// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelThreads

extension MediaDecryption {
    /// The outcome of a decryption into a file.
    public struct Written: Sendable, Hashable {
        /// Bytes of the file.
        public var length: Int64
        /// The tracks that the output cannot hold and that are left out: each with the reason, as a lower-case phrase.
        public var omitted: [String]
        /// The names of the keys that the clear bytes have not shown to be right, because no check exists for their media.
        public var unverifiedKeys: [String]
    }

    private static let threads = BlockingThreadPool(name: "carrel-decrypt", count: 2)

    /// Probes a local file and requests its keys.
    ///
    /// - Parameters:
    ///   - path: a media file, or a playlist with its segments in the same folder or below.
    ///   - output: the form of the output.
    ///   - object: the object of a DCF, from 1.
    ///   - source: the key source.
    ///   - now: the time by which keys expire.
    /// - Throws: `media.unsupported` if nothing in the file is protected, Carrel does not open its protection, or it cannot have
    ///   that output; `media.missing-key`, `media.refused-key`, `media.wrong-key`; `media.output-control` and `media.expired-key`
    ///   for keys that may not be used for plain files; `media.unavailable`; `Malformed` if the file is damaged.
    public init(
        path: String,
        as output: Output = .same,
        object: Int = 1,
        keys source: some ContentKeySource,
        now: Instant = .now()
    ) async throws {
        let file = try await Self.threads.run { try LocalFile(path) }
        try await self.init(of: file, as: output, object: object, keys: source, now: now)
    }

    /// Writes the output to a file, which appears complete or not at all. Cancelling the task ends the work.
    ///
    /// - Parameters:
    ///   - path: the destination; an existing file is replaced at the end.
    ///   - progress: gets how much of ``totalLength`` is done, or of the input if that is nil; called on another thread.
    /// - Returns: the written output.
    /// - Throws: `media.unwritable`, `media.unavailable`, `media.wrong-key`, `media.missing-key`, `media.unsupported`; `Malformed`;
    ///   `CancellationError`.
    public func write(toFile path: String, progress: @escaping @Sendable (Int64) -> Void = { _ in }) async throws -> Written {
        let isCancelled = Locked(false)
        return try await withTaskCancellationHandler {
            try await Self.threads.run {
                var file = try OutputFile(path)
                let omitted = try write(to: &file) { done in
                    if isCancelled.withLock({ $0 }) { throw CancellationError() }
                    progress(done)
                }
                return Written(length: try file.commit(), omitted: omitted, unverifiedKeys: unverifiedKeys)
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }
}
