// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelFiles
import CarrelMP4

/// A file on this machine, read in ranges. Reading blocks: never on threads that run tasks.
package final class LocalFile: ByteReader, Sendable {
    private let file: RegularFile
    /// Its path.
    package let path: String
    /// Bytes in all, when it was opened.
    package var length: Int64 { file.size }

    /// Opens a file.
    ///
    /// - Parameter path: a regular file.
    /// - Throws: `unavailable` if it cannot be read.
    package init(_ path: String) throws(MediaError) {
        do throws(FileError) { file = try RegularFile(path) } catch {
            throw error.code == .kind ? MediaError(.unavailable, "\(path) is not a file") : Self.unreadable(path, error)
        }
        self.path = path
    }

    package func read(_ range: Range<Int64>) throws -> [UInt8] {
        do throws(FileError) { return try file.bytes(range) } catch { throw Self.unreadable(path, error) }
    }

    /// Reads a range that is in the page cache, without waiting for the disk.
    ///
    /// - Parameter range: a range of the file.
    /// - Returns: nil unless all bytes are in memory.
    func cached(_ range: Range<Int64>) -> [UInt8]? {
        let count = range.count
        var isWhole = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            guard let start = buffer.baseAddress else { return }
            let received = unsafe clinux_read_cached(file.descriptor, start, count, range.lowerBound)
            isWhole = received == count
            filled = max(0, received)
        }
        return isWhole ? bytes : nil
    }

    private static func unreadable(_ path: String, _ error: FileError) -> MediaError {
        MediaError(.unavailable, "\(path) cannot be read: \(error.reason)")
    }

    /// Whether a path leads to this file.
    package func isSame(as path: String) -> Bool { file.isSame(as: path) }
}
