// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelFiles
import Glibc

/// The verified content of a stored piece.
enum StoredFile: Sendable {
    /// Stored as delivered; its digest was right when it was opened.
    case clear(RegularFile, name: String)
    /// Each block is verified when it is read.
    case sealed(SealedFile)

    private static let readLength = 256 << 10

    /// Opens a stored piece, and verifies it.
    ///
    /// - Parameters:
    ///   - folder: the package.
    ///   - name: the name of the file.
    ///   - digest: its size and digest.
    ///   - keys: the keys of the package if the file is sealed; nil otherwise.
    /// - Throws: `saved.missing`, `saved.damaged`, `saved.disk`.
    init(_ folder: PackageFolder, _ name: String, _ digest: SavedDigest, _ keys: PackageKeys?) throws(SavedMediaError) {
        let file = try folder.open(name)
        guard let keys else {
            try Self.check(file, name, digest)
            self = .clear(file, name: name)
            return
        }
        try Self.checkSize(file, name, digest)
        self = .sealed(try SealedFile(file, name: name, keys))
    }

    /// Verifies the size and the digest of an open file.
    ///
    /// - Throws: `saved.damaged`, `saved.disk`.
    static func check(_ file: RegularFile, _ name: String, _ digest: SavedDigest) throws(SavedMediaError) {
        try checkSize(file, name, digest)
        var stream = SHA256.Stream()
        var offset: Int64 = 0
        while offset < file.size {
            let bytes = try read(file, name, offset..<min(offset + Int64(readLength), file.size))
            stream.update(bytes.rawSpan)
            offset += Int64(bytes.count)
        }
        guard stream.finish() == digest.sha256 else {
            throw SavedMediaError(.damaged, "\(name) is damaged: its digest is another than when it was saved")
        }
    }

    private static func checkSize(_ file: RegularFile, _ name: String, _ digest: SavedDigest) throws(SavedMediaError) {
        guard file.size == digest.length else {
            throw SavedMediaError(.damaged, "\(name) is damaged: it has \(file.size) bytes, and \(digest.length) were saved")
        }
    }

    private static func read(_ file: RegularFile, _ name: String, _ range: Range<Int64>) throws(SavedMediaError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(FileError) { bytes = try file.bytes(range) } catch { throw SavedMediaError("read \(name)", error) }
        guard bytes.count == range.count else {
            throw SavedMediaError(.damaged, "\(name) is damaged: it was cut while it was read")
        }
        return bytes
    }

    /// Bytes of the content.
    var length: Int64 {
        switch self {
        case .clear(let file, _): file.size
        case .sealed(let file): file.length
        }
    }

    /// Whether the file has not changed since it was verified.
    var isUnchanged: Bool {
        switch self {
        case .clear(let file, _): file.isUnchanged
        case .sealed: true
        }
    }

    /// Returns bytes of the content.
    ///
    /// - Parameter range: a range of the content, not empty.
    /// - Returns: at least one byte, and fewer than the range has if that is faster.
    /// - Throws: `saved.damaged`, `saved.disk`.
    func read(_ range: Range<Int64>) throws(SavedMediaError) -> [UInt8] {
        switch self {
        case .clear(let file, let name):
            let end = min(range.upperBound, range.lowerBound + Int64(Self.readLength))
            let bytes = try Self.read(file, name, range.lowerBound..<end)
            // it was verified before
            guard file.isUnchanged else {
                throw SavedMediaError(.damaged, "\(name) is damaged: it was altered while it was read")
            }
            return bytes
        case .sealed(let file): return try file.read(range)
        }
    }
}
