// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelFiles
import CarrelThreads

/// Writes a package. Calls block on the disk. A crash at any time leaves a package that can be opened and continued.
package final class SavedPackageWriter: Sendable {
    /// The decisions of ``plan(source:documents:streams:mode:isProtected:)``.
    private struct Plan: Sendable {
        var source: SavedSource
        var boot: BootImage
        var tables: [SegmentTable]
        var streams: [SavedStream]
        /// The rows of pieces in their tables.
        var rows: [SavedPieceName: Int]
    }

    /// The id of the package.
    package let id: String
    private let folder: PackageFolder
    private let keys: PackageKeys
    private let state: Locked<Plan?>

    private static let planItem = "Data/" + PlainName.item(1)

    private init(_ folder: PackageFolder, _ keys: PackageKeys, _ plan: Plan?) {
        id = keys.id
        self.folder = folder
        self.keys = keys
        state = Locked(plan)
    }

    // MARK: - Beginning

    /// Creates the folder of a package. Nothing is in it before ``plan(source:documents:streams:mode:isProtected:)``.
    ///
    /// - Parameters:
    ///   - folder: its path; the folder in which it is exists.
    ///   - id: the id of the package, a plain name.
    ///   - key: the package key, 32 bytes.
    /// - Returns: the writer.
    /// - Throws: `saved.format` if the folder has a package, `saved.sealed`, `saved.disk-full`, `saved.disk`.
    package static func create(folder: String, id: String, key: Secret) throws(SavedMediaError) -> SavedPackageWriter {
        guard PlainName.isValid(id) else { throw SavedMediaError(.format, "the id of a package is a plain name") }
        let place = PackageFolder(folder)
        try place.makeFolder("")
        guard place.size(PackageFolder.bootName) == nil else { throw SavedMediaError(.format, "the folder \(id) has a package") }
        return SavedPackageWriter(place, try PackageKeys(key, id: id), nil)
    }

    /// Opens a planned package to continue it.
    ///
    /// - Parameters:
    ///   - folder: its path.
    ///   - key: the package key.
    /// - Returns: the writer, with the plan.
    /// - Throws: `saved.missing` if it was not planned; `saved.damaged`, `saved.sealed`, `saved.format`, `saved.disk`.
    package static func open(folder: String, key: Secret) throws(SavedMediaError) -> SavedPackageWriter {
        let place = PackageFolder(folder)
        let contents = try PackageTables(in: place, key)
        let file = try place.open(planItem)
        guard file.size <= Int64(SavedLimits.planBytes) else { throw BootImage.fault(planItem, "it is too long") }
        let bytes = try SealedFile(file, name: planItem, contents.keys).readAll()
        let count = contents.tables.reduce(0) { $0 + $1.rows.count }
        let addresses: [(address: String, isEncrypted: Bool)]
        do throws(Malformed) { addresses = try DocumentItem.addresses(bytes, count: count) } catch {
            throw BootImage.fault(planItem, error.description)
        }
        var rest = addresses[...]
        var streams: [SavedStream] = []
        for table in contents.tables {
            let pieces = table.rows.map { row in
                let (address, isEncrypted) = rest.removeFirst()
                return SavedPiece(
                    address: address,
                    range: row.range,
                    duration: row.duration,
                    start: row.start,
                    isInitialization: row.isInitialization,
                    isEncrypted: isEncrypted
                )
            }
            let kind = table.id.utf8.first.flatMap { SavedStream.Kind(rawValue: Int($0) - 0x30) } ?? .video
            streams.append(
                SavedStream(kind: kind, bandwidth: Int(clamping: table.bandwidth), isWhole: table.isWhole, pieces: pieces)
            )
        }
        let plan = Plan(
            source: contents.index.source,
            boot: contents.boot,
            tables: contents.tables,
            streams: streams,
            rows: Self.rows(streams)
        )
        return SavedPackageWriter(place, contents.keys, plan)
    }

    private static func rows(_ streams: [SavedStream]) -> [SavedPieceName: Int] {
        var rows: [SavedPieceName: Int] = [:]
        for (place, stream) in streams.enumerated() {
            for (row, name) in stream.names(stream: place).enumerated() { rows[name] = row }
        }
        return rows
    }

    // MARK: - Plan

    /// Whether the package has a plan.
    package var isPlanned: Bool { state.withLock { $0 != nil } }
    /// The planned streams, with the addresses of the plan. In each, heads of media come first.
    package var streams: [SavedStream] { state.withLock { $0?.streams ?? [] } }
    /// The source of the plan.
    package var source: SavedSource? { state.withLock { $0?.source } }

    /// Writes the documents and the tables. When this returns, they are durable, and the package can be continued after a crash.
    ///
    /// - Parameters:
    ///   - source: the source.
    ///   - documents: everything that playing reads in addition to the pieces.
    ///   - streams: the selected streams.
    ///   - mode: what is sealed.
    ///   - isProtected: whether the source is protected, so that its clear media are sealed.
    /// - Throws: `saved.format` if there are too many streams, documents or pieces, or one is too large; `saved.disk-full`, `saved.disk`.
    package func plan(
        source: SavedSource,
        documents: [SavedDocument],
        streams: [SavedStream],
        mode: SealMode,
        isProtected: Bool
    ) throws(SavedMediaError) {
        try Self.check(documents, streams)
        // heads first, as tables have them
        let streams = streams.map { stream in
            var ordered = stream
            ordered.pieces = stream.pieces.filter(\.isInitialization) + stream.pieces.filter { !$0.isInitialization }
            return ordered
        }
        var boot = BootImage(id: id, mode: mode)
        var tables: [SegmentTable] = []
        var counts: [SavedStream.Kind: Int] = [:]
        try folder.makeFolder(boot.dataFolder)
        for (place, stream) in streams.enumerated() {
            counts[stream.kind, default: 0] += 1
            let name = "\(stream.kind.rawValue)-\(counts[stream.kind] ?? 1)"
            try folder.makeFolder(name)
            boot.streams.append(BootImage.Stream(id: name, path: name, isComplete: false))
            tables.append(table(stream, place, name, mode, isProtected))
        }
        boot.items = [
            BootImage.Item(path: PlainName.item(0), role: BootImage.indexRole),
            BootImage.Item(path: PlainName.item(1), role: BootImage.planRole),
        ]
        var staged: [String] = []
        try stage(DocumentItem.written(streams.map(\.pieces)), as: Self.planItem, &staged)
        for document in documents {
            let name = PlainName.item(boot.items.count)
            var item = BootImage.Item(path: name, role: BootImage.documentRole)
            item.tag = keys.tag(document.address)
            item.range = document.range
            boot.items.append(item)
            try stage(DocumentItem.written(document), as: "\(boot.dataFolder)/\(name)", &staged)
        }
        let image = boot.written()
        guard image.count <= SavedLimits.bootBytes else { throw SavedMediaError(.format, "the source has too many documents") }
        var index = PackageIndex(id: id, source: source)
        index.tables[PackageFolder.bootName] = [SHA256.hash(image.rawSpan)]
        for table in tables {
            let bytes = table.written()
            let name = "\(table.id)/\(SegmentTable.fileName)"
            index.tables[name] = [SHA256.hash(bytes.rawSpan)]
            try folder.stage(bytes, as: name)
            staged.append(name)
        }
        try stage(index.written(), as: PackageIndex.name, &staged)
        try folder.commit(staged)
        // a folder with a boot image has a plan
        try folder.stage(image, as: PackageFolder.bootName)
        try folder.commit([PackageFolder.bootName])
        let plan = Plan(source: source, boot: boot, tables: tables, streams: streams, rows: Self.rows(streams))
        state.withLock { $0 = plan }
    }

    private static func check(_ documents: [SavedDocument], _ streams: [SavedStream]) throws(SavedMediaError) {
        guard streams.reduce(0, { $0 + $1.pieces.count }) <= SavedLimits.pieces else {
            throw SavedMediaError(.format, "the source has more than \(SavedLimits.pieces) segments")
        }
        guard !streams.isEmpty, streams.count <= SavedLimits.streams else {
            throw SavedMediaError(.format, "a package has 1 to \(SavedLimits.streams) streams, and this one has \(streams.count)")
        }
        guard documents.count <= SavedLimits.documents else {
            throw SavedMediaError(.format, "the source has more than \(SavedLimits.documents) documents")
        }
        // each address of a piece with its length and a flag
        let planBytes = streams.reduce(0) { $0 + $1.pieces.reduce(0) { $0 + 5 + $1.address.utf8.count } }
        guard planBytes <= SavedLimits.planBytes / 2 else {
            throw SavedMediaError(.format, "the addresses of the segments have more than \(SavedLimits.planBytes / 2) bytes")
        }
        let addresses = documents.lazy.flatMap { [$0.address, $0.finalAddress] }
        let isLong = { (address: String) in address.utf8.count > SavedLimits.addressBytes }
        guard !addresses.contains(where: isLong), !streams.contains(where: { $0.pieces.contains { isLong($0.address) } }) else {
            throw SavedMediaError(.format, "an address of the source has more than \(SavedLimits.addressBytes) bytes")
        }
        guard documents.allSatisfy({ $0.bytes.count <= SavedLimits.documentBytes - 2 * SavedLimits.addressBytes }) else {
            throw SavedMediaError(.format, "a document of the source has more than \(SavedLimits.documentBytes) bytes")
        }
    }

    private func table(
        _ stream: SavedStream,
        _ place: Int,
        _ folder: String,
        _ mode: SealMode,
        _ isProtected: Bool
    ) -> SegmentTable {
        var table = SegmentTable(id: folder, isComplete: false, bandwidth: Int64(clamping: max(0, stream.bandwidth)))
        table.isWhole = stream.isWhole
        for (piece, name) in zip(stream.pieces, stream.names(stream: place)) {
            var row = SegmentTable.Row(
                sequence: Int64(piece.isInitialization ? 0 : name.number),
                path: PlainName.piece(name.number, isInitialization: piece.isInitialization),
                isInitialization: piece.isInitialization,
                duration: piece.duration,
                start: piece.start
            )
            row.tag = keys.tag(piece.address)
            row.range = piece.range
            row.isSealed = mode == .all || isProtected && !piece.isEncrypted
            table.rows.append(row)
        }
        return table
    }

    /// Seals an item and stages it.
    private func stage(_ bytes: [UInt8], as name: String, _ staged: inout [String]) throws(SavedMediaError) {
        try folder.stage(sealed(bytes, as: name), as: name)
        staged.append(name)
    }

    private func sealed(_ bytes: [UInt8], as name: String) -> [UInt8] {
        var sealer = FileSealer(name: name, keys)
        return sealer.append(bytes) + sealer.finish()
    }

    // MARK: - Pieces

    /// Creates the file of a piece under its temporary name; remains of another attempt are replaced.
    ///
    /// - Parameter name: a planned piece.
    /// - Returns: the empty file.
    /// - Throws: `saved.format` if it is not planned; `saved.disk-full`, `saved.disk`.
    package func file(for name: SavedPieceName) throws(SavedMediaError) -> PieceFile {
        let (path, row) = try place(of: name)
        return try PieceFile(name, file: path, in: folder, row.isSealed ? FileSealer(name: path, keys) : nil)
    }

    /// Continues the file of a piece that another attempt left under its temporary name.
    ///
    /// - Parameters:
    ///   - name: a planned piece.
    ///   - length: the bytes of it that are durable; more are cut off. Nil for all, in the process that wrote them.
    /// - Returns: the file with what it has; nil if there are no remains, or if the piece is sealed, which starts again.
    /// - Throws: `saved.format` if it is not planned; `saved.disk`.
    package func remains(of name: SavedPieceName, upTo length: Int64?) throws(SavedMediaError) -> PieceFile? {
        let (path, row) = try place(of: name)
        guard !row.isSealed else { return nil }
        do throws(SavedMediaError) { return try PieceFile(continuing: name, upTo: length, file: path, in: folder) } catch {
            guard error.code == .missing else { throw error }
            return nil
        }
    }

    /// Hashes a piece that is under its final name, and so was durable before its digest was recorded.
    ///
    /// - Parameter name: a planned piece.
    /// - Returns: its size and digest; nil if it is not stored, has another size than its range, or is not sealed as this piece.
    /// - Throws: `saved.format` if it is not planned; `saved.disk`.
    package func digest(of name: SavedPieceName) throws(SavedMediaError) -> SavedDigest? {
        let (path, row) = try place(of: name)
        guard let size = folder.size(path) else { return nil }
        if let range = row.range {
            let content = Int64(range.count)
            guard size == (row.isSealed ? SealedFormat.storedLength(ofContent: content) : content) else { return nil }
        }
        let file = try folder.open(path)
        if row.isSealed {
            do throws(SavedMediaError) { try SealedFile(file, name: path, keys).check() } catch {
                guard error.code == .damaged else { throw error }
                return nil
            }
        }
        var digest = SHA256.Stream()
        let length = try folder.readAll(file.descriptor, path) { digest.update($0) }
        return SavedDigest(length: length, sha256: digest.finish())
    }

    /// Makes finished pieces durable, under their final names. One sync of the file system serves all.
    ///
    /// - Parameter files: finished pieces of this package.
    /// - Throws: `saved.disk-full`, `saved.disk`. Pieces may have their final names then; fetch them again, or check their digests.
    package func commit(_ files: [PieceFile]) throws(SavedMediaError) { try folder.commit(files.map(\.file)) }

    /// Removes the stored file of a piece that is damaged, so that it is fetched again.
    ///
    /// - Parameter name: a planned piece.
    /// - Throws: `saved.format` if it is not planned; `saved.disk`.
    package func remove(_ name: SavedPieceName) throws(SavedMediaError) { try folder.remove(try place(of: name).path) }

    /// Bytes of the stored file of a piece; nil if it is not stored under its final name.
    package func storedLength(of name: SavedPieceName) -> Int64? {
        guard let (path, _) = try? place(of: name) else { return nil }
        return folder.size(path)
    }

    /// Reads the stored file of a piece and compares its size and digest.
    ///
    /// - Throws: `saved.missing`, `saved.damaged`, `saved.disk`.
    package func check(_ name: SavedPieceName, _ digest: SavedDigest) throws(SavedMediaError) {
        let (path, _) = try place(of: name)
        try StoredFile.check(try folder.open(path), path, digest)
    }

    /// The path of a piece in the package.
    private func place(of name: SavedPieceName) throws(SavedMediaError) -> (path: String, row: SegmentTable.Row) {
        let found = state.withLock { plan -> (String, SegmentTable.Row)? in
            guard let plan, let row = plan.rows[name] else { return nil }
            let table = plan.tables[name.stream]
            return ("\(table.id)/\(table.rows[row].path)", table.rows[row])
        }
        guard let found else { throw SavedMediaError(.format, "the package has no such piece") }
        return found
    }

    // MARK: - End

    /// Completes the package: its tables get the sizes and digests of all pieces.
    ///
    /// - Parameter digest: the size and digest of each stored piece.
    /// - Throws: `saved.missing` if a piece has no digest; `saved.disk-full`, `saved.disk`. The package can then be continued.
    package func complete(_ digest: (SavedPieceName) -> SavedDigest?) throws(SavedMediaError) {
        guard var plan = state.withLock({ $0 }) else { throw SavedMediaError(.format, "the package has no plan") }
        var index = PackageIndex(id: id, source: plan.source)
        var files: [(name: String, bytes: [UInt8])] = []
        for (place, stream) in plan.streams.enumerated() {
            var table = plan.tables[place]
            let name = "\(table.id)/\(SegmentTable.fileName)"
            index.tables[name] = [SHA256.hash(table.written().rawSpan)]
            for (row, piece) in stream.names(stream: place).enumerated() {
                guard let stored = digest(piece), let value = TableDigest(stored.sha256) else {
                    throw SavedMediaError(.missing, "\(table.id)/\(table.rows[row].path) is not stored")
                }
                table.rows[row].length = stored.length
                table.rows[row].digest = value
            }
            table.isComplete = true
            plan.tables[place] = table
            files.append((name, table.written()))
        }
        index.tables[PackageFolder.bootName] = [SHA256.hash(plan.boot.written().rawSpan)]
        for place in plan.boot.streams.indices { plan.boot.streams[place].isComplete = true }
        files.append((PackageFolder.bootName, plan.boot.written()))
        // the index accepts the tables before and after, so that every state in between is valid
        for (name, bytes) in files { index.tables[name, default: []].append(SHA256.hash(bytes.rawSpan)) }
        try replace(PackageIndex.name, sealed(index.written(), as: PackageIndex.name))
        for (name, bytes) in files { try replace(name, bytes) }
        index.tables = index.tables.mapValues { $0.suffix(1) }
        try replace(PackageIndex.name, sealed(index.written(), as: PackageIndex.name))
        state.withLock { [plan] in $0 = plan }
    }

    private func replace(_ name: String, _ bytes: [UInt8]) throws(SavedMediaError) {
        try folder.stage(bytes, as: name)
        try folder.commit([name])
    }
}
