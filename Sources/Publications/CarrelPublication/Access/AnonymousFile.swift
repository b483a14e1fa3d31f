// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelFiles
import CarrelThreads
import Glibc

/// A file without a name from the beginning, deleted with its last descriptor.
///
/// Up to ``memoryLimit`` it is in memory, and once it is filled no process, including this one, can change it (`F_SEAL_WRITE`). A
/// longer file is on disk, where files have no seals: it is then readable by its owner alone and has no descriptor for writing,
/// but another process of the same user (or root) that may look into `/proc/PID/fd` of this one can open it, restore its mode,
/// and write. Such a process could also write into the memory of this one.
@safe
final class AnonymousFile: Sendable {
    /// For writing, until it is sealed.
    let descriptor: Int32

    static let threads = BlockingThreadPool(name: "carrel-spool", count: 2)

    /// Bytes of a file that is kept in memory.
    static let memoryLimit: Int64 = 64 << 20
    private let isInMemory: Bool

    /// Creates an empty file: in memory, or if it will be long, on the disk of `TMPDIR`, `/var/tmp` or `/tmp`, if that supports
    /// unnamed files.
    ///
    /// - Parameter length: the approximate length in bytes.
    /// - Throws: `resource.unavailable`.
    init(expecting length: Int64) throws(ResourceError) {
        if length <= Self.memoryLimit {
            let descriptor = clinux_sealable_file()
            if descriptor >= 0 {
                (self.descriptor, isInMemory) = (descriptor, true)
                return
            }
        }
        let chosen = unsafe getenv("TMPDIR").map { unsafe [String(cString: $0)] } ?? []
        for folder in chosen + ["/var/tmp", "/tmp"] {
            let descriptor = unsafe clinux_unnamed_file(folder)
            if descriptor >= 0 {
                (self.descriptor, isInMemory) = (descriptor, false)
                return
            }
        }
        (descriptor, isInMemory) = (clinux_sealable_file(), true)
        guard descriptor >= 0 else { throw ResourceError(.unavailable, "no temporary file can be made") }
    }

    deinit {
        close(descriptor)
    }

    /// Adds bytes at the end. Waits for the disk.
    func append(_ bytes: [UInt8]) throws(ResourceError) {
        let result = unsafe bytes.withUnsafeBytes { unsafe clinux_write(descriptor, $0.baseAddress, $0.count) }
        guard result == 0 else { throw ResourceError(.unavailable, "a temporary file cannot be written") }
    }

    /// Returns the file as a read-only resource, sealed as far as possible.
    ///
    /// - Parameter link: the resource's link.
    /// - Returns: the resource, which has its own descriptor.
    /// - Throws: `resource.unavailable`.
    func sealed(_ link: Link) throws(ResourceError) -> FileResource {
        // a file on disk cannot be sealed: its mode keeps it from being opened for writing again
        guard isInMemory ? clinux_seal(descriptor) == 0 : fchmod(descriptor, 0o400) == 0 else {
            throw ResourceError(.unavailable, "a temporary file cannot be closed to changes")
        }
        guard let file = try? RegularFile("/proc/self/fd/\(descriptor)") else {
            throw ResourceError(.unavailable, "a temporary file cannot be read")
        }
        return FileResource(link, file)
    }

    /// Copies a resource.
    ///
    /// - Parameters:
    ///   - resource: read once from its beginning to its end.
    ///   - limit: bytes at most.
    /// - Returns: the copy.
    /// - Throws: `resource.too-large`, or what reading throws.
    static func copy(of resource: any Resource, upTo limit: Int64) async throws(ResourceError) -> FileResource {
        let length = try await resource.length()
        guard length <= limit else {
            throw ResourceError(.tooLarge, "\"\(resource.link.href)\" is longer than \(limit) bytes")
        }
        let file = try AnonymousFile(expecting: length)
        var at: Int64 = 0
        while at < length {
            if Task.isCancelled { throw ResourceError(.cancelled, "nobody waits for \"\(resource.link.href)\" any more") }
            let piece = try await resource.read(at..<min(at + 1 << 20, length))
            guard !piece.isEmpty else { throw ResourceError(.unavailable, "\"\(resource.link.href)\" is cut off") }
            at += Int64(piece.count)
            do {
                try await threads.run { try file.append(piece) }
            } catch {
                throw error as? ResourceError ?? ResourceError(.unavailable, "a temporary file cannot be written")
            }
        }
        return try file.sealed(resource.link)
    }
}
