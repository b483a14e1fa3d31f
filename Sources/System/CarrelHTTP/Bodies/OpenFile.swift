// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelFiles
import Glibc

/// A regular file open for reading; closed when the last holder releases it.
public final class OpenFile: Sendable {
    /// The file itself.
    package let file: RegularFile
    /// The descriptor, valid as long as the value lives.
    public var fd: Int32 { file.descriptor }
    /// Bytes, when it was opened.
    public var size: Int64 { file.size }
    /// When its content last changed, when it was opened.
    public var modified: Instant { file.modified }

    /// Opens the regular file at `path`; throws 404 when there is none.
    ///
    /// - Parameter path: the file's path.
    /// - Throws: ``HTTPError`` with status 404, or 500 if the file cannot be opened.
    public convenience init(path: String) throws(HTTPError) {
        try self.init { () throws(FileError) in try RegularFile(path) }
    }

    /// The same file as an open descriptor, which stays its owner's.
    ///
    /// - Parameter descriptor: the descriptor to duplicate.
    /// - Throws: ``HTTPError`` with status 500 if it cannot be duplicated, or 404 if it is not a regular file.
    public convenience init(duplicating descriptor: Int32) throws(HTTPError) {
        let fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard fd >= 0 else { throw Self.openFailure(errno) }
        try self.init { () throws(FileError) in try RegularFile(adopting: fd) }
    }

    private init(_ open: () throws(FileError) -> RegularFile) throws(HTTPError) {
        do throws(FileError) { file = try open() } catch {
            let isMissing = error.code == .kind || error.number == ENOENT || error.number == ENOTDIR
            guard isMissing else { throw Self.openFailure(error.number) }
            throw HTTPError.notFound("there is no such file")
        }
    }

    private static func openFailure(_ number: Int32) -> HTTPError {
        HTTPError(.internalServerError, "http.file", "the file cannot be opened (error \(number))")
    }

    /// Bytes that the file has now; it may have become shorter.
    public var sizeNow: Int64 { (try? file.currentSize()) ?? 0 }

    /// Appends bytes of the range while there is room; throws when the file has become shorter.
    ///
    /// - Parameters:
    ///   - range: the bytes to read.
    ///   - out: the room for the bytes.
    /// - Throws: ``HTTPError`` with status 500.
    public func read(_ range: Range<Int64>, into out: inout OutputRawSpan) throws(HTTPError) {
        let count = Int(min(range.upperBound - range.lowerBound, Int64(out.freeCapacity)))
        do throws(FileError) {
            guard try file.read(at: range.lowerBound, upTo: count, into: &out) < count else { return }
        } catch {
            throw HTTPError(.internalServerError, "http.file", "the file cannot be read (error \(error.number))")
        }
        throw HTTPError(.internalServerError, "http.file", "the file is shorter than it was")
    }

    /// Reads a range into memory; throws when the file has become shorter.
    ///
    /// - Parameter range: the bytes to read.
    /// - Returns: the bytes.
    /// - Throws: ``HTTPError`` with status 500.
    public func read(_ range: Range<Int64>) throws(HTTPError) -> [UInt8] {
        try [UInt8](rawCapacity: range.count) { (out) throws(HTTPError) in try read(range, into: &out) }
    }
}
