// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
import Glibc

/// A file that appears complete or not at all. It is written without a name and linked at the end or, on file systems without
/// unnamed files, written under a temporary name and renamed.
///
/// A device, a named pipe or standard output is written sequentially as the bytes come, and keeps what was written.
package final class OutputFile: MediaSink {
    /// Its place; `-` for standard output.
    package let path: String
    /// Whether bytes can only be appended, directly to the destination.
    package let isSequential: Bool
    /// Whether an existing file is replaced.
    private let replaces: Bool
    /// The temporary file, if the file has a name before `commit`.
    private var fresh: String?
    private var descriptor: Int32
    private var buffer: [UInt8] = []
    /// Bytes written in order.
    private var count: Int64 = 0

    private static let bufferLength = 256 << 10
    private static func exists(_ path: String) -> MediaError {
        MediaError(.unwritable, "\(path) exists already: name another file, or replace it with --force")
    }

    /// Names of standard output.
    private static let standardOutput: Set<String> = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]

    /// Starts a file.
    ///
    /// - Parameters:
    ///   - path: the destination; an existing file is kept until `commit`. `-` is standard output. A named pipe waits for its
    ///     reader.
    ///   - permissions: the permissions of the file; nil for the defaults of a new file.
    ///   - replaces: whether an existing file is replaced; otherwise it is refused, also in `commit`.
    /// - Throws: `unwritable` if the destination cannot be written.
    package init(_ path: String, permissions: UInt32? = nil, replaces: Bool = true) throws(MediaError) {
        self.path = path
        self.replaces = replaces
        var status = stat()
        if Self.isStandardOutput(path) {
            descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
            isSequential = true
        } else if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            guard [S_IFCHR, S_IFIFO].contains(status.st_mode & S_IFMT) else {
                throw MediaError(.unwritable, "\(path) is not a file")
            }
            descriptor = unsafe open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC)
            isSequential = true
        } else {
            if !replaces { try Self.check(path) }
            isSequential = false
            let mode: mode_t = permissions == nil ? 0o644 : 0o600
            descriptor = Self.openUnnamed(in: Self.folder(of: path), mode)
            if descriptor < 0 {
                let fresh = Self.freshPath(beside: path)
                descriptor = unsafe open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
                if descriptor >= 0 { self.fresh = fresh }
            }
            if descriptor >= 0, let permissions { _ = fchmod(descriptor, permissions) }
        }
        guard descriptor >= 0 else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
    }

    /// Refuses a place at which a file exists; devices and pipes are not refused.
    ///
    /// - Throws: `unwritable`.
    package static func check(_ path: String) throws(MediaError) {
        var status = stat()
        guard !isStandardOutput(path), unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        throw exists(path)
    }

    /// Whether a path leads to standard output.
    package static func isStandardOutput(_ path: String) -> Bool { standardOutput.contains(path) }

    /// `O_TMPFILE` for `open` (Linux, `asm-generic/fcntl.h`): Swift does not import the macro.
    private static let unnamed = O_DIRECTORY | 0o20_000_000

    /// Opens a file without a name, which disappears with its descriptor: nothing remains if the process is killed.
    ///
    /// - Returns: the descriptor; negative if the file system does not support unnamed files, or `/proc`, which links them, is
    ///   missing.
    private static func openUnnamed(in folder: String, _ mode: mode_t) -> Int32 {
        let descriptor = unsafe open(folder, unnamed | O_RDWR | O_CLOEXEC, mode)
        guard descriptor >= 0 else { return descriptor }
        if unsafe access(link(descriptor), F_OK) == 0 { return descriptor }
        close(descriptor)
        return -1
    }

    /// The path by which the kernel finds the file of a descriptor.
    private static func link(_ descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return String(path[...slash])
    }

    /// A random name, in the folder of the place.
    private static func freshPath(beside path: String) -> String {
        let folder = path.contains("/") ? folder(of: path) : ""
        return "\(folder).carrel-\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        if let fresh { unsafe unlink(fresh) }
    }

    package func write(_ bytes: RawSpan) throws {
        if bytes.byteCount >= Self.bufferLength {
            try flush()
            try put(bytes)
        } else {
            buffer.append(copying: bytes)
            if buffer.count >= Self.bufferLength { try flush() }
        }
    }

    package func overwrite(_ bytes: RawSpan, at offset: Int64) throws {
        guard !isSequential else { throw Self.needsFile(path) }
        try flush()
        try put(bytes, at: offset)
    }

    private func flush() throws {
        guard !buffer.isEmpty else { return }
        var held: [UInt8] = []
        swap(&held, &buffer)
        try put(held.rawSpan)
        held.removeAll(keepingCapacity: true)
        buffer = held
    }

    private func put(_ bytes: RawSpan, at offset: Int64? = nil) throws(MediaError) {
        let isWritten = unsafe bytes.withUnsafeBytes { source in
            var done = 0
            while done < source.count {
                let start = unsafe source.baseAddress.map { unsafe $0 + done }
                let count =
                    if let offset {
                        unsafe pwrite(descriptor, start, source.count - done, off_t(offset) + off_t(done))
                    } else {
                        unsafe Glibc.write(descriptor, start, source.count - done)
                    }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
        guard isWritten else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
        if offset == nil { count += Int64(bytes.byteCount) }
    }

    /// The refusal of an output that is not written sequentially.
    private static func needsFile(_ path: String) -> MediaError {
        let name = isStandardOutput(path) ? "standard output" : path
        return MediaError(
            .unwritable,
            "\(name) cannot take this output, whose parts are not written in order: write it to a file"
        )
    }

    /// Gives the file its name, or ends sequential output.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unwritable`; there is then no file, or still the previous one.
    @discardableResult
    package func commit() throws -> Int64 {
        try flush()
        guard !isSequential else {
            let isClosed = close(descriptor) == 0
            descriptor = -1
            guard isClosed else { throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())") }
            return count
        }
        let length = lseek(descriptor, 0, SEEK_END)
        guard fsync(descriptor) == 0, giveName() else {
            if !replaces, errno == EEXIST { throw Self.exists(path) }
            throw MediaError(.unwritable, "\(path) cannot be written: \(systemReason())")
        }
        close(descriptor)
        descriptor = -1
        try? DurableFile.syncFolder(of: path)
        return Int64(length)
    }

    /// Moves the file to its place; an existing file is replaced.
    private func giveName() -> Bool {
        if fresh == nil {
            if name(path) { return true }
            // a file there is not replaced by a second name, but by renaming
            guard errno == EEXIST, replaces else { return false }
            let other = Self.freshPath(beside: path)
            guard name(other) else { return false }
            fresh = other
        }
        guard let fresh else { return false }
        guard replaces else {
            // a second name does not replace another
            guard unsafe linkat(AT_FDCWD, fresh, AT_FDCWD, path, 0) == 0 else { return false }
            unsafe unlink(fresh)
            return true
        }
        return unsafe rename(fresh, path) == 0
    }

    private func name(_ path: String) -> Bool {
        unsafe linkat(AT_FDCWD, Self.link(descriptor), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0
    }
}
