import CarrelMP4
package import CarrelThreads

/// A file on this machine as a source. Reading blocks, and runs on threads of its own.
package final class FileSource: MediaSource {
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

    private func current() throws(MediaError) -> LocalFile {
        guard let file = file.withLock({ $0 }) else { throw MediaError(.closed, "the stream is closed") }
        return file
    }

    package func open() throws -> MediaSourceInformation {
        MediaSourceInformation(length: try current().length, contentType: contentType)
    }

    package func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let file = try current()
        return try await threads.run { try file.readAll(range) }
    }

    package func close() { file.withLock { $0 = nil } }
}
