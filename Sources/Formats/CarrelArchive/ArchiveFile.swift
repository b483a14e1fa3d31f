// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import Glibc

/// An open file that is read by position.
package final class ArchiveFile: ArchiveSource {
    private let file: RegularFile
    var descriptor: Int32 { file.descriptor }
    package private(set) var length: Int64

    convenience init(path: String, isWritten: Bool = false) throws(ArchiveError) {
        do throws(FileError) { self.init(try RegularFile(path, isWritten: isWritten)) } catch {
            throw error.code == .kind ? ArchiveError(.unreadable, "archive is not a regular file") : Self.failure(error)
        }
    }

    /// Reads an open file.
    init(_ file: RegularFile) {
        self.file = file
        length = file.size
    }

    /// Looks again how long the file is.
    ///
    /// - Throws: `archive.unreadable`.
    func measure() throws(ArchiveError) {
        do throws(FileError) { length = try file.currentSize() } catch { throw Self.failure(error) }
    }

    package func read(_ range: Range<Int64>) throws(ArchiveError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= length else { throw ArchiveError(.damaged, "archive is cut off") }
        let bytes: [UInt8]
        do throws(FileError) { bytes = try file.bytes(range) } catch { throw Self.failure(error) }
        guard bytes.count == range.count else { throw ArchiveError(.damaged, "archive is cut off") }
        return bytes
    }

    private static func failure(_ error: FileError) -> ArchiveError {
        unsafe ArchiveError(.unreadable, "archive cannot be read: \(String(cString: strerror(error.number)))")
    }
}
