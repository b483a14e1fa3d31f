// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelFiles
import CarrelThreads

/// A package that is played: documents and pieces by their addresses. Calls block on the disk. It never sends a request.
package final class SavedPackage: Sendable {
    private let folder: PackageFolder
    private let contents: PackageTables
    private let resources: ResourceIndex
    private let documents: [DocumentName: String]
    private let stored: @Sendable (SavedPieceName) -> SavedDigest?
    /// Verified files that were read last: a file that is read by small ranges is verified once.
    private let verified = Locked(LRUCache<PieceRow, StoredFile>(limit: SavedPackage.verifiedLimit))

    private struct DocumentName: Hashable {
        var tag: AddressTag
        var range: Range<Int64>?
    }

    private struct PieceRow: Hashable, Sendable {
        var table: Int
        var row: Int
    }

    private static let verifiedLimit = 16

    /// Opens a package.
    ///
    /// - Parameters:
    ///   - folder: its path.
    ///   - key: the package key; nil if it is not known.
    ///   - stored: the size and digest of a stored piece while the package is not complete; nil if the piece is not stored.
    /// - Returns: the package.
    /// - Throws: `saved.missing` if it has no boot image, or a table is absent; `saved.sealed` without the key; `saved.damaged` if a
    ///   table was altered or is of another package; `saved.format`, `saved.disk`.
    package static func open(
        folder: String,
        key: Secret?,
        stored: @escaping @Sendable (SavedPieceName) -> SavedDigest? = { _ in nil }
    ) throws(SavedMediaError) -> SavedPackage {
        guard let key else { throw SavedMediaError(.sealed, "the key of the package is not in the store of this player") }
        let place = PackageFolder(folder)
        return SavedPackage(place, try PackageTables(in: place, key), stored)
    }

    private init(
        _ folder: PackageFolder,
        _ contents: PackageTables,
        _ stored: @escaping @Sendable (SavedPieceName) -> SavedDigest?
    ) {
        self.folder = folder
        self.contents = contents
        self.stored = stored
        resources = ResourceIndex(contents.tables)
        var documents: [DocumentName: String] = [:]
        for item in contents.boot.items {
            guard let tag = item.tag else { continue }
            documents[DocumentName(tag: tag, range: item.range)] = "\(contents.boot.dataFolder)/\(item.path)"
        }
        self.documents = documents
    }

    /// The id of the package.
    package var id: String { contents.index.id }
    /// The source.
    package var source: SavedSource { contents.index.source }
    /// Whether all pieces are saved.
    package var isComplete: Bool { contents.boot.isComplete }
    /// The seal mode.
    package var mode: SealMode { contents.boot.mode ?? .keys }
    /// The tables of the streams.
    package var tables: [SegmentTable] { contents.tables }

    // MARK: - Documents

    /// Whether the package has a document.
    package func hasDocument(_ address: String, range: Range<Int64>? = nil) -> Bool {
        documents[DocumentName(tag: contents.keys.tag(address), range: range)] != nil
    }

    /// Returns a document.
    ///
    /// - Parameters:
    ///   - address: the requested address.
    ///   - range: the requested range; nil for all.
    /// - Returns: nil if the package has none for exactly this request.
    /// - Throws: `saved.damaged`, `saved.missing` if its file is absent, `saved.disk`.
    package func document(_ address: String, range: Range<Int64>? = nil) throws(SavedMediaError) -> SavedDocument? {
        guard let name = documents[DocumentName(tag: contents.keys.tag(address), range: range)] else { return nil }
        let file = try folder.open(name)
        guard file.size <= Int64(SavedLimits.documentBytes) * 2 else { throw BootImage.fault(name, "it is too long") }
        let bytes = try SealedFile(file, name: name, contents.keys).readAll()
        do throws(Malformed) { return try DocumentItem.read(bytes, range: range) } catch {
            throw BootImage.fault(name, error.description)
        }
    }

    // MARK: - Media

    /// Opens media.
    ///
    /// - Parameters:
    ///   - address: the resolved address of the resource.
    ///   - range: the requested range; nil for all.
    /// - Returns: the bytes, of which the first file is verified.
    /// - Throws: `saved.missing` if the package does not have them, or not yet; `saved.damaged`, `saved.disk`.
    package func bytes(_ address: String, range: Range<Int64>? = nil) throws(SavedMediaError) -> SavedBytes {
        let tag = contents.keys.tag(address)
        let parts = resources.parts(range, of: tag) { contents.tables[$0].isWhole }
        guard let parts, !parts.isEmpty else {
            throw SavedMediaError(.missing, "the package does not have these bytes of the source")
        }
        return try SavedBytes(self, parts)
    }

    /// Bytes of a resource that the package has as a whole; nil if it does not.
    ///
    /// - Throws: `saved.missing`, `saved.damaged`, `saved.disk`.
    package func length(of address: String) throws(SavedMediaError) -> Int64? {
        if let document = try document(address) { return Int64(document.bytes.count) }
        let tag = contents.keys.tag(address)
        guard let parts = resources.parts(nil, of: tag, isWhole: { contents.tables[$0].isWhole }) else { return nil }
        var length: Int64 = 0
        for part in parts {
            if let range = part.range { length += Int64(range.count) } else { length += try open(part).length }
        }
        return length
    }

    /// Opens the file of a part, verified.
    func open(_ part: ResourceIndex.Part) throws(SavedMediaError) -> StoredFile {
        let place = PieceRow(table: part.table, row: part.row)
        if let known = verified.withLock({ $0[place] }), known.isUnchanged { return known }
        let table = contents.tables[part.table]
        let row = table.rows[part.row]
        let name = "\(table.id)/\(row.path)"
        // heads come first
        let heads = table.rows.prefix { $0.isInitialization }.count
        let number = row.isInitialization ? part.row : part.row - heads
        let piece = SavedPieceName(stream: part.table, number: number, isInitialization: row.isInitialization)
        guard let digest = row.stored ?? stored(piece) else {
            throw SavedMediaError(.missing, "\(name) is not saved yet")
        }
        let file = try StoredFile(folder, name, digest, row.isSealed ? contents.keys : nil)
        verified.withLock { $0.insert(file, for: place, cost: 1) }
        return file
    }
}
