// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import Glibc

/// A file that is read in windows. A title may have more files than a process may have open: a file closed by ``rest()`` is
/// opened again for reading, and must be unchanged.
final class SourceFile {
    /// The path given by the operator, or the name in its archive.
    let name: String
    let path: String
    let size: Int64
    private let followsLinks: Bool
    private let version: RegularFile.Version
    /// Nil while it rests.
    private var file: RegularFile?

    /// The size of one read in bytes.
    static let window = 1 << 20

    init(path: String, name: String, followsLinks: Bool = true) throws(IngestError) {
        let file = try Self.open(path, followsLinks, name)
        self.file = file
        self.followsLinks = followsLinks
        self.name = name
        self.path = path
        size = file.size
        version = file.version
    }

    /// Gives its descriptor back until it is read again.
    func rest() {
        file = nil
    }

    /// Its descriptor, opened again where it rested; valid until ``rest()``.
    func openDescriptor() throws(IngestError) -> Int32 { try open().descriptor }

    private func open() throws(IngestError) -> RegularFile {
        if let file { return file }
        let fresh = try Self.open(path, followsLinks, name)
        file = fresh
        guard fresh.version == version else { throw IngestError(.unreadable, name, "has changed while it was read") }
        return fresh
    }

    private static func open(_ path: String, _ followsLinks: Bool, _ name: String) throws(IngestError) -> RegularFile {
        do throws(FileError) { return try RegularFile(path, followsLinks: followsLinks) } catch {
            throw error.code == .kind ? IngestError(.unreadable, name, "is not a file") : unreadable(name, error)
        }
    }

    private static func unreadable(_ name: String, _ error: FileError) -> IngestError {
        IngestError(.unreadable, name, "cannot be read: \(error.reason)")
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
        let file = try open()
        let end = max(range.lowerBound, min(range.upperBound, size))
        do throws(FileError) { return try file.bytes(range.lowerBound..<end) } catch { throw Self.unreadable(name, error) }
    }

    /// Reads the file front to back; `body` gets each window.
    func forEachWindow(_ body: (RawSpan) throws -> Void) throws {
        let file = try open()
        var bytes = [UInt8](repeating: 0, count: Self.window)
        var at: Int64 = 0
        while true {
            let count: Int
            do {
                count = try unsafe bytes.withUnsafeMutableBytes { try unsafe file.read(at: at, into: $0) }
            } catch let error as FileError {
                throw Self.unreadable(name, error)
            }
            if count == 0 { return }
            try body(bytes.rawSpan.extracting(0..<count))
            at += Int64(count)
        }
    }
}
