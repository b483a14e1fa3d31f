import CLinux
import CarrelThreads
import Glibc

/// A file that only this process can find: without a name from the beginning, gone with its last descriptor, and closed to every
/// change once it is filled.
@safe
final class UnnamedFile: Sendable {
    /// For writing, until it is sealed.
    let descriptor: Int32

    static let threads = BlockingThreads(name: "carrel-spool", count: 2)

    /// Makes an empty file on the disk of `TMPDIR`, `/var/tmp` or `/tmp`, or in memory where no disk has files without names.
    ///
    /// - Throws: `resource.unavailable`.
    init() throws(ResourceError) {
        let chosen = unsafe getenv("TMPDIR").map { unsafe [String(cString: $0)] } ?? []
        for folder in chosen + ["/var/tmp", "/tmp"] {
            let descriptor = unsafe clinux_unnamed_file(folder)
            if descriptor >= 0 {
                self.descriptor = descriptor
                return
            }
        }
        descriptor = clinux_sealable_file()
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

    /// The file as a resource that is only read: nobody can change it any more.
    ///
    /// - Parameter link: of the resource.
    /// - Returns: the resource, which has a descriptor of its own.
    /// - Throws: `resource.unavailable`.
    func sealed(_ link: Link) throws(ResourceError) -> FileResource {
        // one on the disk cannot be sealed; it has no other descriptor for writing than this one
        _ = clinux_seal(descriptor)
        var status = stat()
        let reading = unsafe open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
        guard reading >= 0, unsafe fstat(reading, &status) == 0 else {
            if reading >= 0 { close(reading) }
            throw ResourceError(.unavailable, "a temporary file cannot be read")
        }
        return FileResource(link, descriptor: reading, byteCount: Int64(status.st_size))
    }

    /// Copies a resource.
    ///
    /// - Parameters:
    ///   - resource: read once from its beginning to its end.
    ///   - limit: bytes at most.
    /// - Returns: the copy.
    /// - Throws: `resource.too-large`, or what reading throws.
    static func copy(of resource: any Resource, upTo limit: Int64) async throws(ResourceError) -> FileResource {
        let file = try UnnamedFile()
        let length = try await resource.length()
        guard length <= limit else {
            throw ResourceError(.tooLarge, "\"\(resource.link.href)\" is longer than \(limit) bytes")
        }
        var at: Int64 = 0
        while at < length {
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
