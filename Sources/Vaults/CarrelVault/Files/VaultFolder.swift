// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto
import CarrelFiles
import Glibc

/// A folder with a vault's file, which processes change one at a time.
package struct VaultFolder: Sendable {
    package let path: String
    package let kind: VaultKind
    /// For how long another process may hold the lock.
    package let patience: Duration

    package init(_ path: String, kind: VaultKind, patience: Duration = .seconds(10)) {
        self.path = path
        self.kind = kind
        self.patience = patience
    }

    private var file: String { "\(path)/vault.json" }

    /// The vault's file.
    ///
    /// - Throws: `vault.absent` if there is none, `vault.damaged`, `vault.unavailable`.
    package func load() throws(VaultError) -> VaultFile {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("read", file) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= VaultFile.byteLimit {
            var readCount = 0
            let piece = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                readCount = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, readCount)
            }
            if readCount < 0, errno == EINTR { continue }
            guard readCount >= 0 else { throw failure("read", file) }
            if readCount == 0 { return try VaultFile(bytes, kind: kind) }
            bytes += piece
        }
        throw VaultError(.damaged, "the vault's file is damaged: it is too long")
    }

    /// The vault's file, checked.
    package func load(checkedBy key: HMACSHA256) throws(VaultError) -> VaultFile {
        let file = try load()
        try file.check(with: key)
        return file
    }

    /// Replaces the vault's file. The caller holds the lock.
    ///
    /// - Throws: `vault.full`, `vault.unavailable`; the old file is untouched then.
    package func save(_ content: VaultFile, authenticatedBy key: HMACSHA256) throws(VaultError) {
        let bytes = content.bytes(authenticatedBy: key)
        guard bytes.count <= VaultFile.byteLimit else { throw VaultError(.full, "the vault has too many keys") }
        do {
            try DurableFile.replace(file, with: bytes)
        } catch {
            throw failure("written", file, error.number)
        }
    }

    /// Changes the vault's file under the lock: loads it, lets `change` alter it, and saves it if that returns a value.
    package func change<Value>(
        checkedBy key: HMACSHA256,
        _ change: (inout VaultFile) throws(VaultError) -> Value
    ) throws(VaultError) -> Value {
        try withLock { () throws(VaultError) in
            var file = try load(checkedBy: key)
            let value = try change(&file)
            try save(file, authenticatedBy: key)
            return value
        }
    }

    /// Makes the vault's file, and the folders on its path if there are none.
    ///
    /// - Parameter make: returns the content and the key that authenticates it.
    /// - Throws: `vault.exists`, `vault.full`, `vault.unavailable`, the errors of `make`.
    package func create(_ make: () throws(VaultError) -> (VaultFile, HMACSHA256)) throws(VaultError) {
        try makeFolders(path)
        try withLock { () throws(VaultError) in
            guard unsafe access(file, F_OK) != 0 else {
                throw VaultError(.exists, "there is a vault in the folder \(path)")
            }
            guard errno == ENOENT else { throw failure("read", file) }
            let (content, key) = try make()
            try save(content, authenticatedBy: key)
        }
    }

    /// Makes a folder for its owner only, and those above it.
    private func makeFolders(_ path: String) throws(VaultError) {
        if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        let parent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
        guard errno == ENOENT, !parent.isEmpty else { throw failure("made", path) }
        try makeFolders(parent)
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("made", path) }
    }

    /// Runs a closure under the lock, alone among all users of the folder, in this process and others.
    ///
    /// - Throws: `vault.unavailable` if the lock cannot be obtained in time, `vault.absent` if there is no folder.
    package func withLock<Value>(_ body: () throws(VaultError) -> Value) throws(VaultError) -> Value {
        let lock = "\(path)/vault.lock"
        let descriptor = unsafe open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("opened", lock) }
        // closing it ends the lock
        defer { close(descriptor) }
        try VaultLock.take(descriptor, patience: patience)
        return try body()
    }

    private func failure(_ verb: String, _ path: String, _ number: Int32 = errno) -> VaultError {
        let message = "\(path) cannot be \(verb): \(systemReason(number))"
        return switch number {
        case ENOENT, ENOTDIR: VaultError(.absent, message)
        case ENOSPC, EDQUOT, EFBIG: VaultError(.full, message)
        case ELOOP: VaultError(.damaged, message)
        default: VaultError(.unavailable, message)
        }
    }
}
