// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelFiles

/// The content of a sealed file, by blocks.
package struct SealedFile: Sendable {
    private let file: RegularFile
    private let name: String
    private let key: Secret
    private let header: [UInt8]
    private let blocks: Int64
    /// Bytes of the content.
    package let length: Int64

    /// Opens a sealed file.
    ///
    /// - Parameters:
    ///   - file: the open file.
    ///   - name: its name in the package.
    ///   - keys: the keys of the package.
    /// - Throws: `saved.damaged` if it has no header of this format, or an impossible size; `saved.disk`.
    init(_ file: RegularFile, name: String, _ keys: PackageKeys) throws(SavedMediaError) {
        guard let length = SealedFormat.contentLength(ofStored: file.size) else { throw Self.damage(name, "its size is wrong") }
        do throws(FileError) { header = try file.bytes(0..<Int64(SealedFormat.headerLength)) } catch {
            throw SavedMediaError("read \(name)", error)
        }
        guard header.count == SealedFormat.headerLength, header.starts(with: SealedFormat.magic) else {
            throw Self.damage(name, "its header is not one of a sealed file")
        }
        self.file = file
        self.name = name
        self.length = length
        blocks = max(1, (length + Int64(SealedFormat.blockLength) - 1) / Int64(SealedFormat.blockLength))
        key = keys.fileKey(name, salt: Array(header.suffix(SealedFormat.saltLength)))
    }

    /// Opens a sealed file under a key, without a package: for tests of the format.
    ///
    /// - Parameters:
    ///   - file: the open file.
    ///   - name: its name in the package.
    ///   - key: the package key.
    ///   - id: the id of the package.
    /// - Throws: `saved.damaged`, `saved.sealed`, `saved.disk`.
    package init(_ file: RegularFile, name: String, key: Secret, id: String) throws(SavedMediaError) {
        try self.init(file, name: name, try PackageKeys(key, id: id))
    }

    /// The blocks of one read: 256 KiB.
    private static let readBlocks: Int64 = 4

    /// Returns the bytes of a range, up to the end of the fourth block.
    ///
    /// - Parameter range: a range of the content, not empty.
    /// - Returns: at least one byte.
    /// - Throws: `saved.damaged` if the seal of a block is wrong; `saved.disk`.
    package func read(_ range: Range<Int64>) throws(SavedMediaError) -> [UInt8] {
        let length = Int64(SealedFormat.blockLength)
        let first = range.lowerBound / length
        let last = min((range.upperBound - 1) / length, first + Self.readBlocks - 1, blocks - 1)
        guard range.lowerBound < self.length, first <= last else { throw Self.damage(name, "it is short") }
        var bytes = try block(first)
        if first < last {
            bytes.reserveCapacity(Int((last - first + 1) * length))
            for number in first + 1...last { bytes += try block(number) }
        }
        let start = Int(range.lowerBound - first * length)
        let end = min(bytes.count, start + range.count)
        return start == 0 && end == bytes.count ? bytes : Array(bytes[start..<end])
    }

    /// Verifies the seals of all blocks.
    ///
    /// - Throws: `saved.damaged`, `saved.disk`.
    func check() throws(SavedMediaError) {
        for number in 0..<blocks { _ = try block(number) }
    }

    /// Returns all of the content.
    ///
    /// - Throws: `saved.damaged` if a seal is wrong; `saved.disk`.
    package func readAll() throws(SavedMediaError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(length))
        for number in 0..<blocks { bytes += try block(number) }
        return bytes
    }

    /// The content of a block.
    private func block(_ number: Int64) throws(SavedMediaError) -> [UInt8] {
        let start = Int64(SealedFormat.headerLength) + number * Int64(SealedFormat.storedBlockLength)
        let end = min(start + Int64(SealedFormat.storedBlockLength), file.size)
        let stored: [UInt8]
        do throws(FileError) { stored = try file.bytes(start..<end) } catch { throw SavedMediaError("read \(name)", error) }
        do throws(CryptoError) {
            return try AESGCM.openBytes(
                stored.rawSpan,
                key: key,
                nonce: SealedFormat.nonce(number, isLast: number == blocks - 1),
                associated: header
            )
        } catch {
            throw Self.damage(name, "the seal of block \(number) is wrong")
        }
    }

    private static func damage(_ name: String, _ what: String) -> SavedMediaError {
        SavedMediaError(.damaged, "\(name) is damaged: \(what)")
    }
}
