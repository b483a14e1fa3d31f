// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelFiles
import CarrelThreads
import Glibc

/// A file of the local disk, read at any offset by any number of concurrent tasks.
///
/// Bytes in the page cache are read on the caller's thread; bytes that must come from the disk, on threads that may wait.
@safe
public final class FileResource: Resource {
    public let link: Link
    private let file: RegularFile
    /// Stays open for as long as the resource lives.
    var descriptor: Int32 { file.descriptor }
    private let size: Locked<Int64>
    private var byteCount: Int64 { size.withLock { $0 } }

    private static let threads = BlockingThreadPool(name: "carrel-files", count: 4)

    /// Opens a file as a resource.
    ///
    /// - Parameters:
    ///   - link: the resource's link.
    ///   - path: a regular file; a symbolic link is followed.
    /// - Throws: `resource.not-found`, `resource.forbidden` without permission, `resource.unavailable`.
    public init(_ link: Link, path: String) throws(ResourceError) {
        do throws(FileError) { file = try RegularFile(path) } catch {
            guard error.code == .kind else { throw Self.error(link, error) }
            throw ResourceError(.notFound, "\"\(link.href)\" is not a regular file")
        }
        self.link = link
        size = Locked(file.size)
    }

    /// - Parameters:
    ///   - link: of the resource.
    ///   - file: the open file.
    init(_ link: Link, _ file: RegularFile) {
        self.link = link
        self.file = file
        size = Locked(file.size)
    }

    /// Checks the file's length again: it may have grown since it was opened.
    ///
    /// - Parameter length: the known length.
    /// - Returns: whether the file is longer; later reads use the new length.
    func hasGrown(beyond length: Int64) -> Bool {
        guard let now = try? file.currentSize() else { return false }
        size.withLock { $0 = max($0, now) }
        return now > length
    }

    public func length() async throws(ResourceError) -> Int64 { byteCount }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<byteCount)
        guard !range.isEmpty else { return }
        if readCached(range, into: &buffer) { return }
        let owned = Locked(buffer)
        buffer = []
        let outcome: Result<[UInt8], any Error>
        do {
            outcome = .success(
                try await Self.threads.run { [self] in
                    var bytes: [UInt8] = []
                    owned.withLock { swap(&$0, &bytes) }
                    try readWaiting(range, into: &bytes)
                    return bytes
                }
            )
        } catch { outcome = .failure(error) }
        switch outcome {
        case .success(let bytes): buffer = bytes
        case .failure(let error): throw error as? ResourceError ?? ResourceError(.unavailable, "\"\(link.href)\" cannot be read")
        }
    }

    /// Appends all of the range if it is in memory; otherwise nothing.
    private func readCached(_ range: Range<Int64>, into buffer: inout [UInt8]) -> Bool {
        let before = buffer.count
        let count = Int(range.upperBound - range.lowerBound)
        unsafe buffer.append(addingRawCapacity: count) { room in
            guard let start = room.baseAddress else { return 0 }
            let got = unsafe clinux_read_cached(descriptor, start, count, range.lowerBound)
            return got == count ? count : 0
        }
        return buffer.count - before == count
    }

    private func readWaiting(_ range: Range<Int64>, into buffer: inout [UInt8]) throws(ResourceError) {
        var failure: ResourceError?
        let count = Int(range.upperBound - range.lowerBound)
        unsafe buffer.append(addingRawCapacity: count) { room in
            do throws(FileError) {
                let got = try unsafe file.read(
                    at: range.lowerBound,
                    into: UnsafeMutableRawBufferPointer(rebasing: room[..<count])
                )
                if got < count { failure = ResourceError(.unavailable, "\"\(link.href)\" became shorter while it was read") }
                return got
            } catch {
                failure = Self.error(link, error)
                return 0
            }
        }
        if let failure { throw failure }
    }

    /// The error for a failed system call.
    private static func error(_ link: Link, _ error: FileError) -> ResourceError {
        switch error.number {
        case ENOENT, ENOTDIR, ENXIO: ResourceError(.notFound, "\"\(link.href)\" is not there")
        case EACCES, EPERM: ResourceError(.forbidden, "\"\(link.href)\" may not be read by this user")
        case let number:
            unsafe ResourceError(.unavailable, "\"\(link.href)\" cannot be read: \(String(cString: strerror(number)))")
        }
    }
}
