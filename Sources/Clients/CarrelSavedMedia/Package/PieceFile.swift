// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelThreads
import Glibc

/// The file of one piece while it is written. One caller at a time; calls block on the disk.
package final class PieceFile: Sendable {
    private struct State: ~Copyable {
        var descriptor: Int32
        var sealer: FileSealer?
        var digest: SHA256.Stream? = SHA256.Stream()
        var length: Int64 = 0
        var stored: SavedDigest?

        mutating func write(_ bytes: [UInt8], _ file: String) throws(SavedMediaError) {
            guard !bytes.isEmpty else { return }
            try PackageFolder.write(bytes, to: descriptor, file)
            digest?.update(bytes.rawSpan)
            length += Int64(bytes.count)
        }

        mutating func end() {
            guard descriptor >= 0 else { return }
            close(descriptor)
            descriptor = -1
        }

        deinit { if descriptor >= 0 { close(descriptor) } }
    }

    /// The piece.
    package let name: SavedPieceName
    /// The final name in the package.
    let file: String
    private let folder: PackageFolder
    private let state: Locked<State>

    /// Creates the file under its temporary name.
    ///
    /// - Throws: `saved.disk-full`, `saved.disk`.
    init(_ name: SavedPieceName, file: String, in folder: PackageFolder, _ sealer: FileSealer?) throws(SavedMediaError) {
        self.name = name
        self.file = file
        self.folder = folder
        state = Locked(State(descriptor: try folder.create(file), sealer: sealer))
    }

    /// Continues the remains of another attempt, which are not sealed.
    ///
    /// - Parameters:
    ///   - name: the piece.
    ///   - length: the bytes of the remains that are durable; more are cut off. Nil for all.
    ///   - file: the final name in the package.
    ///   - folder: the package.
    /// - Throws: `saved.missing` if there are none; `saved.disk`.
    init(
        continuing name: SavedPieceName,
        upTo length: Int64?,
        file: String,
        in folder: PackageFolder
    ) throws(SavedMediaError) {
        self.name = name
        self.file = file
        self.folder = folder
        var state = State(descriptor: -1, sealer: nil)
        state.descriptor = try folder.reopen(file, upTo: length)
        state.length = try folder.readAll(state.descriptor, file) { state.digest?.update($0) }
        self.state = Locked(state)
    }

    /// Bytes that were written.
    package var length: Int64 { state.withLock { $0.length } }

    /// Makes what was written durable.
    ///
    /// - Returns: bytes that are durable.
    /// - Throws: `saved.disk-full`, `saved.disk`.
    package func sync() throws(SavedMediaError) -> Int64 {
        try state.withLock { state throws(SavedMediaError) in
            guard fdatasync(state.descriptor) == 0 else { throw SavedMediaError("write \(file)", errno: errno) }
            return state.length
        }
    }

    /// Keeps what was written for another attempt.
    package func suspend() { state.withLock { $0.end() } }

    /// Whether the file is sealed.
    package var isSealed: Bool { state.withLock { $0.sealer != nil } }

    /// Appends the next bytes of the piece.
    ///
    /// - Throws: `saved.disk-full`, `saved.disk`.
    package func append(_ bytes: [UInt8]) throws(SavedMediaError) {
        try state.withLock { state throws(SavedMediaError) in
            let stored = state.sealer?.append(bytes) ?? bytes
            try state.write(stored, file)
        }
    }

    /// Ends the piece. It is durable after ``SavedPackageWriter/commit(_:)``.
    ///
    /// - Returns: the size and digest of the stored file.
    /// - Throws: `saved.disk-full`, `saved.disk`.
    package func finish() throws(SavedMediaError) -> SavedDigest {
        try state.withLock { state throws(SavedMediaError) in
            if let stored = state.stored { return stored }
            let last = state.sealer?.finish() ?? []
            try state.write(last, file)
            guard let digest = state.digest.take() else { throw SavedMediaError(.disk, "\(file) was discarded") }
            let stored = SavedDigest(length: state.length, sha256: digest.finish())
            state.stored = stored
            state.end()
            return stored
        }
    }

    /// Removes the file: the transfer failed.
    package func discard() {
        state.withLock { state in
            state.digest = nil
            state.end()
        }
        unsafe unlink(folder.path(of: file) + PackageFolder.temporarySuffix)
    }
}
