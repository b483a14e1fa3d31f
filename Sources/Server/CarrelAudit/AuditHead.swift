// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFiles
package import CarrelHome
import CarrelThreads
import Glibc

/// The last seal that this home has seen, in a file next to the database: the chain only grows, so it always contains an entry of
/// that number with that seal. An attacker with write access to the database alone can neither reseal nor truncate history
/// unnoticed.
package struct AuditHead: Sendable {
    package struct Mark: Sendable, Equatable {
        package let number: Int64
        package let seal: [UInt8]

        package init(number: Int64, seal: [UInt8]) {
            self.number = number
            self.seal = seal
        }
    }

    private let path: String
    /// Serializes writers. The value is unused; a value without a size would look to the thread sanitizer like the lock itself.
    private static let turn = Locked(false)

    package init(path: String) { self.path = path }

    /// The last stored mark; nil before the first.
    ///
    /// - Throws: ``ServerError`` `home` if there is a file and it does not say.
    package func read() throws(ServerError) -> Mark? {
        guard let file = unsafe fopen(path, "re") else {
            guard errno == ENOENT else { throw ServerError(.home, "\(path) cannot be read: \(systemReason())") }
            return nil
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        let parts = String(decoding: bytes.prefix(count), as: UTF8.self).split { $0 == " " || $0 == "\n" }
        guard parts.count == 2, let number = Int64(parts[0]), let seal = Hex.decode(String(parts[1])) else {
            throw ServerError(.home, "\(path) does not contain the number and the seal of an audit entry")
        }
        return Mark(number: number, seal: seal)
    }

    /// Stores a seal, unless a later one is stored. If the write is lost, the previous seal is still valid.
    package func write(_ mark: Mark) throws(ServerError) {
        try Self.turn.withLock { (_) throws(ServerError) -> Void in
            if let known = try read(), known.number >= mark.number { return }
            try replace(by: mark)
        }
    }

    private func replace(by mark: Mark) throws(ServerError) {
        // Not synced with its folder: the seal before it is as true.
        do {
            try DurableFile.replace(path, with: Array("\(mark.number) \(Hex.encode(mark.seal))\n".utf8), folderSync: .none)
        } catch {
            throw ServerError(.home, error.message)
        }
    }

    /// Deletes the seal: a database restored from a backup has a shorter chain.
    package func forget() { unsafe unlink(path) }

    /// The error for a log that lacks the entry of that number with that seal.
    var isMissing: ServerError {
        ServerError(
            .conflict,
            "the audit log does not match its last seal, so sealing has stopped; if the database was restored from a backup, "
                + "remove \(path)"
        )
    }
}
