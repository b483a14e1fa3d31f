// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import Glibc

/// A file that is read in windows. A title may have more files than a process may have open: one that ``rest()`` put aside is
/// opened again when it is read, and has to be the same then.
final class SourceFile {
    /// The path given by the operator, or the name in its archive.
    let name: String
    let path: String
    let size: Int64
    private let flags: Int32
    private let identity: [Int]
    /// Below 0 while it rests.
    private var descriptor: Int32

    /// Bytes of one read.
    static let window = 1 << 20

    init(path: String, name: String, followsLinks: Bool = true) throws(IngestError) {
        // Not waiting for a writer of a named pipe.
        flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)
        let (descriptor, status) = try Self.open(path, flags, name)
        self.descriptor = descriptor
        self.name = name
        self.path = path
        size = Int64(status.st_size)
        identity = Self.identity(status)
    }

    deinit { rest() }

    /// Gives its descriptor back until it is read again.
    func rest() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Its descriptor, opened again where it rested; valid until ``rest()``.
    func opened() throws(IngestError) -> Int32 {
        if descriptor >= 0 { return descriptor }
        let (fresh, status) = try Self.open(path, flags, name)
        descriptor = fresh
        guard Self.identity(status) == identity else {
            throw IngestError(.unreadable, name, "has changed while it was read")
        }
        return fresh
    }

    private static func open(
        _ path: String,
        _ flags: Int32,
        _ name: String
    ) throws(IngestError) -> (descriptor: Int32, status: stat) {
        let descriptor = unsafe Glibc.open(path, flags)
        guard descriptor >= 0 else { throw IngestError(.unreadable, name, "cannot be read: \(systemReason())") }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw IngestError(.unreadable, name, "is not a file")
        }
        return (descriptor, status)
    }

    private static func identity(_ status: stat) -> [Int] {
        [Int(status.st_dev), Int(status.st_ino), status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The path from the root, for a program that starts elsewhere.
    var absolutePath: String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The bytes of `range`; fewer at the end of the file.
    func bytes(_ range: Range<Int64>) throws(IngestError) -> [UInt8] {
        let descriptor = try opened()
        let count = Int(max(0, min(range.upperBound, size) - range.lowerBound))
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                return unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound) + off_t(filled))
            }
            if got == 0 { break }
            guard got > 0 else {
                if errno == EINTR { continue }
                throw IngestError(.unreadable, name, "cannot be read: \(systemReason())")
            }
            filled += got
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Reads the file front to back; `body` gets each window.
    func forEachWindow(_ body: (RawSpan) throws -> Void) throws {
        let descriptor = try opened()
        var bytes = [UInt8](repeating: 0, count: Self.window)
        var at: Int64 = 0
        while true {
            let got = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(at)) }
            guard got >= 0 else {
                if errno == EINTR { continue }
                throw IngestError(.unreadable, name, "cannot be read: \(systemReason())")
            }
            if got == 0 { return }
            try body(bytes.rawSpan.extracting(0..<got))
            at += Int64(got)
        }
    }
}
