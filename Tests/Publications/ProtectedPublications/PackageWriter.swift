// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelZlib
import Glibc

/// Writes a package of stored entries (PKWARE APPNOTE §4.3), each as it comes, however long it is.
package final class PackageWriter {
    private let descriptor: Int32
    private var position: Int64 = 0
    private var directory: [UInt8] = []
    private var count = 0

    /// The error of writing a package.
    package struct WriteError: Error {
        let number = errno
    }

    package init(path: String) throws(WriteError) {
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw WriteError() }
    }

    deinit {
        close(descriptor)
    }

    /// Adds an entry.
    package func add(_ name: String, _ content: [UInt8]) throws { try add(name, under: nil, CollectionOfOne(content)) }

    /// Adds an entry piece by piece.
    ///
    /// - Parameters:
    ///   - name: the entry's name.
    ///   - key: 32 bytes; encrypts it with AES-256 in CBC mode after an initialization vector. Nil for plaintext.
    ///   - pieces: the plain bytes.
    /// - Throws: ``WriteError``, or errors of encrypting.
    package func add(_ name: String, under key: Secret?, _ pieces: some Sequence<[UInt8]>) throws {
        let start = position
        let nameBytes = Array(name.utf8)
        var checksum = CRC32()
        position += Int64(30 + nameBytes.count)
        let first = position
        if let key {
            let iv = Secret.random(count: 16).withBytes { [UInt8](copying: $0) }
            try append(iv, &checksum)
            var encryptor = try AESCBCEncryptor(key: key, iv: iv)
            for piece in pieces {
                let cipher = try [UInt8](rawCapacity: piece.count + 16) { out in try encryptor.update(piece.rawSpan, into: &out) }
                try append(cipher, &checksum)
            }
            var last: [UInt8] = []
            try Self.finish(encryptor, into: &last)
            try append(last, &checksum)
        } else {
            for piece in pieces { try append(piece, &checksum) }
        }
        let size = little(position - first, 4)
        let common =
            little(10, 2) + little(0x800, 2) + little(0, 2) + little(0, 2) + little(0x21, 2) + little(Int64(checksum.value), 4)
            + size + size + little(Int64(nameBytes.count), 2)
        try put([0x50, 0x4b, 3, 4] + common + little(0, 2) + nameBytes, at: start)
        directory +=
            [0x50, 0x4b, 1, 2] + little(0x0314, 2) + common + little(0, 8) + little(0o100644 << 16, 4) + little(start, 4)
        directory += nameBytes
        count += 1
    }

    /// Something short, encrypted whole.
    static func encrypted(_ plain: [UInt8], under key: Secret, _ iv: [UInt8]) throws -> [UInt8] {
        var encryptor = try AESCBCEncryptor(key: key, iv: iv)
        var cipher = try [UInt8](rawCapacity: plain.count + 16) { out in try encryptor.update(plain.rawSpan, into: &out) }
        try finish(encryptor, into: &cipher)
        return cipher
    }

    private static func finish(_ encryptor: consuming AESCBCEncryptor, into bytes: inout [UInt8]) throws {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 16)
        defer { unsafe room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        try encryptor.finish(into: &out)
        let count = unsafe out.finalize(for: room)
        unsafe bytes += room.prefix(count)
    }

    private func append(_ bytes: [UInt8], _ checksum: inout CRC32) throws {
        checksum.update(bytes.rawSpan)
        try put(bytes, at: position)
        position += Int64(bytes.count)
    }

    /// Writes the directory. Packages have fewer than 65,536 entries and 4 GiB.
    package func finish() throws {
        let number = little(Int64(count), 2)
        let end = [0x50, 0x4b, 5, 6] + little(0, 4) + number + number + little(Int64(directory.count), 4) + little(position, 4)
        try put(directory + end + little(0, 2), at: position)
    }

    private func put(_ bytes: [UInt8], at place: Int64) throws {
        let wrote = unsafe pwrite(descriptor, bytes, bytes.count, off_t(place))
        guard wrote == bytes.count else { throw WriteError() }
    }

    private func little(_ value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
    }
}
