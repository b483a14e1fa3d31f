// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The tables of a package, checked against its index.
struct PackageTables: Sendable {
    let keys: PackageKeys
    let boot: BootImage
    let index: PackageIndex
    /// In the order of the boot image.
    let tables: [SegmentTable]

    /// Reads and checks the tables of a package of this project.
    ///
    /// - Parameters:
    ///   - folder: the package.
    ///   - key: the package key.
    /// - Throws: `saved.missing` if there is no boot image or another file is absent; `saved.damaged`, `saved.sealed`,
    ///   `saved.format`, `saved.disk`.
    init(in folder: PackageFolder, _ key: Secret) throws(SavedMediaError) {
        let image = try folder.read(PackageFolder.bootName, limit: SavedLimits.bootBytes)
        boot = try BootImage(image.rawSpan)
        guard let id = boot.id, boot.mode != nil, boot.dataFolder == "Data" else {
            throw BootImage.fault(PackageFolder.bootName, "it is the package of another program")
        }
        keys = try PackageKeys(key, id: id)
        index = try PackageIndex(in: folder, keys)
        try index.check(PackageFolder.bootName, image)
        var tables: [SegmentTable] = []
        var count = 0
        for stream in boot.streams {
            let name = "\(stream.path)/\(SegmentTable.fileName)"
            let bytes = try folder.read(name, limit: SavedLimits.tableBytes)
            try index.check(name, bytes)
            let table = try SegmentTable(bytes.rawSpan, name: name)
            try Self.check(table, name, stream)
            count += table.rows.count
            guard count <= SavedLimits.pieces else {
                throw BootImage.fault(name, "the package has more than \(SavedLimits.pieces) segments")
            }
            tables.append(table)
        }
        self.tables = tables
    }

    /// Checks that a table has the names that this project gives.
    private static func check(_ table: SegmentTable, _ name: String, _ stream: BootImage.Stream) throws(SavedMediaError) {
        guard table.id == stream.path else { throw BootImage.fault(name, "its ID is not the one of its folder") }
        var counts = [0, 0]
        for row in table.rows {
            let place = row.isInitialization ? 0 : 1
            guard row.path == PlainName.piece(counts[place], isInitialization: row.isInitialization), row.tag != nil else {
                throw BootImage.fault(name, "\(row.path) has another name than its place gives, or no address")
            }
            counts[place] += 1
        }
    }
}
