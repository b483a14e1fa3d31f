// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelBytes
import CarrelFiles
import Glibc

/// The folder of a package: reading small files, and writing files durably.
struct PackageFolder: Sendable {
    /// The path, without a slash at its end.
    let path: String

    /// The suffix of files that are not committed yet.
    static let temporarySuffix = ".part"
    static let bootName = "boot.xml"

    init(_ path: String) {
        self.path = path
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    // MARK: - Reading

    /// Returns a small file.
    ///
    /// - Parameters:
    ///   - name: its name in the package.
    ///   - limit: bytes at most.
    /// - Returns: its bytes.
    /// - Throws: `saved.missing`, `saved.format` if it is longer, `saved.disk`.
    func read(_ name: String, limit: Int) throws(SavedMediaError) -> [UInt8] {
        let file = try open(name)
        guard file.size <= Int64(limit) else {
            throw SavedMediaError(.format, "\(name) cannot be read: it has more than \(limit) bytes")
        }
        do throws(FileError) { return try file.bytes(0..<file.size) } catch { throw SavedMediaError("read \(name)", error) }
    }

    /// Opens a file of the package; links are not followed.
    ///
    /// - Throws: `saved.missing`, `saved.damaged` if it is not a regular file, `saved.disk`.
    func open(_ name: String) throws(SavedMediaError) -> RegularFile {
        do throws(FileError) { return try RegularFile(path(of: name), followsLinks: false) } catch {
            if error.code == .read, [ENOENT, ENOTDIR].contains(error.number) {
                throw SavedMediaError(.missing, "\(name) is not in the package")
            }
            if error.code == .kind || error.number == ELOOP {
                throw SavedMediaError(.damaged, "\(name) is damaged: it is not a regular file")
            }
            throw SavedMediaError("read \(name)", error)
        }
    }

    /// Bytes of a file; nil if there is no regular file of that name.
    func size(_ name: String) -> Int64? {
        var status = stat()
        guard unsafe lstat(path(of: name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    // MARK: - Writing

    /// Makes a folder in the package, or the package itself, unless it exists.
    ///
    /// - Parameter name: its name; empty for the package.
    /// - Throws: `saved.disk-full`, `saved.disk`.
    func makeFolder(_ name: String) throws(SavedMediaError) {
        let folder = name.isEmpty ? path : path(of: name)
        guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw SavedMediaError("make the folder \(name)", errno: errno)
        }
        try syncFolder(of: name)
    }

    /// Creates a file under its temporary name, or empties the remains of another attempt.
    ///
    /// - Returns: its descriptor.
    /// - Throws: `saved.disk-full`, `saved.disk`.
    func create(_ name: String) throws(SavedMediaError) -> Int32 {
        let temporary = path(of: name) + Self.temporarySuffix
        let descriptor = unsafe Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SavedMediaError("write \(name)", errno: errno) }
        return descriptor
    }

    /// Removes a file, durably. An absent file is not an error.
    ///
    /// - Throws: `saved.disk`.
    func remove(_ name: String) throws(SavedMediaError) {
        guard unsafe unlink(path(of: name)) == 0 || errno == ENOENT else { throw SavedMediaError("remove \(name)", errno: errno) }
        try syncFolder(of: name)
    }

    /// Opens a file under its temporary name to continue it.
    ///
    /// - Parameters:
    ///   - name: its final name.
    ///   - length: the bytes that it has at most; more are cut off. Nil for all.
    /// - Returns: its descriptor, at the beginning of the file.
    /// - Throws: `saved.missing`, `saved.disk`.
    func reopen(_ name: String, upTo length: Int64?) throws(SavedMediaError) -> Int32 {
        let descriptor = unsafe Glibc.open(path(of: name) + Self.temporarySuffix, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0, errno == ENOENT { throw SavedMediaError(.missing, "\(name) is not in the package") }
        guard descriptor >= 0 else { throw SavedMediaError("write \(name)", errno: errno) }
        var status = stat()
        if let length, unsafe fstat(descriptor, &status) == 0, Int64(status.st_size) > length {
            guard ftruncate(descriptor, off_t(length)) == 0 else {
                let number = errno
                close(descriptor)
                throw SavedMediaError("write \(name)", errno: number)
            }
        }
        return descriptor
    }

    /// Reads a file from the place of its descriptor to its end.
    ///
    /// - Returns: bytes read.
    /// - Throws: `saved.disk`.
    func readAll(_ descriptor: Int32, _ name: String, _ take: (RawSpan) -> Void) throws(SavedMediaError) -> Int64 {
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        var total: Int64 = 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SavedMediaError("read \(name)", errno: errno) }
            guard count > 0 else { return total }
            take(buffer.rawSpan.extracting(0..<count))
            total += Int64(count)
        }
    }

    /// Writes all bytes at the place of a descriptor.
    ///
    /// - Throws: `saved.disk-full`, `saved.disk`.
    static func write(_ bytes: [UInt8], to descriptor: Int32, _ name: String) throws(SavedMediaError) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes[offset...].withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SavedMediaError("write \(name)", errno: count == 0 ? EIO : errno) }
            offset += count
        }
    }

    /// Writes a file under its temporary name.
    ///
    /// - Throws: `saved.disk-full`, `saved.disk`.
    func stage(_ bytes: [UInt8], as name: String) throws(SavedMediaError) {
        let descriptor = try create(name)
        defer { close(descriptor) }
        try Self.write(bytes, to: descriptor, name)
    }

    /// Makes files durable, then gives them their final names durably.
    ///
    /// - Parameter names: the final names of staged files.
    /// - Throws: `saved.disk-full`, `saved.disk`. Some of the files may have their final names then.
    func commit(_ names: [String]) throws(SavedMediaError) {
        guard let first = names.first else { return }
        let descriptor = unsafe Glibc.open(path(of: first) + Self.temporarySuffix, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw SavedMediaError("write \(first)", errno: errno) }
        defer { close(descriptor) }
        // one sync of the file system is faster than many of files
        guard (names.count == 1 ? fsync(descriptor) : clinux_sync_file_system(descriptor)) == 0 else {
            throw SavedMediaError("write \(first)", errno: errno)
        }
        for name in names {
            guard unsafe rename(path(of: name) + Self.temporarySuffix, path(of: name)) == 0 else {
                throw SavedMediaError("write \(name)", errno: errno)
            }
        }
        var folders: Set<Substring> = []
        for name in names where folders.insert(name[..<(name.lastIndex(of: "/") ?? name.startIndex)]).inserted {
            try syncFolder(of: name)
        }
    }

    /// Syncs the folder that holds a file.
    private func syncFolder(of name: String) throws(SavedMediaError) {
        do throws(FileError) { try DurableFile.syncFolder(of: name.isEmpty ? path : path(of: name)) } catch {
            throw SavedMediaError("write \(name)", error)
        }
    }
}
