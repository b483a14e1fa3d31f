import CarrelBytes
import Glibc

extension DirectoryBlobStore {
    /// Longest id that the file may hold, in bytes.
    private static let installationLimit = 200

    private var installationPath: String { "\(path)/installation" }

    /// The id of the installation that the store belongs to, from its file `installation`.
    ///
    /// - Returns: nil when the store belongs to none yet.
    /// - Throws: `store.corrupt` when the file holds no id; `store.unavailable` when it cannot be read.
    public func installation() throws(StoreError) -> String? {
        let descriptor = unsafe Glibc.open(installationPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(errno: errno, "\(installationPath) cannot be read")
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.installationLimit + 2)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw StoreError(errno: errno, "\(installationPath) cannot be read") }
        let line = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
        guard !line.isEmpty, line.count <= Self.installationLimit, line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw StoreError(.corrupt, "\(installationPath) does not hold the id of an installation")
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Makes the store belong to an installation, unless it belongs to one.
    ///
    /// - Parameter id: visible ASCII, up to 200 characters.
    /// - Returns: the id that the store has then: of several processes, the first counts.
    /// - Throws: `store.full` or `store.unavailable` when the file cannot be written.
    public func join(installation id: String) throws(StoreError) -> String {
        while try !place(Array("\(id)\n".utf8)) {}
        return try installation() ?? id
    }

    /// Links a new file into place, unless one is there. Returns false when another process took the new file for one that a dead process
    /// left, before it was locked.
    private func place(_ line: [UInt8]) throws(StoreError) -> Bool {
        let temporary = "\(partials)/installation-\(getpid())-\(UInt64.random(in: .min ... .max))"
        let descriptor = unsafe Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno: errno, "\(temporary) cannot be written") }
        defer {
            unsafe unlink(temporary)
            close(descriptor)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        let isWritten = unsafe line.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) } == line.count
        guard isWritten, fsync(descriptor) == 0 else { throw StoreError(errno: errno, "\(temporary) cannot be written") }
        if unsafe link(temporary, installationPath) != 0, errno != EEXIST {
            if errno == ENOENT { return false }
            throw StoreError(errno: errno, "\(installationPath) cannot be written")
        }
        try syncFolder(of: installationPath)
        return true
    }

    /// Whether the store has no blob, but for the trash.
    public var isEmpty: Bool {
        get throws { try !contains { _ in true } }
    }

    /// Whether the store has a blob that fits.
    public func contains(where fits: (BlobID) throws -> Bool) throws -> Bool {
        for shelf in try names(in: path) where shelf.utf8.count == 2 {
            for name in try names(in: "\(path)/\(shelf)") {
                if let id = BlobID(name), try fits(id) { return true }
            }
        }
        return false
    }
}
