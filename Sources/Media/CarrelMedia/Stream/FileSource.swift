// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
package import CarrelThreads

/// A local file as a source. Bytes in the page cache are read on the caller's thread; others are read on dedicated threads, which wait
/// for the disk.
public final class FileSource: MediaSource {
    private let file: Locked<LocalFile?>
    private let contentType: String?
    private let threads: BlockingThreadPool

    /// - Parameters:
    ///   - file: the file.
    ///   - contentType: its media type.
    ///   - threads: reads it.
    package init(_ file: LocalFile, contentType: String? = nil, threads: BlockingThreadPool) {
        self.file = Locked(file)
        self.contentType = contentType
        self.threads = threads
    }

    /// Bytes that are copied on a thread of tasks, at most.
    private static let cachedLimit = 1 << 20

    private static let threads = BlockingThreadPool(name: "carrel-media", count: 2)

    /// Opens a file, which is read on threads that all such sources share.
    ///
    /// - Parameters:
    ///   - path: a regular file.
    ///   - contentType: its media type.
    /// - Throws: `media.unavailable` if it cannot be opened.
    public convenience init(path: String, contentType: String? = nil) async throws {
        let file = try await Self.threads.run { try LocalFile(path) }
        self.init(file, contentType: contentType, threads: Self.threads)
    }

    private func current() throws(MediaError) -> LocalFile {
        guard let file = file.withLock({ $0 }) else { throw MediaError(.closed, "the stream is closed") }
        return file
    }

    public func open() throws -> MediaSourceInformation {
        MediaSourceInformation(length: try current().length, contentType: contentType)
    }

    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let file = try current()
        if range.count <= Self.cachedLimit, let bytes = file.cached(range) { return bytes }
        return try await threads.run { try file.readAll(range) }
    }

    public func close() { file.withLock { $0 = nil } }
}
